"""What a machine tells of its devices, made by hand: a GPU's library, energy counters in files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any


class Unsupported(Exception):
    """What the binding raises."""


REASONS = {
    "SwPowerCap": 0x4,
    "HwSlowdown": 0x8,
    "SyncBoost": 0x10,
    "SwThermalSlowdown": 0x20,
    "HwThermalSlowdown": 0x40,
    "HwPowerBrakeSlowdown": 0x80,
}


class FakeNvml(SimpleNamespace):
    """Two GPUs as the driver's binding shows them; `deaf` is what they do not tell."""

    NVMLError = Unsupported
    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, deaf: tuple[str, ...] = (), reasons: int = 0x1) -> None:
        super().__init__(deaf=deaf, reasons=reasons)

    def nvmlInit(self) -> None: ...  # noqa: N802

    def __getattr__(self, name: str) -> Any:
        known = {
            **{f"nvmlClocksThrottleReason{reason}": bit for reason, bit in REASONS.items()},
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetName": lambda gpu: f"GPU {gpu}",
            "nvmlDeviceGetHandleByIndex": self._by_index,
            "nvmlDeviceGetHandleByUUID": lambda uuid: {"GPU-b": 1}[uuid],
            "nvmlDeviceGetPowerUsage": lambda gpu: 70_000 + 1000 * gpu,
            "nvmlDeviceGetTotalEnergyConsumption": lambda gpu: 5_000.0 + gpu,
            "nvmlDeviceGetClockInfo": lambda gpu, _: 1_500 + gpu,
            "nvmlDeviceGetTemperature": lambda gpu, _: 40 + gpu,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: self.reasons,
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [
                SimpleNamespace(pid=7, usedGpuMemory=3 * 2**20),
                SimpleNamespace(pid=8, usedGpuMemory=9 * 2**20),
            ],
        }
        if name in self.deaf:
            return self._refuse
        return known[name]

    def _by_index(self, number: int) -> int:
        if number > 1:
            raise Unsupported
        return number

    def _refuse(self, *_: object) -> None:
        raise Unsupported


def package(root: Path, number: int, energy_uj: int, span_uj: int = 1_000_000) -> Path:
    folder = root / f"intel-rapl:{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"package-{number}\n")
    (folder / "max_energy_range_uj").write_text(f"{span_uj}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return folder
