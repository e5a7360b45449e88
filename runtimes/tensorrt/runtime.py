"""TensorRT and TensorRT for RTX as runtimes: an exported file in, an engine for fixed shapes out,
built once and stored.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from exporters.types import Precision
from runtimes.base import Availability, Available, Checked, Device, Session, Unavailable
from runtimes.cuda import runtime as cuda_libraries
from runtimes.cuda.options import BUILDER_LEVEL, GPU_OPTIONS
from runtimes.cuda.runtime import GpuRuntime
from runtimes.errors import NotAvailable, Unsupported
from runtimes.options import SESSIONS, Option, Request
from runtimes.session.host import CALL
from runtimes.tensorrt.build import TENSORRT, TENSORRT_RTX, Package

if TYPE_CHECKING:
    import tensorrt

    from runtimes.cuda.driver import Gpu
    from runtimes.tensorrt.build import BuildSettings
    from runtimes.tensorrt.session import TensorRtSession


class TensorRtGpu(GpuRuntime):
    """The parser, the builder and `execute_async_v3` over named tensors."""

    package: ClassVar[Package]
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "bf16", "int8", "fp8")

    def availability(self) -> Availability:
        package = self.package
        release = package.installed()
        if release is None:
            # The driver comes first all the same: without one the package does not help.
            return cuda_libraries.why_not((), 0, package.title) or self._not_installed()
        version, cuda_major = release
        engine = f"{package.title} {version}"
        reason = cuda_libraries.why_not((package.libraries(version),), cuda_major, engine)
        if reason is None and int(version.partition(".")[0]) < package.oldest_major:
            reason = Unavailable(f"{engine} is older than {package.oldest_major}", package.remedy)
        return reason or Available(version)

    def load(self) -> None:
        from runtimes.tensorrt import session  # noqa: F401 - what an adapter imports counts too

        self.package.load()

    def _not_installed(self) -> Unavailable:
        return Unavailable(f"the package {self.name} is not installed", self.package.remedy)

    def _refuse(self, request: Request) -> None:
        options = request.options
        is_recorded = options["cuda_graph"] and options["boundary"] == "host"
        if is_recorded and options["host_memory"] == "pageable":
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
        with self._open_gpu_session(request) as session:
            execution, memory = session.execution, session.memory()
            return Checked("opened", execution, memory, session.plan_bytes)

    def _compile(self, request: Request) -> Session:
        return self._open_gpu_session(request)

    def _open_gpu_session(self, request: Request) -> TensorRtSession:
        from runtimes.cuda import driver
        from runtimes.cuda.driver import compile_fault

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
        from runtimes.tensorrt.engines import Maker
        from runtimes.tensorrt.errors import log_of
        from runtimes.tensorrt.session import TensorRtSession

        trt = self.package.load()
        log = log_of(trt)
        build_settings = self._build_settings(request, gpu.compute_capability)
        maker = Maker(self.package, trt, request, build_settings, gpu, log)
        built_engine = maker.made()
        if folder := str(request.options[ENGINE_DIR.name]):
            maker.store(built_engine, Path(folder))
        return TensorRtSession(trt, request, built_engine, maker.execution(built_engine), gpu, log)


_STRONG_ONLY_MAJOR = 11

ENGINE_DIR = Option(
    "engine_dir",
    "",
    "folder for the engine and its layers as files, for trtexec and polygraphy",
    tuned=False,
)
STREAMS = Option(
    "streams", 1, "how many execution contexts of one engine run at once", minimum=1, maximum=64
)


class TensorRt(TensorRtGpu):
    """TensorRT 10 and 11, which choose their kernels by timing them on the GPU that is there."""

    name = "tensorrt"
    summary = "TensorRT itself"
    package = TENSORRT
    engine = TENSORRT.module
    options = (
        *GPU_OPTIONS,
        Option(
            "typing",
            "strong",
            "tensors keep the graph's types, or flags let the builder choose (TensorRT 10)",
            ("strong", "flags"),
        ),
        BUILDER_LEVEL,
        STREAMS,
        ENGINE_DIR,
        CALL,
        SESSIONS,
    )

    def _refuse(self, request: Request) -> None:
        super()._refuse(request)
        release = self.package.installed()
        strong_only = release is not None and int(release[0].partition(".")[0]) >= (
            _STRONG_ONLY_MAJOR
        )
        if request.options["typing"] == "flags" and strong_only:
            raise Unsupported(
                "TensorRT 11 has no flags for precision, every network keeps its types",
                "set typing=strong",
            )

    def _build_settings(
        self, request: Request, compute_capability: tuple[int, int]
    ) -> BuildSettings:
        from runtimes.tensorrt.build import BuildSettings

        return BuildSettings(
            precision=request.settings.precision,
            tf32=bool(request.options["tf32"]),
            strong=request.options["typing"] == "strong",
            builder_level=int(request.options["builder_level"]),
        )


# What ComputeCapability of release 1.7 has; a test holds it against the installed package.
COMPUTE_CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (12, 0), (12, 1))
_PREFIX = "sm"


class TensorRtRtx(TensorRtGpu):
    """Its networks keep the graph's types, and no setting of its builder changes an engine."""

    name = "tensorrt-rtx"
    summary = "TensorRT for RTX, which also checks for GPUs that are not here"
    package = TENSORRT_RTX
    options = (*GPU_OPTIONS, STREAMS, ENGINE_DIR, CALL, SESSIONS)

    def devices(self) -> tuple[Device, ...]:
        absent = (
            Device(f"{_PREFIX}{major}{minor}", f"compute capability {major}.{minor}, to check for")
            for major, minor in COMPUTE_CAPABILITIES
        )
        return (*super().devices(), *absent)

    def check_availability(self, device: str) -> Availability:
        release = self.package.installed()
        if release is None:
            return self._not_installed()
        if _is_named(device):
            return Available(release[0])
        state = self.availability()
        if isinstance(state, Unavailable) and not device:
            return Unavailable(
                state.reason,
                "to check for the GPU of another machine, give its compute capability: --runtimes "
                f"{self.name}:sm89 is 8.9",
            )
        return state

    def _check(self, request: Request) -> Checked:
        if not _is_named(request.settings.device):
            return super()._check(request)
        from runtimes.tensorrt import build
        from runtimes.tensorrt.engines import built_execution
        from runtimes.tensorrt.errors import log_of

        trt = self.package.load()
        number = int(request.settings.device.removeprefix(_PREFIX))
        capability = divmod(number, 10)
        build_settings = self._build_settings(request, capability)
        log, operators = log_of(trt), dict[str, str]()

        def look(network: tensorrt.INetworkDefinition) -> None:
            operators.update(build.network_operators(trt, network))

        plan, _ = build.build(trt, request, build_settings, None, log, look)
        execution = built_execution(self.package.title, log.layers, operators, capability)
        return Checked("built", execution, plan_bytes=len(plan))

    def refuse_to_run(self, device: str) -> None:
        if _is_named(device):
            raise NotAvailable(
                f"{self.name}:{device} names a GPU by its compute capability, to build for alone",
                f"add --check, or write {self.name} for the GPU of this machine",
            )

    def _open_gpu_session(self, request: Request) -> TensorRtSession:
        self.refuse_to_run(request.settings.device)
        return super()._open_gpu_session(request)

    def _build_settings(
        self, request: Request, compute_capability: tuple[int, int]
    ) -> BuildSettings:
        from runtimes.tensorrt.build import BuildSettings

        major, minor = compute_capability
        return BuildSettings(
            precision=request.settings.precision,
            tf32=bool(request.options["tf32"]),
            compute_capability=10 * major + minor,
        )


def _is_named(device: str) -> bool:
    """Whether it is a GPU by its compute capability, not by the driver's number."""
    return device.startswith(_PREFIX)
