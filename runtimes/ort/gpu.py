"""What ONNX Runtime's GPU providers share: the checks, the session and the reading of it.

ONNX Runtime is quiet when a provider does not load and when it leaves nodes to the CPU. So
the session's own list of providers and its node assignment decide what a row may say.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.base import Availability, Session, Unavailable
from runtimes.cuda import libraries as cuda_libraries
from runtimes.cuda.libraries import Libraries
from runtimes.cuda.options import stated
from runtimes.cuda.runtime import GpuRuntime
from runtimes.execution import Execution, Memory
from runtimes.faults import Unsupported
from runtimes.ort.execution import mark_shape_arithmetic, opened_and_read
from runtimes.ort.gpu_open import Providers, open_session
from runtimes.ort.opening import availability, built_for_cuda, has_provider
from runtimes.ort.operators import LAUNCHES_WAIT, Recording
from runtimes.ort.trt_cache import cache_warning, engine_cache_fact, engine_files
from runtimes.request import Request
from runtimes.session.precision import is_matrix_op

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.cuda.driver import Gpu
    from runtimes.ort.execution import Executed
    from runtimes.ort.session import OrtSession


class OrtGpu(GpuRuntime):
    """A provider on one GPU; `libraries` are what it is linked against beside CUDA's."""

    provider: ClassVar[str]
    libraries: ClassVar[tuple[Libraries, ...]] = ()
    operator_environment = LAUNCHES_WAIT
    engine = "onnxruntime"

    def availability(self) -> Availability:
        found = availability("gpu")
        if isinstance(found, Unavailable):
            return found
        engine = f"ONNX Runtime {found.version}"
        # The driver first, without which no package helps; then the provider's own library, without
        # which nobody knows what else this build would need.
        reason = cuda_libraries.why_not((), 0, engine)
        if reason is None and not has_provider(self.name.removeprefix("ort-")):
            reason = Unavailable(
                f"the {engine} that is installed was built without {self.provider}",
                "pip uninstall onnxruntime, then pip install 'graphlap[gpu]'",
            )
        cuda_major = built_for_cuda()
        if reason is None and cuda_major is not None:
            needed = (cuda_libraries.of_cuda(cuda_major), *self.libraries)
            reason = cuda_libraries.why_not(needed, cuda_major, engine)
        return reason or found

    def load(self) -> None:
        from runtimes.ort import gpu_lane, session  # noqa: F401 - and with them onnxruntime

    def _refuse(self, request: Request) -> None:
        if request.options["cuda_graph"] and request.options["boundary"] == "host":
            raise Unsupported(
                f"{self.name} replays a CUDA graph on the device's own addresses",
                "set boundary=device with it",
            )
        if request.settings.operator_times and not LAUNCHES_WAIT.items() <= os.environ.items():
            needed = " ".join(f"{name}={value}" for name, value in LAUNCHES_WAIT.items())
            raise Unsupported(
                f"{self.name} would report the time of launches, not of kernels",
                f"profile in a process that was started with {needed}",
            )

    def _compile(self, request: Request) -> Session:
        from runtimes.cuda.driver import CudaError, Gpu
        from runtimes.cuda.faults import compile_fault

        try:
            self._before(request)
            gpu = Gpu(int(request.settings.device))
            try:
                return self._told(request, self._session(request, gpu))
            except BaseException:
                gpu.close()
                raise
        except CudaError as error:
            raise compile_fault(error) from error

    def _session(self, request: Request, gpu: Gpu) -> OrtSession:
        from runtimes.ort.allocating_lane import lane_on
        from runtimes.ort.session import OrtSession

        free_bytes = gpu.free_bytes()
        # A replayed graph runs none of the kernels that a profiler times.
        plain = replace(request, options={**request.options, "cuda_graph": False})
        recording = Recording() if request.settings.operator_times else None
        if recording is not None:
            request = plain = self._apart(plain, recording.folder)
        providers = self._providers(request)
        before = engine_files(providers)
        open_it = partial(
            open_session,
            self.provider,
            request,
            providers,
            recording.prefix if recording else None,
        )

        def open_recording(prefix: Path) -> onnxruntime.InferenceSession:
            return open_session(self.provider, plain, self._providers(plain), prefix)

        engine, executed = opened_and_read(open_it, open_recording, request)
        facts = engine_cache_fact(providers, before)
        precision, warnings = self._precision(request, executed, gpu.compute_capability)
        lane = lane_on(engine, request, gpu, self._has_queue(request))
        execution = Execution(
            provider=self.provider,
            precision=precision,
            device_name=gpu.name,
            call_path=lane.call_path,
            boundary="device" if request.options["boundary"] == "device" else "host",
            placement=mark_shape_arithmetic(executed.placement, self.provider),
            facts=facts,
            warnings=executed.warnings + warnings + cache_warning(providers, request),
            inspection_ms=executed.inspection_ms,
        )
        return OrtSession(engine, (lane,), execution, recording, partial(_taken, gpu, free_bytes))

    def _has_queue(self, request: Request) -> bool:
        """Whether a run at the device's boundary can be told not to wait for its end."""
        return False

    @abstractmethod
    def _providers(self, request: Request) -> Providers:
        """The providers in the order of preference, with ONNX Runtime's own option names."""

    def _apart(self, request: Request, folder: Path) -> Request:
        """The request for the times of operators, which is to leave no trace outside `folder`."""
        return request

    def _precision(
        self, request: Request, executed: Executed, compute_capability: tuple[int, int]
    ) -> tuple[str, tuple[Diagnostic, ...]]:
        """What a row states, and what must be said of it."""
        products = any(is_matrix_op(node.op) for node in executed.placement)
        allowed = bool(request.options["tf32"]) and products
        return stated(executed.precision, allowed, compute_capability), ()


def _taken(gpu: Gpu, free_bytes: int) -> Memory:
    """What is less free than before the session was opened: the process has the GPU to itself."""
    return Memory(max(free_bytes - gpu.free_bytes(), 0), of_process=True, told_by="free memory")
