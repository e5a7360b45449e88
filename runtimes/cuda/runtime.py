"""What the runtimes on a GPU share: their devices are those that the driver tells."""

from __future__ import annotations

from runtimes.base import Device, Runtime
from runtimes.cuda import libraries


class GpuRuntime(Runtime):
    """Runs on one GPU, which goes by the number that the driver gives it."""

    accelerator = "gpu"
    default_device = "0"

    def devices(self) -> tuple[Device, ...]:
        return libraries.devices()
