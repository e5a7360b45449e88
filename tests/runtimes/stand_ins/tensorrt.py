"""A `tensorrt` that executes graphs with ONNX Runtime on the CPU, over the stand-in driver.

It has what the adapter uses and no more; a test holds its names against the table of the
real interface. An engine's bytes are a mark, the release, and the graph.
"""

from __future__ import annotations

import ctypes
import json
import time
from types import SimpleNamespace

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


class _Flags:
    def __init__(self, **values):
        self.__dict__.update(values)


class ILogger:
    Severity = SimpleNamespace(ERROR="error", INTERNAL_ERROR="internal", WARNING="warning")

    def __init__(self):
        pass


class IProfiler:
    def __init__(self):
        pass


NetworkDefinitionCreationFlag = _Flags(STRONGLY_TYPED=0)
BuilderFlag = _Flags(TF32="tf32", FP16="fp16", INT8="int8")
ProfilingVerbosity = _Flags(DETAILED="detailed")
LayerInformationFormat = _Flags(JSON="json")
EngineStat = _Flags(TOTAL_WEIGHTS_SIZE="weights")
built = []
"""One entry for each build: its settings, for tests to look at."""


def init_libnvinfer_plugins(logger, namespace):
    return True


class ITensor:
    def __init__(self, name, shape):
        self.name, self.shape = name, shape


class INetworkDefinition:
    def __init__(self, flags):
        self._flags = flags
        self._model = None

    @property
    def num_inputs(self):
        return len(self._model.graph.input)

    def get_input(self, index):
        value = self._model.graph.input[index]
        sizes = value.type.tensor_type.shape.dim
        return ITensor(value.name, tuple(d.dim_value or -1 for d in sizes))


class ParserError:
    def __init__(self, code, name, op, text):
        self._parts = code, name, op, text

    def code(self):
        return SimpleNamespace(name=self._parts[0])

    def node_name(self):
        return self._parts[1]

    def node_operator(self):
        return self._parts[2]

    def desc(self):
        return self._parts[3]


class OnnxParser:
    def __init__(self, network, logger):
        self._network, self._errors = network, []

    def parse_from_file(self, model):
        self._network._model = onnx.load(model)
        self._errors = [
            ParserError("UNSUPPORTED_NODE", node.name, node.op_type, "no importer for it")
            for node in self._network._model.graph.node
            if node.op_type == "Teleport"
        ]
        return not self._errors

    @property
    def num_errors(self):
        return len(self._errors)

    def get_error(self, index):
        return self._errors[index]


class IHostMemory(bytes):
    pass


class ITimingCache:
    def __init__(self, data):
        self._data = data

    def serialize(self):
        return IHostMemory(self._data + b"t")


class IOptimizationProfile:
    def __init__(self):
        self._shapes = {}

    def set_shape(self, input, min, opt, max):
        assert min == opt == max
        self._shapes[input] = opt


class IBuilderConfig:
    def __init__(self):
        self._flags, self._profiles, self._timing = {BuilderFlag.TF32}, [], None
        self.profiling_verbosity = self.builder_optimization_level = None

    def set_flag(self, flag):
        self._flags.add(flag)

    def clear_flag(self, flag):
        self._flags.discard(flag)

    def add_optimization_profile(self, profile):
        self._profiles.append(profile)

    def create_timing_cache(self, serialized_timing_cache):
        return ITimingCache(bytes(serialized_timing_cache))

    def set_timing_cache(self, cache, ignore_mismatch):
        self._timing = cache
        return True

    def get_timing_cache(self):
        return self._timing


class Builder:
    failure = ""

    def __init__(self, logger):
        self._logger = logger

    def create_network(self, flags=0):
        return INetworkDefinition(flags)

    def create_builder_config(self):
        return IBuilderConfig()

    def create_optimization_profile(self):
        return IOptimizationProfile()

    def build_serialized_network(self, network, config):
        if Builder.failure:
            self._logger.log(ILogger.Severity.ERROR, Builder.failure)
            return None
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
    def __init__(self, logger):
        self._logger = logger

    def deserialize_cuda_engine(self, serialized_engine):
        head = MARK + RELEASE
        return (
            ICudaEngine(serialized_engine[len(head) :])
            if serialized_engine[: len(head)] == head
            else None
        )


class EngineInspector:
    def __init__(self, model):
        self._model = model

    def get_engine_information(self, format):
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

    def __init__(self, graph):
        self._graph, self._model = graph, onnx.load_from_string(graph)

    def create_execution_context(self):
        return IExecutionContext(self._graph)

    def create_engine_inspector(self):
        return EngineInspector(self._model)

    def get_tensor_dtype(self, name):
        return SimpleNamespace(name=_types(onnxruntime.InferenceSession(self._graph))[name])

    def get_engine_stat(self, stat):
        return 200


def _types(session):
    return {v.name: _TYPES[v.type] for v in (*session.get_inputs(), *session.get_outputs())}


class IExecutionContext:
    failing = False
    profiler, enqueue_emits_profile = None, True

    def __init__(self, graph):
        self._graph, self._session = graph, None
        self._spent_ms = None
        self._shapes, self._addresses = {}, {}
        # TensorRT reads the addresses when work is given to it, and writes when it is done.
        self._call = _CALL(lambda _: self._compute())

    def set_input_shape(self, name, shape):
        self._shapes[name] = tuple(shape)
        return True

    def _opened(self):
        if self._session is None:
            options = onnxruntime.SessionOptions()
            for value in onnxruntime.InferenceSession(self._graph).get_inputs():
                for size, axis in zip(self._shapes[value.name], value.shape, strict=True):
                    if isinstance(axis, str):
                        options.add_free_dimension_override_by_name(axis, size)
            self._session = onnxruntime.InferenceSession(self._graph, options)
        return self._session

    def get_tensor_shape(self, name):
        (value,) = [v for v in self._opened().get_outputs() if v.name == name]
        return tuple(value.shape)

    def set_tensor_address(self, name, memory):
        self._addresses[name] = memory
        return True

    def execute_async_v3(self, stream_handle):
        if IExecutionContext.failing:
            return False
        self._spent_ms = None
        launch = driver.library().cuLaunchHostFunc
        launch.argtypes = (ctypes.c_void_p, _CALL, ctypes.c_void_p)
        return launch(stream_handle, self._call, None) == 0

    def report_to_profiler(self):
        """Each layer's share of the last run; nothing can be told before that is complete."""
        if self.profiler is None or self.enqueue_emits_profile or self._spent_ms is None:
            return False
        layers = onnx.load_from_string(self._graph).graph.node
        for layer in layers:
            self.profiler.report_layer_time(layer.name, self._spent_ms / len(layers))
        return True

    def _compute(self):
        begun = time.perf_counter()
        session = self._opened()
        feeds = {
            v.name: self._view(v.name, self._shapes[v.name], v.type) for v in session.get_inputs()
        }
        for value, result in zip(session.get_outputs(), session.run(None, feeds), strict=True):
            self._view(value.name, tuple(value.shape), value.type)[...] = result
        self._spent_ms = (time.perf_counter() - begun) * 1e3

    def _view(self, name, shape, kind):
        dtype = np.dtype({"FLOAT": "f4", "HALF": "f2", "INT64": "i8", "BOOL": "?"}[_TYPES[kind]])
        size = int(np.prod(shape)) * dtype.itemsize
        memory = (ctypes.c_ubyte * size).from_address(self._addresses[name])
        return np.frombuffer(memory, dtype).reshape(shape)
