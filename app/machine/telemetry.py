"""Telemetry of devices and of a measuring process: clock, power, energy, temperature and memory."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from app.cases.telemetry import CPU_DEVICE, GpuState, Reading

LOOK_EVERY_S = 0.1
POWERCAP = Path("/sys/class/powercap")
_REASONS = {
    "SwPowerCap": "power_cap",
    "HwSlowdown": "hardware_slowdown",
    "SyncBoost": "sync_boost",
    "SwThermalSlowdown": "thermal",
    "HwThermalSlowdown": "hardware_thermal",
    "HwPowerBrakeSlowdown": "power_brake",
}
"""NVML's reasons for a lower clock that are no choice of the user's, in our words."""


class Nvml:
    """NVIDIA's management library; `module` is `pynvml` or what behaves like it.

    Raises the module's NVMLError if the driver does not answer.
    """

    def __init__(self, module: Any) -> None:
        module.nvmlInit()
        self._nvml = module
        self._handles: dict[str, Any] = {}
        self._reasons = {
            getattr(module, f"nvmlClocksThrottleReason{name}"): word
            for name, word in _REASONS.items()
        }

    def states(self) -> tuple[GpuState, ...]:
        """The GPUs of this machine, in the library's order."""
        count = self._nvml.nvmlDeviceGetCount()
        return tuple(self._state(self._nvml.nvmlDeviceGetHandleByIndex(n)) for n in range(count))

    def state(self, uuid: str) -> GpuState | None:
        """The GPU that calls itself so; None if there is none."""
        handle = self._handle(uuid)
        return None if handle is None else self._state(handle)

    def read(self, gpu: int, uuid: str, pid: int) -> Reading | None:
        """The same now; CUDA counts it as number `gpu`, in an order of its own."""
        handle = self._handle(uuid)
        if handle is None:
            return None
        nvml, query = self._nvml, self._query
        milliwatts = query(nvml.nvmlDeviceGetPowerUsage, handle)
        processes = query(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
        clients = query(nvml.nvmlDeviceGetMPSComputeRunningProcesses, handle)
        return Reading(
            time_ns=time.perf_counter_ns(),
            device=f"gpu:{gpu}",
            energy_mj=query(nvml.nvmlDeviceGetTotalEnergyConsumption, handle),
            power_w=None if milliwatts is None else milliwatts / 1e3,
            clock_mhz=query(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
            temperature_c=query(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            throttle=self._throttle(handle),
            process_memory_mb=_memory_mb(processes, pid),
            memory_clock_mhz=query(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
            other_processes=_count_others(processes, pid),
            mps_clients=None if clients is None else len(clients),
        )

    def _state(self, handle: Any) -> GpuState:
        nvml, query = self._nvml, self._query
        milliwatts = query(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
        ecc = query(nvml.nvmlDeviceGetEccMode, handle)
        mig = query(nvml.nvmlDeviceGetMigMode, handle)
        persistence = query(nvml.nvmlDeviceGetPersistenceMode, handle)
        generation = query(nvml.nvmlDeviceGetCurrPcieLinkGeneration, handle)
        width = query(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle)
        name = query(nvml.nvmlDeviceGetName, handle) or ""
        return GpuState(
            name=name,
            uuid=query(nvml.nvmlDeviceGetUUID, handle) or "",
            driver=query(nvml.nvmlSystemGetDriverVersion) or "",
            power_limit_w=None if milliwatts is None else milliwatts / 1e3,
            clock_limit_mhz=query(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
            persistence=None if persistence is None else bool(persistence),
            # Both are told as they are and as they will be.
            ecc=None if ecc is None else bool(ecc[0]),
            mig=None if mig is None else bool(mig[0]),
            link=f"PCIe {generation} x{width}" if generation and width else "",
            mig_profile=name.partition(" MIG ")[2],
        )

    def _handle(self, uuid: str) -> Any:
        """None for no such device. A part of one is known by another kind of name than a whole."""
        if uuid not in self._handles:
            handles = (
                self._query(self._nvml.nvmlDeviceGetHandleByUUID, f"{kind}-{uuid}")
                for kind in ("GPU", "MIG")
            )
            self._handles[uuid] = next((handle for handle in handles if handle is not None), None)
        return self._handles[uuid]

    def _throttle(self, handle: Any) -> tuple[str, ...] | None:
        bits = self._query(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        if bits is None:
            return None
        return tuple(word for bit, word in self._reasons.items() if bits & bit)

    def _query(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return ask(*arguments)
        except self._nvml.NVMLError:
            return None


def _memory_mb(processes: Iterable[Any], pid: int) -> float | None:
    """None also where a container hides which process is which."""
    used_bytes = [p.usedGpuMemory for p in processes if p.pid == pid and p.usedGpuMemory]
    return sum(used_bytes) / 2**20 if used_bytes else None


def _count_others(processes: Iterable[Any], pid: int) -> int | None:
    """None where ours is not among them, so that nobody can say which are others."""
    pids = {process.pid for process in processes}
    return len(pids - {pid}) if pid in pids else None


class Rapl:
    """The energy counters of the processor packages that Linux shows in `root`.

    OSError if there are none, or if they can't be read, as by others than root.
    """

    def __init__(self, root: Path = POWERCAP) -> None:
        names = {path.parent: path.read_text("ascii") for path in sorted(root.glob("*/name"))}
        packages = [folder for folder, name in names.items() if name.startswith("package")]
        if not packages:
            raise FileNotFoundError(f"{root} has no energy counter of a processor package")
        self._counters = [folder / "energy_uj" for folder in packages]
        self._ranges = [int((f / "max_energy_range_uj").read_text("ascii")) for f in packages]
        self._last = self._values()
        self._total_uj = 0

    def read(self) -> Reading | None:
        """All packages together; None if a counter could not be read this time."""
        try:
            values = self._values()
        except OSError:
            return None
        for value, last, span in zip(values, self._last, self._ranges, strict=True):
            # A counter that is smaller than before has begun again from zero.
            self._total_uj += value - last + (span if value < last else 0)
        self._last = values
        return Reading(time.perf_counter_ns(), CPU_DEVICE, energy_mj=self._total_uj / 1e3)

    def _values(self) -> list[int]:
        return [int(counter.read_text("ascii")) for counter in self._counters]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What this machine can tell; either part may be missing."""

    nvml: Nvml | None = None
    rapl: Rapl | None = None

    @classmethod
    def of_this_machine(cls) -> Self:
        return cls(open_nvml(), open_rapl())

    def watches(self, gpus: Sequence[int]) -> bool:
        """Whether there is anything to read for a round that uses these GPUs."""
        return self.rapl is not None or (self.nvml is not None and bool(gpus))

    def state(self, uuid: str) -> GpuState | None:
        """Of the GPU that calls itself so, where it can be told."""
        return self.nvml.state(uuid) if self.nvml and uuid else None

    def read(self, pid: int, gpus: Mapping[int, str]) -> tuple[Reading, ...]:
        """One reading of each device that answers; `gpus` are CUDA's numbers with their uuids."""
        readings = (
            [self.nvml.read(gpu, uuid, pid) for gpu, uuid in gpus.items()] if self.nvml else []
        )
        if self.rapl is not None:
            readings.append(self.rapl.read())
        return tuple(reading for reading in readings if reading is not None)


def open_nvml() -> Nvml | None:
    """The library, or None where there is no driver or no binding to it."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        return Nvml(pynvml)
    except pynvml.NVMLError:
        return None


def open_rapl() -> Rapl | None:
    """The counters, or None where there are none or they may not be read."""
    try:
        return Rapl()
    except (OSError, ValueError):
        return None


MEMORY_LOOK_EVERY_S = 0.02
"""A process can fill a gigabyte in a fifth of a second."""


@dataclass(slots=True)
class Watch:
    """Asked between polls; `due` is when it wants to look again (monotonic seconds).

    `pid` is the process on this machine; on another, None, its own machine watches it.
    `memory_limit_bytes` 0 is no limit, `gpus` are CUDA's numbers of those that it uses. They are
    read once the process has said which they are: the numbers mean something to it alone.
    """

    pid: int | None
    memory_limit_bytes: int
    gpus: tuple[int, ...]
    telemetry: Telemetry
    too_large: bool = False
    _uuids: dict[int, str] = field(default_factory=dict)
    _process: psutil.Process | None = None
    _due: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pid is None:
            return
        now = time.monotonic()
        if self.memory_limit_bytes:
            self._due["memory"] = now
            with contextlib.suppress(psutil.Error):
                self._process = psutil.Process(self.pid)
        if self.telemetry.watches(self.gpus):
            self._due["devices"] = now

    def computes_on(self, uuid: str, device: str = "") -> GpuState | None:
        """The process has said which GPU one of its devices is, its first where it calls it
        nothing; how that is set."""
        if not (self.gpus and uuid):
            return None
        matching_gpus = [gpu for gpu in self.gpus if str(gpu) == device]
        self._uuids[(matching_gpus or self.gpus)[0]] = uuid
        return self.telemetry.state(uuid)

    def due(self) -> float:
        return min(self._due.values(), default=math.inf)

    def look(self) -> tuple[Reading, ...]:
        """Look at what is due; `too_large` is True from when the process broke its limit."""
        now = time.monotonic()
        if now >= self._due.get("memory", math.inf):
            self._due["memory"] = now + MEMORY_LOOK_EVERY_S
            self.too_large |= self._held_bytes() > self.memory_limit_bytes
        if now < self._due.get("devices", math.inf):
            return ()
        self._due["devices"] = now + LOOK_EVERY_S
        return () if self.pid is None else self.telemetry.read(self.pid, self._uuids)

    def _held_bytes(self) -> int:
        try:
            return int(self._process.memory_info().rss) if self._process else 0
        except psutil.Error:
            return 0
