"""TensorRT's side of an engine: parse, build, load, inspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tensorrt as trt

from exporters.types import Precision
from runtimes.faults import CompileFault
from runtimes.request import Request
from runtimes.trt.faults import Log, ParserProblem, parser_fault, plain


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """What of a case goes into an engine.

    `strong` fixes every tensor's type to the graph's; without it, in TensorRT 10 alone,
    the builder may choose the case's precision or fp32 for each layer.
    """

    precision: Precision
    strong: bool
    tf32: bool
    builder_level: int


def build(
    request: Request, settings: BuildSettings, timing: bytes, log: Log
) -> tuple[bytes, bytes]:
    """A serialised engine for the request's shapes, and the timings that building it took.

    `timing` is an earlier build's, empty for none; of another release or GPU it is ignored.
    Raises Unsupported, CompileFault or OutOfMemory.
    """
    trt.init_libnvinfer_plugins(log, "")
    builder: trt.Builder = trt.Builder(log)
    typed = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    network: trt.INetworkDefinition = builder.create_network(typed if settings.strong else 0)
    parse(request.model.path, network, log)
    config: trt.IBuilderConfig = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.builder_optimization_level = settings.builder_level
    if settings.tf32:
        config.set_flag(trt.BuilderFlag.TF32)
    else:
        config.clear_flag(trt.BuilderFlag.TF32)
    if not settings.strong:
        _allow(settings.precision, config)
    _fix_shapes(builder, network, config, request.shapes)
    cache: trt.ITimingCache = config.create_timing_cache(timing)
    if not config.set_timing_cache(cache, ignore_mismatch=False):
        empty: trt.ITimingCache = config.create_timing_cache(b"")
        config.set_timing_cache(empty, ignore_mismatch=False)
    plan: trt.IHostMemory = builder.build_serialized_network(network, config)
    if plan is None:
        raise log.fault(CompileFault, "TensorRT could not build an engine", "see its release notes")
    used: trt.ITimingCache = config.get_timing_cache()
    timings: trt.IHostMemory = used.serialize()
    return bytes(plan), bytes(timings)


def parse(path: str, network: trt.INetworkDefinition, log: Log) -> None:
    """Read the file into `network`; Unsupported or CompileFault names the node at fault."""
    parser: trt.OnnxParser = trt.OnnxParser(network, log)
    if parser.parse_from_file(path):
        return
    problems = []
    for index in range(parser.num_errors):
        error: trt.ParserError = parser.get_error(index)
        code: trt.ErrorCode = error.code()
        problems.append(
            ParserProblem(code.name, error.node_name(), error.node_operator(), plain(error.desc()))
        )
    raise parser_fault(problems, log)


def load(data: bytes, log: Log) -> tuple[trt.Runtime, trt.ICudaEngine] | None:
    """The engine and its runtime, which must outlive it; None if the bytes are no engine."""
    runtime: trt.Runtime = trt.Runtime(log)
    engine: trt.ICudaEngine = runtime.deserialize_cuda_engine(data)
    return None if engine is None else (runtime, engine)


def layers_json(engine: trt.ICudaEngine) -> str:
    """TensorRT's own description of the layers that it executes."""
    inspector: trt.EngineInspector = engine.create_engine_inspector()
    described: str = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    return described


def _allow(precision: Precision, config: trt.IBuilderConfig) -> None:
    """Let the builder choose kernels of the precision; TensorRT 11 has no such flags."""
    if precision in ("fp16", "int8"):
        config.set_flag(trt.BuilderFlag.FP16)
    if precision == "int8":
        config.set_flag(trt.BuilderFlag.INT8)


def _fix_shapes(
    builder: trt.Builder,
    network: trt.INetworkDefinition,
    config: trt.IBuilderConfig,
    shapes: Mapping[str, tuple[int, ...]],
) -> None:
    """One profile whose least, typical and largest shapes are the case's."""
    profile: trt.IOptimizationProfile = builder.create_optimization_profile()
    dynamic = False
    for index in range(network.num_inputs):
        tensor: trt.ITensor = network.get_input(index)
        if -1 in tuple(tensor.shape):
            shape = shapes[tensor.name]
            profile.set_shape(tensor.name, shape, shape, shape)
            dynamic = True
    if dynamic:
        config.add_optimization_profile(profile)
