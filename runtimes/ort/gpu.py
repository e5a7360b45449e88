"""What ONNX Runtime's GPU providers share: the checks, the session and the reading of it.

ONNX Runtime is quiet when a provider does not load and when it leaves nodes to the CPU. So
the session's own list of providers and its node assignment decide what a row may say.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from runtimes.base import Availability, Session, Unavailable
from runtimes.cuda import libraries as cuda_libraries
from runtimes.cuda.libraries import Libraries
from runtimes.cuda.options import stated
from runtimes.cuda.runtime import GpuRuntime
from runtimes.execution import Execution
from runtimes.faults import OutOfMemory, Unsupported
from runtimes.ort.execution import mark_shape_arithmetic
from runtimes.ort.gpu_open import Providers, open_session
from runtimes.ort.opening import availability, has_provider
from runtimes.ort.operators import LAUNCHES_WAIT, Recording
from runtimes.ort.trt_cache import cache_warning, engine_cache_fact, engine_files
from runtimes.request import Request
from runtimes.session.precision import is_matrix_op

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.ort.execution import Executed

_CUDA_MAJOR = 13


class OrtGpu(GpuRuntime):
    """A provider on one GPU; `libraries` are what it is linked against."""

    provider: ClassVar[str]
    libraries: ClassVar[tuple[Libraries, ...]]
    operator_environment = LAUNCHES_WAIT
    engine = "onnxruntime"

    def availability(self) -> Availability:
        found = availability("gpu")
        if isinstance(found, Unavailable):
            return found
        engine = f"onnxruntime-gpu {found.version}"
        reason = cuda_libraries.why_not(self.libraries, _CUDA_MAJOR, engine)
        if reason is None and not has_provider(self.name.removeprefix("ort-")):
            return Unavailable(
                f"the ONNX Runtime {found.version} that is installed was built without "
                f"{self.provider}",
                "pip uninstall onnxruntime, then pip install 'graphlap[gpu]'",
            )
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
                f"{self.name} would tell how long launches take, not kernels",
                f"profile in a process that was started with {needed}",
            )

    def _compile(self, request: Request) -> Session:
        from runtimes.cuda.driver import CudaError, Gpu
        from runtimes.ort import execution as ort_execution
        from runtimes.ort.allocating_lane import lane_on
        from runtimes.ort.session import OrtSession

        # A replayed graph runs none of the kernels that a profiler times.
        plain = replace(request, options={**request.options, "cuda_graph": False})
        recording = Recording() if request.settings.operator_times else None
        if recording is not None:
            request = plain = self._apart(plain, recording.folder)
        providers = self._providers(request)
        before = engine_files(providers)
        engine = open_session(
            self.provider, request, providers, recording.prefix if recording else None
        )
        facts = engine_cache_fact(providers, before)

        def open_recording(prefix: Path) -> onnxruntime.InferenceSession:
            return open_session(self.provider, plain, self._providers(plain), prefix)

        executed = ort_execution.read(engine, open_recording, request)
        try:
            gpu = Gpu(int(request.settings.device))
        except CudaError as error:
            raise OutOfMemory(f"the GPU gave no context ({error})", "free its memory") from error
        precision, warnings = self._precision(request, executed, gpu.compute_capability)
        try:
            lane = lane_on(engine, request, gpu, self._has_queue(request))
        except BaseException:
            gpu.close()
            raise
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
        return OrtSession(engine, (lane,), execution, recording)

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
    ) -> tuple[str, tuple[str, ...]]:
        """What a row states, and what must be said of it."""
        products = any(is_matrix_op(node.op) for node in executed.placement)
        allowed = bool(request.options["tf32"]) and products
        return stated(executed.precision, allowed, compute_capability), ()
