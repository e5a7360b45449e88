"""TensorRT for RTX: engines for a named GPU, which is here and measured, or not and checked.

Its builder needs no GPU: it compiles a graph as far as the compute capability asks, and what
that leaves is compiled when the engine is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtimes.base import Availability, Available, Checked, Device, Unavailable
from runtimes.cuda.options import GPU_OPTIONS
from runtimes.faults import NotAvailable
from runtimes.options import SESSIONS
from runtimes.request import Request
from runtimes.session.call_option import CALL
from runtimes.trt.gpu import TensorRtGpu
from runtimes.trt.package import TENSORRT_RTX
from runtimes.trt.runtime import STREAMS

if TYPE_CHECKING:
    import tensorrt

    from runtimes.trt.build import BuildSettings
    from runtimes.trt.session import TensorRtSession

# What ComputeCapability of release 1.7 has; a test holds it against the installed package.
COMPUTE_CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (12, 0), (12, 1))
_PREFIX = "sm"


class TensorRtRtx(TensorRtGpu):
    """Its networks keep the graph's types, and no setting of its builder changes an engine."""

    name = "tensorrt-rtx"
    summary = "TensorRT for RTX, which also checks for GPUs that are not here"
    package = TENSORRT_RTX
    options = (*GPU_OPTIONS, STREAMS, CALL, SESSIONS)

    def devices(self) -> tuple[Device, ...]:
        absent = (
            Device(f"{_PREFIX}{major}{minor}", f"compute capability {major}.{minor}, to check for")
            for major, minor in COMPUTE_CAPABILITIES
        )
        return (*super().devices(), *absent)

    def check_availability(self, device: str) -> Availability:
        installed = self.package.installed()
        if installed is None:
            return self._not_installed()
        if _is_named(device):
            return Available(installed[0])
        here = self.availability()
        if isinstance(here, Unavailable) and not device:
            return Unavailable(
                here.reason,
                "to check for the GPU of another machine, give its compute capability: --runtimes "
                f"{self.name}:sm89 is 8.9",
            )
        return here

    def _check(self, request: Request) -> Checked:
        if not _is_named(request.settings.device):
            return super()._check(request)
        from runtimes.trt import build
        from runtimes.trt.engines import built_execution
        from runtimes.trt.faults import log_of

        trt = self.package.load()
        number = int(request.settings.device.removeprefix(_PREFIX))
        capability = divmod(number, 10)
        wanted = self._build_settings(request, capability)
        log, operators = log_of(trt), dict[str, str]()

        def look(network: tensorrt.INetworkDefinition) -> None:
            operators.update(build.network_operators(trt, network))

        plan, _ = build.build(trt, request, wanted, None, log, look)
        told = built_execution(self.package.title, log.layers, operators, capability)
        return Checked("built", told, plan_bytes=len(plan))

    def refuse_to_run(self, device: str) -> None:
        if _is_named(device):
            raise NotAvailable(
                f"{self.name}:{device} names a GPU by its compute capability, to build for alone",
                f"add --check, or write {self.name} for the GPU of this machine",
            )

    def _opened(self, request: Request) -> TensorRtSession:
        self.refuse_to_run(request.settings.device)
        return super()._opened(request)

    def _build_settings(
        self, request: Request, compute_capability: tuple[int, int]
    ) -> BuildSettings:
        from runtimes.trt.build import BuildSettings

        major, minor = compute_capability
        return BuildSettings(
            precision=request.settings.precision,
            tf32=bool(request.options["tf32"]),
            compute_capability=10 * major + minor,
        )


def _is_named(device: str) -> bool:
    """Whether it is a GPU by its compute capability, not by the driver's number."""
    return device.startswith(_PREFIX)
