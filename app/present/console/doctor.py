"""`graphlap doctor`: what this machine, its environments and other hosts have for measuring."""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Self

from app.cases.errors import PlanError
from app.cases.process_settings import HIGHEST_PRIORITY
from app.formatting.text import counted
from app.machine.environment import describe_host, graphlap_version
from app.machine.installed_runtimes import Environment, asked, interpreter, runtime
from app.machine.placement import (
    as_list,
    held_back_share,
    highest_realtime,
    huge_pages_refusal,
    lock_memory,
    nodes_of,
    unlock_memory,
    usable_cores,
)
from app.machine.readiness import Judged, judge, look
from app.machine.system import refuse_without_proc
from app.machine.telemetry import POWERCAP, open_nvml, open_rapl
from app.plan.configuration import user_file
from app.present.document import (
    Block,
    Heading,
    Paragraph,
    Points,
    Table,
    names,
    table,
)
from app.sweep.remote.carriers import ask_hosts, open_carrier
from app.sweep.remote.host import Host
from exporters import install_layout
from exporters.cache import default_root
from runtimes import registry
from runtimes.base import Available

Facts = tuple[tuple[str, str], ...]
"""What is told of something, by its name."""


def check_environments(environments: Mapping[str, str]) -> tuple[Facts, bool]:
    """Each environment, by the names of the interpreters; and whether no case can be measured in
    one of them."""
    facts, is_broken = [], False
    for name, python in environments.items():
        try:
            facts.append((name, _describe(asked(name, interpreter(python)))))
        except PlanError as error:
            facts.append((name, str(error)))
            is_broken = True
    return tuple(facts), is_broken


def _describe(environment: Environment) -> str:
    has = [
        f"{name} {state.availability.version}"
        for name, state in environment.runtimes.items()
        if isinstance(state.availability, Available) and not runtime(name).only_when_named
    ]
    runtimes = ", ".join(has) or "no runtime; install one there, such as onnxruntime"
    return f"{environment.python}, Python {environment.version}: {runtimes}"


def permissions() -> Iterator[tuple[str, str]]:
    """Of cores, nodes of memory, locked memory and real-time priority."""
    cores = usable_cores()
    nodes = nodes_of(cores)
    yield "--cores", as_list(cores)
    for node in nodes:
        yield f"NUMA node {node}", f"cores {as_list({c for c in cores if node in nodes_of({c})})}"
    if not nodes:
        yield "NUMA node", "not reported"
    refusal = huge_pages_refusal()
    yield "--huge-pages", f"not available: {refusal}" if refusal else "available"
    yield "--lock-memory", _lock_memory_text()
    yield "--realtime", _realtime_text()


def _lock_memory_text() -> str:
    reason = lock_memory()
    if reason:
        return f"not permitted ({reason}); use root, CAP_IPC_LOCK, or a higher ulimit -l"
    unlock_memory()
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit == resource.RLIM_INFINITY or limit < _mapped_bytes():
        return "permitted"
    return f"permitted up to {limit / 2**20:,.0f} MiB, beyond which engines get no memory"


def _realtime_text() -> str:
    highest = highest_realtime()
    if not highest:
        return "not permitted; use root, CAP_SYS_NICE, or a higher ulimit -r"
    sentence = "permitted" if highest == HIGHEST_PRIORITY else f"permitted up to {highest}"
    reserved_share = held_back_share()
    if reserved_share:
        sentence += (
            f"; held back {reserved_share * 1e3:.0f} ms of each second where others wait for "
            "the core"
        )
    return sentence


def _mapped_bytes() -> int:
    """What this process holds of addresses: with more than its limit locked, none applies."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


PROBE_COMMAND = install_layout.command("runtimes.inquiries", "probe")
TIME_LIMIT_S = 60.0
_LOADER_LINES = 4


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """`version` is empty where the runtime is not installed; `reason` where it works.

    `loader` are the last lines that its loader wrote, from C as well, where it does not.
    """

    name: str
    version: str = ""
    devices: tuple[str, ...] = ()
    load_ms: float = 0.0
    reason: str = ""
    remedy: str = ""
    loader: tuple[str, ...] = ()

    @property
    def is_broken(self) -> bool:
        """Whether it is installed and yet can't be used."""
        return bool(self.version and self.reason)


def probe_all(
    names: Sequence[str], command: Sequence[str] = PROBE_COMMAND
) -> Iterator[ProbeResult]:
    """One answer for each runtime, in order; they are loaded side by side."""
    with tempfile.TemporaryDirectory(prefix="graphlap-") as folder:
        processes = []
        for name in names:
            error_file = open(f"{folder}/{name}", "w+b")  # noqa: PTH123, SIM115 - closed below
            process = subprocess.Popen(
                [*command, name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=error_file,
                env=install_layout.child_environment(),
            )
            processes.append((name, process, error_file))
        for name, process, error_file in processes:
            with error_file:
                yield _answer(name, process, error_file)


def _answer(name: str, process: subprocess.Popen[bytes], error_file: IO[bytes]) -> ProbeResult:
    fields: dict[str, Any]
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT_S)
        fields = json.loads(output)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        reason = f"it did not load within {TIME_LIMIT_S:g} s"
        fields = {"version": "?", "reason": reason, "remedy": "install it again"}
    except ValueError:
        cause = f"signal {-process.returncode}" if process.returncode < 0 else "no answer"
        reason = f"loading it ended with {cause}"
        fields = {"version": "?", "reason": reason, "remedy": "install it again"}
    devices = tuple(f"{d['key']} ({d['name']})" for d in fields.pop("devices", ()))
    loader = _last_lines(error_file) if fields.get("reason") else ()
    return ProbeResult(name, devices=devices, loader=loader, **fields)


def _last_lines(error_file: IO[bytes]) -> tuple[str, ...]:
    error_file.seek(0)
    lines = [line.strip() for line in error_file.read().decode("utf-8", "replace").splitlines()]
    return tuple(line for line in lines if line)[-_LOADER_LINES:]


ROOT = Path("/")
LOOK_S = 1.0
"""So long it is looked at who computes."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found of the machine, of its runtimes and of the environments that a user named."""

    conditions: tuple[Judged, ...]
    runtimes: tuple[ProbeResult, ...]
    environments: Facts
    has_broken_environment: bool

    @property
    def code(self) -> int:
        """1 if what is installed, or an environment, can't be used, else 0."""
        return int(self.has_broken_environment or any(probe.is_broken for probe in self.runtimes))

    @property
    def blocks(self) -> Iterator[Block]:
        """The report, whose main table is of the runtimes."""
        conditions = [(c.what, c.verdict, c.found, c.remedy) for c in self.conditions]
        yield Points(tuple(_doctor_answer(self.runtimes, self.conditions)))
        yield Heading("Machine")
        yield table(names("part", "found"), _machine())
        yield Heading("Conditions")
        yield table(names("condition", "verdict", "found", "action"), conditions)
        yield Heading("Permissions")
        yield table(names("measuring processes", "state"), permissions())
        yield Heading("Runtimes")
        yield _runtimes_table(self.runtimes)
        yield Points(tuple(_loader_lines(self.runtimes)))
        yield Heading("Environments")
        if self.environments:
            yield table(names("environment", "runtimes"), self.environments)
        else:
            yield Paragraph(f"none; name some in {user_file()}, or by --python")
        yield Heading("Power and clocks")
        yield table(names("device", "recorded"), _telemetry())
        yield Heading("Packages")
        yield table(names("package", "version"), _packages())


def doctor(
    command: Sequence[str] = PROBE_COMMAND,
    environments: Mapping[str, str] = MappingProxyType({}),
) -> Examination:
    """Examine this machine.

    `command` and the name of a runtime start the process that loads it; `environments` are
    interpreters by name.
    """
    refuse_without_proc()
    # Before the runtimes are loaded, which is work itself.
    conditions = tuple(judge(ROOT, usable_cores(), look(LOOK_S)))
    probes = tuple(probe_all(registry.names(), command))
    return Examination(conditions, probes, *check_environments(environments))


def _runtimes_table(runtimes: Sequence[ProbeResult]) -> Table:
    rows = []
    for probe in runtimes:
        found = [probe.reason or f"loads in {probe.load_ms / 1e3:.1f} s", *probe.devices]
        state = "broken" if probe.is_broken else "missing" if probe.reason else "ready"
        rows.append((probe.name, state, probe.version, ", ".join(found), probe.remedy))
    columns = names("runtime", "state", "version", "found", "action")
    return replace(table(columns, rows), is_main=True)


def _machine() -> Iterator[tuple[str, str]]:
    host = describe_host()
    yield "graphlap", graphlap_version()
    yield "python", host["python"]
    yield "system", host["os"]
    yield "cpu", host["cpu"]
    counts = f"{host['cores_logical']} logical, {host['cores_physical']} physical"
    yield "cores", f"{host['cores_usable']} usable of {counts}"
    root = default_root()
    yield "cache", str(root) + ("" if root.exists() else " (made at the first export)")


def _doctor_answer(runtimes: Sequence[ProbeResult], conditions: Sequence[Judged]) -> Iterator[str]:
    """With which runtimes this machine can measure, and which conditions lower precision."""
    ready_names = [probe.name for probe in runtimes if not probe.reason]
    broken_names = [probe.name for probe in runtimes if probe.is_broken]
    yield f"ready to measure: {', '.join(ready_names) or 'no runtime'}"
    if broken_names:
        yield f"installed and broken: {', '.join(broken_names)}"
    warnings = [condition.what for condition in conditions if condition.verdict == "warn"]
    yield f"warnings for measuring: {', '.join(warnings) or 'none'}"


def _loader_lines(runtimes: Sequence[ProbeResult]) -> Iterator[str]:
    """What loaders wrote of runtimes that can't be used, and packages that were passed over."""
    for probe in runtimes:
        if probe.reason:
            yield from (f"loader of {probe.name}: {line}" for line in probe.loader)
    for refusal in registry.refused().values():
        yield f"passed over: {refusal.reason}; {refusal.remedy}"


def _telemetry() -> Iterator[tuple[str, str]]:
    nvml = open_nvml()
    if nvml is None:
        yield "gpu", "no NVIDIA driver answers; a GPU needs one, and pip install 'graphlap[gpu]'"
    else:
        for number, gpu in enumerate(nvml.states()):
            recorded = "power, clock, temperature and memory are recorded"
            if gpu.persistence is False:
                recorded += "; its clocks fall between rounds, sudo nvidia-smi -pm 1"
            yield f"gpu:{number}", f"{gpu.name}, driver {gpu.driver}: {recorded}"
    if open_rapl() is not None:
        yield "cpu", "the energy of the processor packages is recorded"
    elif any(POWERCAP.glob("*/energy_uj")):
        yield "cpu", f"energy counters may not be read; sudo chmod a+r {POWERCAP}/*/energy_uj"
    else:
        yield "cpu", "this system shows no energy counters"


def _packages() -> Iterator[tuple[str, str]]:
    for package, use, remedy in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, f"missing, needed for {use}; {remedy}"


_PACKAGES = (
    ("PySide6-Essentials", "the window", "pip install 'graphlap[gui]', or use graphlap run"),
    ("pyqtgraph", "the window", "pip install 'graphlap[gui]', or use graphlap run"),
    ("torch", "the catalogue, modules of your own", "pip install 'graphlap[torch]'"),
    ("onnxscript", "the catalogue, modules of your own", "pip install 'graphlap[torch]'"),
    ("pandas", "dataframes in Python", "pip install 'graphlap[data]'"),
    ("pyarrow", "export -f parquet", "pip install 'graphlap[data]'"),
    ("scikit-learn", "the data of the digits models", "pip install 'graphlap[accuracy]'"),
    ("safetensors", "--weights", "pip install 'graphlap[accuracy]'"),
    ("pillow", "--accuracy with images", "pip install 'graphlap[accuracy]'"),
)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts at an address."""

    address: str
    hosts: tuple[Host, ...]

    @classmethod
    def at(cls, address: str, insecure: bool = False) -> Self:
        """Ask them; HostError if there is none, or one can't be reached."""
        with closing(open_carrier(address, insecure)) as carrier:
            return cls(address, ask_hosts(carrier))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A row for each host, and for each runtime of each."""
        hosts = [
            (
                host.name,
                graphlap_version(),
                *(str(host.environment.get(key)) for key in ("python", "os", "cpu")),
                as_list(host.cores),
                host.machine,
            )
            for host in self.hosts
        ]
        clocks = (
            f"the clock of {host.name} is {abs(off_s):,.0f} s "
            f"{'ahead of' if off_s > 0 else 'behind'} this machine's"
            for host in self.hosts
            if (off_s := host.clock_off_s)
        )
        runtimes = []
        for host in self.hosts:
            for name, state in host.runtimes.items():
                devices = (f"{name}:{key} ({device})" for key, device in state.devices.items())
                found = state.reason or ", ".join(devices)
                runtimes.append((host.name, name, state.version, found, state.remedy))
        headings = ("host", "graphlap", "python", "system", "cpu", "cores", "machine")
        of_runtimes = names("host", "runtime", "version", "found", "action")
        return (
            Paragraph(f"{counted(len(self.hosts), 'host')} at {self.address}"),
            table(names(*headings), hosts),
            Points(tuple(clocks)),
            Heading("Runtimes"),
            replace(table(of_runtimes, runtimes), is_main=True),
        )
