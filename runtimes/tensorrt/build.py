"""TensorRT's side of an engine: the package that holds it; parse, build, load, make a context,
inspect.

`trt` is the package's imported module: `tensorrt`, or TensorRT for RTX, which has the same classes,
of which it lacks some, under other names of modules and libraries. `Package` tells what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from exporters.types import Precision
from runtimes.cuda.runtime import TENSORRT_REMEDY, Libraries
from runtimes.errors import CompileFault, NotAvailable, Unsupported
from runtimes.options import Request
from runtimes.tensorrt.errors import Log, ParserProblem, parser_fault, plain
from runtimes.tensorrt.layers import nodes_in

if TYPE_CHECKING:
    import tensorrt


@dataclass(frozen=True, slots=True)
class Package:
    """One of the packages, which is looked up without importing it.

    `distributions` has the CUDA release that each is built for, `sonames` lack the major
    version at their end. `times_kernels`: the builder chooses kernels by timing them on the
    GPU, and keeps the timings; else they are compiled when an engine is loaded.
    """

    title: str
    runtime: str
    module: str
    distributions: Mapping[str, int]
    sonames: tuple[str, ...]
    oldest_major: int
    remedy: str
    times_kernels: bool

    def installed(self) -> tuple[str, int] | None:
        """(version, CUDA major) of what is installed; None if nothing is."""
        if find_spec(self.module) is None:
            return None
        for distribution, cuda_major in self.distributions.items():
            try:
                return metadata.version(distribution), cuda_major
            except metadata.PackageNotFoundError:
                continue
        return None

    def libraries(self, version: str) -> Libraries:
        """What a release links, in the order in which they need one another."""
        major = version.partition(".")[0]
        return Libraries(tuple(f"{name}.{major}" for name in self.sonames), self.remedy)

    def load(self) -> ModuleType:
        """The imported package; NotAvailable with the loader's words where it does not load."""
        try:
            return import_module(self.module)
        except ImportError as error:
            raise NotAvailable(f"{self.title} does not load ({error})", self.remedy) from error


TENSORRT = Package(
    title="TensorRT",
    runtime="tensorrt",
    module="tensorrt",
    distributions={"tensorrt-cu13": 13, "tensorrt-cu12": 12, "tensorrt": 12},
    sonames=("libnvinfer.so", "libnvinfer_plugin.so", "libnvonnxparser.so"),
    oldest_major=10,
    remedy=TENSORRT_REMEDY,
    times_kernels=True,
)
TENSORRT_RTX = Package(
    title="TensorRT for RTX",
    runtime="tensorrt-rtx",
    module="tensorrt_rtx_bindings",
    distributions={"tensorrt-rtx-cu13-bindings": 13, "tensorrt-rtx-cu12-bindings": 12},
    sonames=("libtensorrt_rtx.so", "libtensorrt_onnxparser_rtx.so"),
    oldest_major=1,
    remedy="pip install 'graphlap[tensorrt-rtx]'",
    times_kernels=False,
)


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """What of a case goes into an engine.

    `strong` fixes every tensor's type to the graph's; without it, in TensorRT 10 alone,
    the builder may choose the case's precision or fp32 for each layer. `compute_capability`
    is the GPU's that is built for, 89 for 8.9; None builds for the one that is current.
    """

    precision: Precision
    tf32: bool
    strong: bool = True
    builder_level: int = 3
    compute_capability: int | None = None


def build(
    trt: ModuleType,
    request: Request,
    settings: BuildSettings,
    timing: bytes | None,
    log: Log,
    on_network: Callable[[tensorrt.INetworkDefinition], object] | None = None,
) -> tuple[bytes, bytes | None]:
    """A serialised engine for the request's shapes, and the timings that building it took.

    `timing` is an earlier build's, empty for none; of another release or GPU it is ignored.
    It is None where the builder times nothing, and so are the timings then.
    `on_network` is shown the network. Raises Unsupported, CompileFault or OutOfMemory.
    """
    log.begin()
    trt.init_libnvinfer_plugins(log, "")
    builder: tensorrt.Builder = trt.Builder(log)
    type_flag = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    network: tensorrt.INetworkDefinition = builder.create_network(
        type_flag if settings.strong else 0
    )
    parse(trt, request.model.path, network, log)
    if on_network is not None:
        on_network(network)
    config = configured(trt, builder, settings, log)
    _fix_shapes(builder, network, config, request.shapes)
    if timing is not None:
        cache: tensorrt.ITimingCache = config.create_timing_cache(timing)
        if not config.set_timing_cache(cache, ignore_mismatch=False):
            empty: tensorrt.ITimingCache = config.create_timing_cache(b"")
            config.set_timing_cache(empty, ignore_mismatch=False)
    log.begin()
    plan: tensorrt.IHostMemory = builder.build_serialized_network(network, config)
    if plan is None:
        raise log.fault(
            CompileFault, "TensorRT could not build an engine", "use another precision or runtime"
        )
    if timing is None:
        return bytes(plan), None
    timing_cache: tensorrt.ITimingCache = config.get_timing_cache()
    timings: tensorrt.IHostMemory = timing_cache.serialize()
    return bytes(plan), bytes(timings)


def parse(trt: ModuleType, path: str, network: tensorrt.INetworkDefinition, log: Log) -> None:
    """Read the file into `network`; Unsupported or CompileFault names every node at fault."""
    parser: tensorrt.OnnxParser = trt.OnnxParser(network, log)
    if parser.parse_from_file(path):
        return
    problems = []
    for index in range(parser.num_errors):
        error: tensorrt.ParserError = parser.get_error(index)
        code: tensorrt.ErrorCode = error.code()
        problems.append(
            ParserProblem(code.name, error.node_name(), error.node_operator(), plain(error.desc()))
        )
    raise parser_fault(problems, log)


def configured(
    trt: ModuleType, builder: tensorrt.Builder, settings: BuildSettings, log: Log
) -> tensorrt.IBuilderConfig:
    """The builder's settings; Unsupported for a GPU that the package does not build for."""
    config: tensorrt.IBuilderConfig = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.builder_optimization_level = settings.builder_level
    if settings.tf32:
        config.set_flag(trt.BuilderFlag.TF32)
    else:
        config.clear_flag(trt.BuilderFlag.TF32)
    if not settings.strong:
        _allow(trt, settings.precision, config)
    if settings.compute_capability is not None:
        _aim(trt, settings.compute_capability, config, log)
    return config


def load(
    trt: ModuleType, data: bytes, log: Log
) -> tuple[tensorrt.Runtime, tensorrt.ICudaEngine] | None:
    """The engine and its runtime, which must outlive it; None if the bytes are no engine."""
    log.begin()
    runtime: tensorrt.Runtime = trt.Runtime(log)
    engine: tensorrt.ICudaEngine = runtime.deserialize_cuda_engine(data)
    return None if engine is None else (runtime, engine)


def context_of(trt: ModuleType, engine: tensorrt.ICudaEngine) -> tensorrt.IExecutionContext:
    """A context whose kernels are there before the first run.

    TensorRT for RTX compiles those for a shape beside the runs where it is not told otherwise,
    and runs others until it is done.
    """
    if not hasattr(trt, "DynamicShapesKernelSpecializationStrategy"):
        return engine.create_execution_context()
    running: tensorrt.IRuntimeConfig = engine.create_runtime_config()
    eager = trt.DynamicShapesKernelSpecializationStrategy.EAGER
    running.dynamic_shapes_kernel_specialization_strategy = eager
    return engine.create_execution_context(running)


def network_operators(trt: ModuleType, network: tensorrt.INetworkDefinition) -> dict[str, str]:
    """The operators that the graph's nodes became, the products among them in ONNX's words."""
    products = {
        trt.LayerType.MATRIX_MULTIPLY: "MatMul",
        trt.LayerType.CONVOLUTION: "Conv",
        trt.LayerType.DECONVOLUTION: "ConvTranspose",
        trt.LayerType.EINSUM: "MatMul",
    }
    operators: dict[str, str] = {}
    for index in range(network.num_layers):
        layer: tensorrt.ILayer = network.get_layer(index)
        kind: tensorrt.LayerType = layer.type
        for node in nodes_in(layer.metadata):
            # A node may become several layers, of which one multiplies.
            if kind in products or node not in operators:
                operators[node] = products.get(kind, kind.name)
    return operators


def layers_json(trt: ModuleType, engine: tensorrt.ICudaEngine) -> str:
    """TensorRT's own description of the layers that it executes."""
    inspector: tensorrt.EngineInspector = engine.create_engine_inspector()
    layers_text: str = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    return layers_text


def _allow(trt: ModuleType, precision: Precision, config: tensorrt.IBuilderConfig) -> None:
    """Let the builder choose kernels of the precision; TensorRT 11 has no such flags."""
    if precision in ("fp16", "int8", "fp8"):
        config.set_flag(trt.BuilderFlag.FP16)
    if precision == "bf16":
        config.set_flag(trt.BuilderFlag.BF16)
    if precision == "int8":
        config.set_flag(trt.BuilderFlag.INT8)
    if precision == "fp8":
        config.set_flag(trt.BuilderFlag.FP8)


def _aim(
    trt: ModuleType, compute_capability: int, config: tensorrt.IBuilderConfig, log: Log
) -> None:
    """Build for this GPU and no other, here or not; TensorRT says which it does not know."""
    config.num_compute_capabilities = 1
    if not config.set_compute_capability(trt.ComputeCapability(compute_capability), 0):
        raise log.fault(
            Unsupported,
            f"TensorRT does not build for GPUs of compute capability {compute_capability / 10}",
            "use tensorrt or ort-cuda there",
        )


def _fix_shapes(
    builder: tensorrt.Builder,
    network: tensorrt.INetworkDefinition,
    config: tensorrt.IBuilderConfig,
    shapes: Mapping[str, tuple[int, ...]],
) -> None:
    """One profile whose least, typical and largest shapes are the case's."""
    profile: tensorrt.IOptimizationProfile = builder.create_optimization_profile()
    dynamic = False
    for index in range(network.num_inputs):
        tensor: tensorrt.ITensor = network.get_input(index)
        if tensor.is_shape_tensor:
            raise Unsupported(
                f"TensorRT reads the input {tensor.name!r} as a shape while it builds an engine",
                "use a graph in which this shape is a constant, or ort-cuda",
            )
        if -1 in tuple(tensor.shape):
            shape = shapes[tensor.name]
            profile.set_shape(tensor.name, shape, shape, shape)
            dynamic = True
    if dynamic:
        config.add_optimization_profile(profile)
