"""What the runtimes over TensorRT's two packages share: availability, compiling, checking."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from exporters.types import Precision
from runtimes.base import Availability, Available, Checked, Session, Unavailable
from runtimes.cuda import libraries as cuda_libraries
from runtimes.cuda.runtime import GpuRuntime
from runtimes.faults import Unsupported
from runtimes.request import Request
from runtimes.trt.package import Package

if TYPE_CHECKING:
    from runtimes.cuda.driver import Gpu
    from runtimes.trt.build import BuildSettings
    from runtimes.trt.session import TensorRtSession


class TensorRtGpu(GpuRuntime):
    """The parser, the builder and `execute_async_v3` over named tensors."""

    package: ClassVar[Package]
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "bf16", "int8", "fp8")

    def availability(self) -> Availability:
        package = self.package
        installed = package.installed()
        if installed is None:
            # The driver comes first all the same: without one the package does not help.
            return cuda_libraries.why_not((), 0, package.title) or self._not_installed()
        version, cuda_major = installed
        engine = f"{package.title} {version}"
        reason = cuda_libraries.why_not((package.libraries(version),), cuda_major, engine)
        if reason is None and int(version.partition(".")[0]) < package.oldest_major:
            reason = Unavailable(f"{engine} is older than {package.oldest_major}", package.remedy)
        return reason or Available(version)

    def load(self) -> None:
        from runtimes.trt import session  # noqa: F401 - what an adapter imports counts too

        self.package.load()

    def _not_installed(self) -> Unavailable:
        return Unavailable(f"the package {self.name} is not installed", self.package.remedy)

    def _refuse(self, request: Request) -> None:
        options = request.options
        recorded = options["cuda_graph"] and options["boundary"] == "host"
        if recorded and options["host_memory"] == "pageable":
            raise Unsupported(
                "a recorded CUDA graph copies from page-locked memory alone",
                "set host_memory=pinned with it, or boundary=device",
            )

    @abstractmethod
    def _build_settings(
        self, request: Request, compute_capability: tuple[int, int]
    ) -> BuildSettings:
        """What of the case goes into an engine for a GPU of this compute capability."""

    def _check(self, request: Request) -> Checked:
        with self._opened(request) as session:
            execution, memory = session.execution, session.memory()
            return Checked("opened", execution, memory, session.plan_bytes)

    def _compile(self, request: Request) -> Session:
        return self._opened(request)

    def _opened(self, request: Request) -> TensorRtSession:
        from runtimes.cuda import driver
        from runtimes.cuda.faults import compile_fault

        try:
            self._before(request)
            gpu = driver.Gpu(int(request.settings.device))
            try:
                return self._told(request, self._session(request, gpu))
            except BaseException:
                gpu.close()
                raise
        except driver.CudaError as error:
            raise compile_fault(error) from error

    def _session(self, request: Request, gpu: Gpu) -> TensorRtSession:
        from runtimes.trt.engines import Maker
        from runtimes.trt.faults import log_of
        from runtimes.trt.session import TensorRtSession

        trt = self.package.load()
        log = log_of(trt)
        wanted = self._build_settings(request, gpu.compute_capability)
        maker = Maker(self.package, trt, request, wanted, gpu, log)
        made = maker.made()
        return TensorRtSession(trt, request, made, maker.execution(made), gpu, log)
