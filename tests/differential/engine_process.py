"""A child process that runs graphs on an engine, so that a crash or a hang is a result."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import warnings
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from onnx import ModelProto, helper

from exporters.engine_values import output_arrays
from exporters.plain_arrays import NARROW_TYPES, NarrowType, widen

LIMIT_S = 60.0
"""A node of a few hundred elements takes milliseconds; the first OpenVINO import takes seconds."""


class EngineCrash(Exception):
    """The child ended, or gave no answer in time."""


class EngineRefusal(Exception):
    """The engine raised an error."""


class EngineProcess:
    """One child for all graphs; after a crash the next graph starts another."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Connection | None = None

    def run(self, engine: str, model: ModelProto, inputs: dict[str, Any]) -> list[Any]:
        """The outputs, by `ort` or `openvino`; EngineRefusal or EngineCrash."""
        if self._pipe is None:
            self._start()
        assert self._pipe is not None
        try:
            self._pipe.send((engine, model.SerializeToString(), inputs))
            if not self._pipe.poll(LIMIT_S):
                raise EngineCrash(f"no answer in {LIMIT_S:g} s")
            good, answer = self._pipe.recv()
        except (EOFError, OSError, EngineCrash) as error:
            self.close()
            raise EngineCrash(str(error) or f"{engine} ended its process") from None
        if not good:
            raise EngineRefusal(answer)
        outputs: list[Any] = answer
        return outputs

    def close(self) -> None:
        """End the child."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, engine_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(engine_end,), daemon=True)
        self._process.start()
        engine_end.close()


def _serve(pipe: Connection) -> None:
    warnings.simplefilter("ignore")
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    engines = {"ort": _by_ort, "openvino": _by_openvino}
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            engine, model, inputs = pipe.recv()
            try:
                answer = True, engines[engine](model, inputs)
            except Exception as error:
                answer = False, f"{type(error).__name__}: {str(error)[:300]}"
            pipe.send(answer)


def _by_ort(model: bytes, inputs: dict[str, Any]) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ends = session.get_outputs()
    if not any(_narrow(end.type) for end in (*session.get_inputs(), *ends)):
        return session.run(None, inputs)
    values = {name: _ort_value(np.asarray(value)) for name, value in inputs.items()}
    names = [end.name for end in ends]
    outputs = output_arrays(names, session.run_with_ort_values(names, values))
    types = [_narrow(end.type) for end in ends]
    return [
        outputs[n].astype(helper.tensor_dtype_to_np_dtype(t.number)) if t else outputs[n]
        for n, t in zip(names, types, strict=True)
    ]


def _narrow(kind: str) -> NarrowType | None:
    return NARROW_TYPES.get(kind.removeprefix("tensor(").removesuffix(")"))


def _ort_value(array: np.ndarray) -> Any:
    import onnxruntime as ort

    narrow = NARROW_TYPES.get(array.dtype.name.replace("_", ""))
    if narrow is None:
        return ort.OrtValue.ortvalue_from_numpy(array)
    bits = narrow.pack(widen(array)) if narrow.bits < 8 else array.view(f"u{array.itemsize}")
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, narrow.number)


def _by_openvino(model: bytes, inputs: dict[str, Any]) -> Any:
    import openvino

    if any(widen(np.asarray(value)).dtype != np.asarray(value).dtype for value in inputs.values()):
        raise TypeError("its Python has no such types")
    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"})
    compiled_model = core.compile_model(core.read_model(model, b""), "CPU")
    request = compiled_model.create_infer_request()
    results = request.infer([np.asarray(value) for value in inputs.values()])
    return [np.array(results[port]) for port in compiled_model.outputs]
