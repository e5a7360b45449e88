"""What a machine tells of its devices, made by hand: a GPU's library, energy counters in files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
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
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVML_TEMPERATURE_GPU = 0

    def __init__(
        self,
        deaf: tuple[str, ...] = (),
        reasons: int = 0x1,
        uuids: Mapping[str, int] = MappingProxyType({"GPU-a": 0, "GPU-b": 1}),
        mps_clients: tuple[int, ...] = (),
        mig_profile: str = "",
    ) -> None:
        super().__init__(
            deaf=deaf,
            reasons=reasons,
            uuids=uuids,
            mps_clients=mps_clients,
            suffix=f" MIG {mig_profile}" if mig_profile else "",
        )

    def nvmlInit(self) -> None: ...  # noqa: N802

    def __getattr__(self, name: str) -> Any:
        functions = {
            **{f"nvmlClocksThrottleReason{reason}": bit for reason, bit in REASONS.items()},
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetName": lambda gpu: f"GPU {gpu}{self.suffix}",
            "nvmlDeviceGetHandleByIndex": self._by_index,
            "nvmlDeviceGetHandleByUUID": self._by_uuid,
            "nvmlDeviceGetUUID": lambda gpu: f"GPU-{'ab'[gpu]}",
            "nvmlSystemGetDriverVersion": lambda: "580.95",
            "nvmlDeviceGetEnforcedPowerLimit": lambda gpu: 700_000 + 1000 * gpu,
            "nvmlDeviceGetMaxClockInfo": lambda gpu, _: 1_980 + gpu,
            "nvmlDeviceGetPersistenceMode": lambda _: 0,
            "nvmlDeviceGetEccMode": lambda _: [1, 0],
            "nvmlDeviceGetMigMode": lambda _: [0, 1],
            "nvmlDeviceGetCurrPcieLinkGeneration": lambda _: 5,
            "nvmlDeviceGetCurrPcieLinkWidth": lambda _: 16,
            "nvmlDeviceGetPowerUsage": lambda gpu: 70_000 + 1000 * gpu,
            "nvmlDeviceGetTotalEnergyConsumption": lambda gpu: 5_000.0 + gpu,
            "nvmlDeviceGetClockInfo": lambda gpu, kind: {1: 1_500, 2: 3_201}[kind] + gpu,
            "nvmlDeviceGetTemperature": lambda gpu, _: 40 + gpu,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: self.reasons,
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [
                SimpleNamespace(pid=7, usedGpuMemory=3 * 2**20),
                SimpleNamespace(pid=8, usedGpuMemory=9 * 2**20),
            ],
            "nvmlDeviceGetMPSComputeRunningProcesses": lambda _: self.mps_clients,
        }
        if name in self.deaf:
            return self._refuse
        return functions[name]

    def _by_uuid(self, uuid: str) -> int:
        if uuid not in self.uuids:
            raise Unsupported
        return int(self.uuids[uuid])

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
