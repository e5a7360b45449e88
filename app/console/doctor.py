"""`graphlap doctor`: what this machine has for measuring, what to doubt in it, what it lacks.

Each runtime is loaded in a process of its own; this one imports no engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

from app.console.environments import Looked, look_at
from app.console.permitted import permitted
from app.console.probes import PROBE_COMMAND, Probed, probe_all
from app.machine.activity import look
from app.machine.cores import usable_cores
from app.machine.environment import describe_host, graphlap_version
from app.machine.fitness import Judged, judge
from app.machine.system import refuse_without_proc
from app.machine.telemetry import POWERCAP, open_nvml, open_rapl
from app.present.document import Block, Cell, Column, Heading, Points, Table, names, table
from exporters.cache import default_root
from runtimes import registry

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
            *_answer(self.runtimes, self.conditions),
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
            Points(tuple(_answer(self.runtimes, self.conditions))),
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


def _answer(runtimes: Sequence[Probed], conditions: Sequence[Judged]) -> Iterator[str]:
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
