"""A `tensorrt` that executes graphs with ONNX Runtime on the CPU, over the stand-in driver.

It stands in for what needs a driver: loading an engine, inspecting it, running it; parsing and
building are tested with TensorRT for RTX. It has what the adapter uses and no more; a test holds
its names against the table of the real interface. An engine's bytes are a mark, the release, and
the graph.
"""

from __future__ import annotations

import ctypes
import json
import time
from types import SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np
import onnx
import onnxruntime

from runtimes.cuda import driver

MARK = b"stand-in engine "
_TYPES = {
    "tensor(float)": "FLOAT",
    "tensor(float16)": "HALF",
    "tensor(int64)": "INT64",
    "tensor(bool)": "BOOL",
}
_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
RELEASE = b"10.16.1 "

Shape = tuple[int, ...]


class ILogger:
    Severity = SimpleNamespace(ERROR="error", INTERNAL_ERROR="internal", WARNING="warning")

    def __init__(self) -> None:
        pass

    def log(self, severity: str, msg: str) -> None: ...


class IProfiler:
    def __init__(self) -> None:
        pass

    def report_layer_time(self, layer_name: str, ms: float) -> None: ...


class IOutputAllocator:
    """What derives from it is asked for room and told shapes."""

    def __init__(self) -> None:
        pass


NetworkDefinitionCreationFlag = SimpleNamespace(STRONGLY_TYPED=0)
BuilderFlag = SimpleNamespace(TF32="tf32", FP16="fp16", BF16="bf16", INT8="int8", FP8="fp8")
ProfilingVerbosity = SimpleNamespace(DETAILED="detailed")
LayerInformationFormat = SimpleNamespace(JSON="json")
EngineStat = SimpleNamespace(TOTAL_WEIGHTS_SIZE="weights")
built: list[dict[str, Any]] = []
"""One entry for each build: its settings, for tests to look at."""
late: list[str] = []
"""What was computed with a context that was gone: real ones crash, or write what is not theirs."""
said_while_building: list[str] = []
"""Errors that a build reports and gets over, as of kernels that it passes over."""


def init_libnvinfer_plugins(logger: ILogger, namespace: str) -> bool:
    return True


class ITensor:
    def __init__(self, name: str, shape: Shape, is_shape_tensor: bool) -> None:
        self.name, self.shape, self.is_shape_tensor = name, shape, is_shape_tensor


class INetworkDefinition:
    def __init__(self, flags: int) -> None:
        self._flags = flags
        self._model = onnx.ModelProto()

    @property
    def num_inputs(self) -> int:
        return len(self._model.graph.input)

    def get_input(self, index: int) -> ITensor:
        value = self._model.graph.input[index]
        sizes = value.type.tensor_type.shape.dim
        shapes = {node.input[1] for node in self._model.graph.node if node.op_type == "Reshape"}
        shape = tuple(d.dim_value or -1 for d in sizes)
        return ITensor(value.name, shape, value.name in shapes)


class OnnxParser:
    def __init__(self, network: INetworkDefinition, logger: ILogger) -> None:
        self._network = network

    def parse_from_file(self, model: str) -> bool:
        self._network._model = onnx.load(model)
        return True


class IHostMemory(bytes):
    pass


class ITimingCache:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def serialize(self) -> IHostMemory:
        return IHostMemory(self._data + b"t")


class IOptimizationProfile:
    def __init__(self) -> None:
        self._shapes: dict[str, Shape] = {}

    def set_shape(self, input: str, min: Shape, opt: Shape, max: Shape) -> None:
        assert min == opt == max
        self._shapes[input] = opt


class IBuilderConfig:
    def __init__(self) -> None:
        self._flags = {BuilderFlag.TF32}
        self._profiles: list[IOptimizationProfile] = []
        self._timing = ITimingCache(b"")
        self.profiling_verbosity = ""
        self.builder_optimization_level = -1

    def set_flag(self, flag: str) -> None:
        self._flags.add(flag)

    def clear_flag(self, flag: str) -> None:
        self._flags.discard(flag)

    def add_optimization_profile(self, profile: IOptimizationProfile) -> None:
        self._profiles.append(profile)

    def create_timing_cache(self, serialized_timing_cache: bytes) -> ITimingCache:
        return ITimingCache(bytes(serialized_timing_cache))

    def set_timing_cache(self, cache: ITimingCache, ignore_mismatch: bool) -> bool:
        self._timing = cache
        return True

    def get_timing_cache(self) -> ITimingCache:
        return self._timing


class Builder:
    def __init__(self, logger: ILogger) -> None:
        self._logger = logger

    def create_network(self, flags: int = 0) -> INetworkDefinition:
        return INetworkDefinition(flags)

    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig()

    def create_optimization_profile(self) -> IOptimizationProfile:
        return IOptimizationProfile()

    def build_serialized_network(
        self, network: INetworkDefinition, config: IBuilderConfig
    ) -> IHostMemory:
        for text in said_while_building:
            self._logger.log(ILogger.Severity.ERROR, text)
        built.append(
            {
                "strong": bool(network._flags & 1),
                "flags": frozenset(config._flags),
                "level": config.builder_optimization_level,
                "timing": config._timing._data,
                "shapes": [profile._shapes for profile in config._profiles],
            }
        )
        return IHostMemory(MARK + RELEASE + network._model.SerializeToString())


class Runtime:
    def __init__(self, logger: ILogger) -> None:
        self._logger = logger

    def deserialize_cuda_engine(self, serialized_engine: bytes) -> ICudaEngine | None:
        head = MARK + RELEASE
        return (
            ICudaEngine(serialized_engine[len(head) :])
            if serialized_engine[: len(head)] == head
            else None
        )


class EngineInspector:
    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model

    def get_engine_information(self, format: str) -> str:
        layers = [
            {
                "Name": node.name,
                "LayerType": node.op_type,
                "TacticName": f"stand_in_{node.op_type.lower()}",
                "Metadata": f"[ONNX Layer: {node.name}]",
                "Inputs": [
                    {"Name": n, "Format/Datatype": "Row major linear FP32"} for n in node.input
                ],
                "Outputs": [
                    {"Name": n, "Format/Datatype": "Row major linear FP32"} for n in node.output
                ],
            }
            for node in self._model.graph.node
        ]
        return json.dumps({"Layers": layers, "Bindings": []})


class ICudaEngine:
    device_memory_size_v2 = 1000

    def __init__(self, graph: bytes) -> None:
        self._graph, self._model = graph, onnx.load_from_string(graph)

    def create_execution_context(self) -> IExecutionContext:
        return IExecutionContext(self._graph)

    def serialize(self) -> IHostMemory:
        return IHostMemory(self._graph)

    def create_engine_inspector(self) -> EngineInspector:
        return EngineInspector(self._model)

    def get_tensor_dtype(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(name=_types(onnxruntime.InferenceSession(self._graph))[name])

    def get_engine_stat(self, stat: str) -> int:
        return 200


def _wait_for(stream_handle: int) -> bool:
    wait = ctypes.CDLL(driver.SONAME).cuStreamSynchronize
    wait.argtypes = (ctypes.c_void_p,)
    return bool(wait(stream_handle) == 0)


def _types(session: onnxruntime.InferenceSession) -> dict[str, str]:
    return {v.name: _TYPES[v.type] for v in (*session.get_inputs(), *session.get_outputs())}


_calls: list[Any] = []


def _compute_context(context: IExecutionContext | None) -> None:
    if context is None:
        late.append("a run")
    else:
        context._compute()


class IExecutionContext:
    failing = False
    _most_bytes = 1024
    """What the engine says that an output may need at most."""
    profiler: IProfiler | None = None
    enqueue_emits_profile = True

    def __init__(self, graph: bytes) -> None:
        self._graph = graph
        self._session: onnxruntime.InferenceSession | None = None
        self._spent_ms: float | None = None
        self._shapes: dict[str, Shape] = {}
        self._addresses: dict[str, int] = {}
        self._allocators: dict[str, Any] = {}
        # TensorRT reads the addresses when work is given to it, and writes when it is done.
        context_ref = ref(self)
        self._call = _CALL(lambda _: _compute_context(context_ref()))
        _calls.append(self._call)  # the driver has its address for as long as work is queued

    def set_input_shape(self, name: str, shape: Shape) -> bool:
        self._shapes[name] = tuple(shape)
        return True

    def _open_session(self) -> onnxruntime.InferenceSession:
        if self._session is None:
            options = onnxruntime.SessionOptions()
            for value in onnxruntime.InferenceSession(self._graph).get_inputs():
                for size, axis in zip(self._shapes[value.name], value.shape, strict=True):
                    if isinstance(axis, str):
                        options.add_free_dimension_override_by_name(axis, size)
            self._session = onnxruntime.InferenceSession(self._graph, options)
        return self._session

    def get_tensor_shape(self, name: str) -> Shape:
        (value,) = [v for v in self._open_session().get_outputs() if v.name == name]
        return tuple(size if isinstance(size, int) else -1 for size in value.shape)

    def get_max_output_size(self, name: str) -> int:
        return self._most_bytes

    def set_output_allocator(self, name: str, output_allocator: IOutputAllocator) -> bool:
        self._allocators[name] = output_allocator
        return True

    def set_tensor_address(self, name: str, memory: int) -> bool:
        self._addresses[name] = memory
        return True

    def execute_async_v3(self, stream_handle: int) -> bool:
        if IExecutionContext.failing:
            return False
        self._spent_ms = None
        launch = ctypes.CDLL(driver.SONAME).cuLaunchHostFunc
        launch.argtypes = (ctypes.c_void_p, _CALL, ctypes.c_void_p)
        is_enqueued = launch(stream_handle, self._call, None) == 0
        # A shape that a run finds is told before the call returns.
        return bool(is_enqueued and (not self._allocators or _wait_for(stream_handle)))

    def report_to_profiler(self) -> bool:
        """Each layer's share of the last run; nothing can be told before that is complete."""
        if self.profiler is None or self.enqueue_emits_profile or self._spent_ms is None:
            return False
        layers = onnx.load_from_string(self._graph).graph.node
        for layer in layers:
            self.profiler.report_layer_time(layer.name, self._spent_ms / len(layers))
        return True

    def _compute(self) -> None:
        start_s = time.perf_counter()
        session = self._open_session()
        feeds = {
            v.name: self._view(v.name, self._shapes[v.name], v.type) for v in session.get_inputs()
        }
        for value, result in zip(session.get_outputs(), session.run(None, feeds), strict=True):
            allocator = self._allocators.get(value.name)
            if allocator is not None:
                self._addresses[value.name] = allocator.reallocate_output_async(
                    value.name, self._addresses.get(value.name, 0), result.nbytes, 256, 0
                )
                allocator.notify_shape(value.name, result.shape)
            self._view(value.name, result.shape, value.type)[...] = result
        self._spent_ms = (time.perf_counter() - start_s) * 1e3

    def _view(self, name: str, shape: Shape, kind: str) -> np.ndarray:
        dtype = np.dtype({"FLOAT": "f4", "HALF": "f2", "INT64": "i8", "BOOL": "?"}[_TYPES[kind]])
        size = int(np.prod(shape)) * dtype.itemsize
        memory = (ctypes.c_ubyte * size).from_address(self._addresses[name])
        array: np.ndarray = np.ctypeslib.as_array(memory).view(dtype).reshape(shape)
        return array
