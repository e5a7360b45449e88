"""`graphlap doctor`: what this machine and its environments have and lack for measuring."""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from app.cases.errors import PlanError
from app.machine.environment import describe_host, graphlap_version
from app.machine.installed_runtimes import Environment, asked, interpreter, runtime
from app.machine.placement import (
    HIGHEST_PRIORITY,
    as_list,
    held_back_share,
    highest_realtime,
    lock_memory,
    nodes_of,
    unlock_memory,
    usable_cores,
)
from app.machine.readiness import Judged, judge, look
from app.machine.system import refuse_without_proc
from app.machine.telemetry import POWERCAP, open_nvml, open_rapl
from app.plan.runtime_selection import users_file
from app.present.document import Block, Cell, Column, Heading, Points, Table, names, table
from exporters import install_layout
from exporters.cache import default_root
from runtimes import registry
from runtimes.base import Available


@dataclass(frozen=True, slots=True)
class Looked:
    """Lines of the report; `broken` if no case can be measured in one of the environments."""

    lines: tuple[str, ...]
    broken: bool


def look_at(environments: Mapping[str, str]) -> Looked:
    """Each environment, by the names of the interpreters."""
    if not environments:
        return Looked((f"  none; name some in {users_file()}, or by --python",), False)
    lines, broken = [], False
    width = max(map(len, environments))
    for name, python in environments.items():
        try:
            told = _told(asked(name, interpreter(python)))
        except PlanError as error:
            told, broken = str(error), True
        lines.append(f"  {name:<{width}}  {told}")
    return Looked(tuple(lines), broken)


def _told(environment: Environment) -> str:
    has = [
        f"{name} {there.availability.version}"
        for name, there in environment.runtimes.items()
        if isinstance(there.availability, Available) and not runtime(name).only_when_named
    ]
    runtimes = ", ".join(has) or "no runtime; install one there, such as onnxruntime"
    return f"{environment.python}, Python {environment.version}: {runtimes}"


def permitted() -> Iterator[str]:
    """A line each of cores, nodes of memory, locked memory and real-time priority."""
    cores = usable_cores()
    nodes = nodes_of(cores)
    yield f"  --cores        {as_list(cores)}"
    for node in nodes:
        yield f"  NUMA node {node:<3}  cores {as_list({c for c in cores if node in nodes_of({c})})}"
    if not nodes:
        yield "  NUMA node      not reported"
    yield f"  --lock-memory  {_locking()}"
    yield f"  --realtime     {_realtime()}"


def _locking() -> str:
    why = lock_memory()
    if why:
        return f"not permitted ({why}); use root, CAP_IPC_LOCK, or a higher ulimit -l"
    unlock_memory()
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit == resource.RLIM_INFINITY or limit < _own_bytes():
        return "permitted"
    return f"permitted up to {limit / 2**20:,.0f} MiB, beyond which engines get no memory"


def _realtime() -> str:
    highest = highest_realtime()
    if not highest:
        return "not permitted; use root, CAP_SYS_NICE, or a higher ulimit -r"
    told = "permitted" if highest == HIGHEST_PRIORITY else f"permitted up to {highest}"
    held_back = held_back_share()
    if held_back:
        told += (
            f"; held back {held_back * 1e3:.0f} ms of each second where others wait for the core"
        )
    return told


def _own_bytes() -> int:
    """What this process holds of addresses: with more than its limit locked, none applies."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


PROBE_COMMAND = install_layout.command("runtimes.probe")
TIME_LIMIT_S = 60.0
_LINES_KEPT = 4


@dataclass(frozen=True, slots=True)
class Probed:
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
    def broken(self) -> bool:
        """Whether it is installed and yet can't be used."""
        return bool(self.version and self.reason)


def probe_all(names: Sequence[str], command: Sequence[str] = PROBE_COMMAND) -> Iterator[Probed]:
    """One answer for each runtime, in order; they are loaded side by side."""
    with tempfile.TemporaryDirectory(prefix="graphlap-") as folder:
        started = []
        for name in names:
            said = open(f"{folder}/{name}", "w+b")  # noqa: PTH123, SIM115 - closed below
            process = subprocess.Popen(
                [*command, name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                env=install_layout.child_environment(),
            )
            started.append((name, process, said))
        for name, process, said in started:
            with said:
                yield _answer(name, process, said)


def _answer(name: str, process: subprocess.Popen[bytes], said: IO[bytes]) -> Probed:
    try:
        out, _ = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Probed(
            name,
            version="?",
            reason=f"it did not load within {TIME_LIMIT_S:g} s",
            remedy="install it again",
            loader=_last_lines(said),
        )
    try:
        told: dict[str, Any] = json.loads(out)
    except ValueError:
        how = f"signal {-process.returncode}" if process.returncode < 0 else "no answer"
        return Probed(
            name,
            version="?",
            reason=f"loading it ended with {how}",
            remedy="install it again",
            loader=_last_lines(said),
        )
    devices = tuple(f"{d['key']} ({d['name']})" for d in told.pop("devices", ()))
    loader = _last_lines(said) if told.get("reason") else ()
    return Probed(name, devices=devices, loader=loader, **told)


def _last_lines(said: IO[bytes]) -> tuple[str, ...]:
    said.seek(0)
    lines = [line.strip() for line in said.read().decode("utf-8", "replace").splitlines()]
    return tuple(line for line in lines if line)[-_LINES_KEPT:]


ROOT = Path("/")
LOOK_S = 1.0
"""So long it is looked at who computes."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found of the machine, of its runtimes and of the environments that a user named."""

    conditions: tuple[Judged, ...]
    runtimes: tuple[Probed, ...]
    environments: Looked

    @property
    def code(self) -> int:
        """1 if what is installed, or an environment, can't be used, else 0."""
        return int(self.environments.broken or any(probed.broken for probed in self.runtimes))

    @property
    def text(self) -> str:
        """The report for a terminal."""
        lines = [
            *_doctor_answer(self.runtimes, self.conditions),
            "",
            *_machine(),
            "",
            "fit to measure on",
            *map(_condition, self.conditions),
            "",
            "permitted to measuring processes",
            *permitted(),
            "",
            "runtimes",
            *_runtimes(self.runtimes),
            "",
            "environments",
            *self.environments.lines,
            "",
            "power and clocks",
            *_telemetry(),
            "",
            "parts",
            *_parts(),
        ]
        return "\n".join(lines) + "\n"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The same as a document, whose main table is of the runtimes."""
        conditions = [(one.what, one.verdict, one.found, one.remedy) for one in self.conditions]
        return (
            Points(tuple(_doctor_answer(self.runtimes, self.conditions))),
            Heading("Machine"),
            Points(tuple(" ".join(line.split()) for line in _machine())),
            Heading("Conditions"),
            table(names("condition", "verdict", "found", "action"), conditions),
            Heading("Permissions"),
            Points(tuple(" ".join(line.split()) for line in permitted())),
            Heading("Runtimes"),
            _runtimes_table(self.runtimes),
            Heading("Environments"),
            Points(tuple(map(str.strip, self.environments.lines))),
            Heading("Power and clocks"),
            Points(tuple(map(str.strip, _telemetry()))),
            Heading("Packages"),
            Points(tuple(map(str.strip, _parts()))),
        )


def doctor(
    command: Sequence[str] = PROBE_COMMAND,
    environments: Mapping[str, str] = MappingProxyType({}),
) -> Examined:
    """Examine this machine.

    `command` and the name of a runtime start the process that loads it; `environments` are
    interpreters by name.
    """
    refuse_without_proc()
    # Before the runtimes are loaded, which is work itself.
    conditions = tuple(judge(ROOT, usable_cores(), look(ROOT, LOOK_S)))
    return Examined(conditions, tuple(probe_all(registry.names(), command)), look_at(environments))


def _runtimes_table(runtimes: Sequence[Probed]) -> Table:
    columns = (
        *names("runtime", "state", "version", "devices"),
        Column("load time", unit="ms"),
        *names("reason", "action"),
    )
    rows = [
        (
            one.name,
            "broken" if one.broken else "missing" if one.reason else "ready",
            one.version,
            ", ".join(one.devices),
            "" if one.reason else Cell(f"{one.load_ms:.0f}", one.load_ms),
            one.reason,
            one.remedy,
        )
        for one in runtimes
    ]
    return replace(table(columns, rows), is_main=True)


def _machine() -> Iterator[str]:
    host = describe_host()
    yield f"graphlap    {graphlap_version()}"
    yield f"python      {host['python']}"
    yield f"system      {host['os']}"
    yield f"cpu         {host['cpu']}"
    yield (
        f"cores       {host['cores_usable']} usable of {host['cores_logical']} logical, "
        f"{host['cores_physical']} physical"
    )
    root = default_root()
    yield f"cache       {root}" + ("" if root.exists() else " (made at the first export)")


def _doctor_answer(runtimes: Sequence[Probed], conditions: Sequence[Judged]) -> Iterator[str]:
    """With which runtimes this machine can measure, and which conditions lower precision."""
    ready = [probed.name for probed in runtimes if not probed.reason]
    broken = [probed.name for probed in runtimes if probed.broken]
    yield f"ready to measure: {', '.join(ready) or 'no runtime'}"
    if broken:
        yield f"installed and broken: {', '.join(broken)}"
    warnings = [judged.what for judged in conditions if judged.verdict == "warn"]
    yield f"warnings for measuring: {', '.join(warnings) or 'none'}"


def _condition(judged: Judged) -> str:
    remedy = f"; {judged.remedy}" if judged.remedy else ""
    return f"  {judged.what:<11}  {judged.verdict:<8}  {judged.found}{remedy}"


def _runtimes(runtimes: Sequence[Probed]) -> Iterator[str]:
    width = max(len(probed.name) for probed in runtimes)
    for probed in runtimes:
        name = f"  {probed.name:<{width}}  "
        if not probed.reason:
            devices = f"; devices: {', '.join(probed.devices)}" if probed.devices else ""
            yield f"{name}{probed.version}, loads in {probed.load_ms / 1e3:.1f} s{devices}"
            continue
        state = f"{probed.version}, broken" if probed.broken else "missing"
        yield f"{name}{state}: {probed.reason}; {probed.remedy}"
        yield from (f"  {'':<{width}}    its loader: {line}" for line in probed.loader)
    for refusal in registry.refused().values():
        yield f"  passed over: {refusal.cause}; {refusal.remedy}"


def _telemetry() -> Iterator[str]:
    nvml = open_nvml()
    if nvml is None:
        yield "  gpu  no NVIDIA driver answers; a GPU needs one, and pip install 'graphlap[gpu]'"
    else:
        for number, gpu in enumerate(nvml.states()):
            yield (
                f"  gpu:{number}  {gpu.name}, driver {gpu.driver}: "
                "power, clock, temperature and memory are recorded"
            )
            if gpu.persistence is False:
                yield "         its clocks fall between rounds; sudo nvidia-smi -pm 1"
    if open_rapl() is not None:
        yield "  cpu  the energy of the processor packages is recorded"
    elif any(POWERCAP.glob("*/energy_uj")):
        yield f"  cpu  energy counters may not be read; sudo chmod a+r {POWERCAP}/*/energy_uj"
    else:
        yield "  cpu  this system shows no energy counters"


def _parts() -> Iterator[str]:
    for package, use, remedy in _PARTS:
        try:
            yield f"  {package}  {version(package)}"
        except PackageNotFoundError:
            yield f"  {package}  missing, needed for {use}; {remedy}"


_PARTS = (
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
