"""ONNX Runtime's CUDA and TensorRT providers: an exported file in, a session on one GPU out.

ONNX Runtime is quiet when a provider does not load and when it leaves nodes to the CPU. So
the session's own list of providers and its node assignment decide what a row may say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from exporters.types import ExportedModel, Precision, axes_key, load_reference
from runtimes.base import (
    Arrays,
    Availability,
    Available,
    Device,
    Execution,
    NodePlacement,
    Option,
    OptionValue,
    Runtime,
    Session,
    Settings,
    Unavailable,
)
from runtimes.cuda import libraries as cuda_libraries
from runtimes.cuda.libraries import CUDA_REMEDY, TENSORRT_REMEDY, Libraries
from runtimes.cuda.options import BOUNDARY, CUDA_GRAPH, TF32, stated
from runtimes.faults import OutOfMemory, Unsupported
from runtimes.options import SESSIONS, chosen
from runtimes.ort.gpu_open import Providers, open_session
from runtimes.ort.operators import LAUNCHES_WAIT, Recording
from runtimes.ort.trt_cache import (
    INFER,
    cache_warning,
    copy_engines,
    engine_cache_fact,
    engine_files,
    engine_folder,
)
from runtimes.session.host import fixed_shapes
from runtimes.session.precision import INTEGER, UNKNOWN, is_matrix_op

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.ort.execution import Executed

_PACKAGES = ("onnxruntime-gpu", "onnxruntime")
_CUDA_MAJOR = 13
_CUDA = Libraries(
    (
        "libcublasLt.so.13",
        "libcublas.so.13",
        "libcudart.so.13",
        "libcurand.so.10",
        "libcufft.so.12",
        "libcudnn.so.9",
    ),
    CUDA_REMEDY,
)
_TENSORRT = Libraries((INFER, "libnvonnxparser.so.10"), TENSORRT_REMEDY)
_READ_NO_NUMBERS = frozenset({"Shape", "Size"})

_CUDNN_SEARCH = {"exhaustive": "EXHAUSTIVE", "heuristic": "HEURISTIC", "default": "DEFAULT"}
_ARENA = {"power_of_two": "kNextPowerOfTwo", "as_requested": "kSameAsRequested"}


class _OrtGpu(Runtime):
    """What the two providers share: the checks, the session and the reading of it."""

    provider: ClassVar[str]
    libraries: ClassVar[tuple[Libraries, ...]]
    profile_environment = LAUNCHES_WAIT

    def availability(self) -> Availability:
        version = _engine_version()
        if version is None:
            return Unavailable(
                "the package onnxruntime-gpu is not installed", "pip install onnxruntime-gpu"
            )
        engine = f"onnxruntime-gpu {version}"
        reason = cuda_libraries.why_not(self.libraries, _CUDA_MAJOR, engine)
        return reason or Available(version)

    def devices(self) -> tuple[Device, ...]:
        return cuda_libraries.devices()

    def refuse(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> None:
        cuda_libraries.device_index(self, settings)
        options = chosen(self, settings)
        fixed_shapes(model, model.inputs, axes)
        if options["cuda_graph"] and options["boundary"] == "host":
            raise Unsupported(
                f"{self.name} replays a CUDA graph on the device's own addresses",
                "set boundary=device with it",
            )
        if settings.profile and not LAUNCHES_WAIT.items() <= os.environ.items():
            needed = " ".join(f"{name}={value}" for name, value in LAUNCHES_WAIT.items())
            raise Unsupported(
                f"{self.name} would tell how long launches take, not kernels",
                f"profile in a process that was started with {needed}",
            )
        super().refuse(model, axes, settings)

    def load(self) -> None:
        from runtimes.ort import gpu_session  # noqa: F401 - and with it onnxruntime

    def compile(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Session:
        from runtimes.cuda.driver import CudaError, Gpu
        from runtimes.ort import execution as ort_execution
        from runtimes.ort.gpu_session import OrtGpuSession

        self.refuse(model, axes, settings)
        options = chosen(self, settings)
        profile = Recording() if settings.profile else None
        if profile is not None:
            # A replayed graph runs none of the kernels that the profiler times.
            options["cuda_graph"] = False
            settings = self._for_profile(model, axes, settings, options, profile.folder)
        index = cuda_libraries.device_index(self, settings)
        providers = self._providers(model, axes, settings, options, index)
        before = engine_files(providers)
        session = open_session(
            self.provider, model, axes, settings, providers, profile.prefix if profile else None
        )
        facts = engine_cache_fact(providers, before)

        def open_profiled(prefix: Path) -> onnxruntime.InferenceSession:
            plain = dict(options) | {"cuda_graph": False}
            again = self._providers(model, axes, settings, plain, index)
            return open_session(self.provider, model, axes, settings, again, prefix)

        def inputs() -> Arrays:
            return load_reference(model.references[axes_key(axes)]).inputs

        executed = ort_execution.read(session, open_profiled, inputs)
        try:
            gpu = Gpu(index)
        except CudaError as error:
            raise OutOfMemory(f"the GPU gave no context ({error})", "free its memory") from error
        precision, warnings = self._precision(executed, settings, options, gpu.compute_capability)
        execution = Execution(
            provider=self.provider,
            precision=precision,
            device_name=gpu.name,
            call_path="",
            boundary="device" if options["boundary"] == "device" else "host",
            placement=mark_shape_arithmetic(executed.placement, self.provider),
            facts=facts,
            warnings=executed.warnings + warnings + cache_warning(providers, settings),
            inspection_ms=executed.inspection_ms,
        )
        try:
            return OrtGpuSession(session, model, axes, execution, gpu, profile)
        except BaseException:
            gpu.close()
            raise

    def _providers(
        self,
        model: ExportedModel,
        axes: Mapping[str, int],
        settings: Settings,
        options: Mapping[str, OptionValue],
        index: int,
    ) -> Providers:
        """The providers in the order of preference, with ONNX Runtime's own option names."""
        raise NotImplementedError

    def _for_profile(
        self,
        model: ExportedModel,
        axes: Mapping[str, int],
        settings: Settings,
        options: Mapping[str, OptionValue],
        folder: Path,
    ) -> Settings:
        """`settings`, so that a profile leaves no trace outside `folder`."""
        return settings

    def _precision(
        self,
        executed: Executed,
        settings: Settings,
        options: Mapping[str, OptionValue],
        compute_capability: tuple[int, int],
    ) -> tuple[str, tuple[str, ...]]:
        """What a row states, and what must be said of it."""
        products = any(is_matrix_op(node.op) for node in executed.placement)
        allowed = bool(options["tf32"]) and products
        return stated(executed.precision, allowed, compute_capability), ()


class OrtCuda(_OrtGpu):
    """The CUDA provider. An int8 file runs there in fp32 between its quantisers."""

    name = "ort-cuda"
    summary = "ONNX Runtime, CUDA provider"
    accelerator = "gpu"
    provider = "CUDAExecutionProvider"
    libraries = (_CUDA,)
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")
    options = (
        BOUNDARY,
        CUDA_GRAPH,
        TF32,
        Option(
            "cudnn_search",
            "exhaustive",
            "how a convolution's algorithm is found: by timing, by rule, or cuDNN's first",
            tuple(_CUDNN_SEARCH),
        ),
        Option(
            "arena_growth",
            "power_of_two",
            "how the provider's memory arena is extended",
            tuple(_ARENA),
        ),
        SESSIONS,
    )

    def _providers(
        self,
        model: ExportedModel,
        axes: Mapping[str, int],
        settings: Settings,
        options: Mapping[str, OptionValue],
        index: int,
    ) -> Providers:
        wanted = {
            "device_id": str(index),
            "use_tf32": _flag(options["tf32"]),
            "enable_cuda_graph": _flag(options["cuda_graph"]),
            "cudnn_conv_algo_search": _CUDNN_SEARCH[str(options["cudnn_search"])],
            "arena_extend_strategy": _ARENA[str(options["arena_growth"])],
        }
        return [(self.provider, wanted)]


class OrtTensorRt(_OrtGpu):
    """The TensorRT provider; what it does not take goes to CUDA and makes the row partial."""

    name = "ort-tensorrt"
    summary = "ONNX Runtime, TensorRT provider"
    accelerator = "gpu"
    provider = "TensorrtExecutionProvider"
    libraries = (_CUDA, _TENSORRT)
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "int8")
    options = (
        BOUNDARY,
        CUDA_GRAPH,
        TF32,
        Option(
            "builder_level",
            3,
            "how long the builder looks for faster kernels",
            (0, 1, 2, 3, 4, 5),
        ),
        SESSIONS,
    )

    def availability(self) -> Availability:
        state = super().availability()
        if isinstance(state, Available):
            version = cuda_libraries.infer_version(INFER)
            return Available(f"{state.version} with TensorRT {version}")
        return state

    def compile(self, model: ExportedModel, axes: Mapping[str, int], settings: Settings) -> Session:
        set_tf32_of_process(bool(chosen(self, settings)["tf32"]))
        return super().compile(model, axes, settings)

    def _providers(
        self,
        model: ExportedModel,
        axes: Mapping[str, int],
        settings: Settings,
        options: Mapping[str, OptionValue],
        index: int,
    ) -> Providers:
        wanted = {
            "device_id": str(index),
            "trt_cuda_graph_enable": _flag(options["cuda_graph"]),
            "trt_fp16_enable": _flag(settings.precision == "fp16"),
            "trt_int8_enable": _flag(settings.precision == "int8"),
            "trt_builder_optimization_level": str(options["builder_level"]),
        }
        folder = engine_folder(model, axes, settings, options)
        if folder is not None:
            wanted |= {
                "trt_engine_cache_enable": "1",
                "trt_engine_cache_path": str(folder),
                "trt_timing_cache_enable": "1",
                "trt_timing_cache_path": str(folder.parent),
            }
        rest = {"device_id": str(index), "use_tf32": _flag(options["tf32"])}
        return [(self.provider, wanted), (OrtCuda.provider, rest)]

    def _for_profile(
        self,
        model: ExportedModel,
        axes: Mapping[str, int],
        settings: Settings,
        options: Mapping[str, OptionValue],
        folder: Path,
    ) -> Settings:
        return copy_engines(model, axes, settings, options, folder)

    def _precision(
        self,
        executed: Executed,
        settings: Settings,
        options: Mapping[str, OptionValue],
        compute_capability: tuple[int, int],
    ) -> tuple[str, tuple[str, ...]]:
        """ONNX Runtime sees a fused graph as one kernel, so the builder's rules decide.

        Without a flag for a narrower type the builder has fp32 kernels alone; with one it
        may still choose fp32 for any layer, and ONNX Runtime does not tell.
        """
        if executed.precision == INTEGER:
            return INTEGER, ()
        if settings.precision == "fp32":
            return stated("fp32", bool(options["tf32"]), compute_capability), ()
        said = f"TensorRT was allowed {settings.precision} and chose each layer's type unseen"
        return UNKNOWN, (said,)


_tf32_of_process: list[bool] = []


def set_tf32_of_process(allowed: bool) -> None:
    """Tell NVIDIA's libraries, which read the variable once, whether TF32 may be used.

    ONNX Runtime has no option for it: https://github.com/microsoft/onnxruntime/issues/26029.
    Unsupported if this process has been told otherwise before.
    """
    if _tf32_of_process and _tf32_of_process[0] != allowed:
        raise Unsupported(
            "TensorRT's use of TF32 is fixed for the life of a process, and was set before",
            "use another process",
        )
    _tf32_of_process[:] = [allowed]
    if allowed:
        os.environ.pop("NVIDIA_TF32_OVERRIDE", None)
    else:
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"


def mark_shape_arithmetic(
    placement: tuple[NodePlacement, ...], provider: str
) -> tuple[NodePlacement, ...]:
    """The placement, integer arithmetic that was left elsewhere being listed uncounted.

    What asks a float tensor for its shape reads none of its numbers.
    """

    def counts(node: NodePlacement) -> bool:
        of_shapes = node.precision == INTEGER or node.op in _READ_NO_NUMBERS
        return node.provider == provider or not of_shapes

    return tuple(replace(node, counts=counts(node)) for node in placement)


def _engine_version() -> str | None:
    if find_spec("onnxruntime") is not None:
        for package in _PACKAGES:
            try:
                return metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    return None


def _flag(value: Any) -> str:
    return "1" if value else "0"
