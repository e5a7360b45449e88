"""A session of ONNX Runtime's Python interface on any provider, and its lane over host buffers,
one for each shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import onnxruntime as ort

from runtimes.base import Session
from runtimes.errors import RuntimeFault
from runtimes.execution import Execution, Memory, OpTime, Spans
from runtimes.onnxruntime.bound_lane import BoundLane, End
from runtimes.onnxruntime.c_api import no_numbers
from runtimes.onnxruntime.errors import run_fault
from runtimes.onnxruntime.execution import Recording
from runtimes.onnxruntime.plain_lane import PlainLane
from runtimes.options import Request
from runtimes.session.host import HostLane

DIRECT_CALL = "run_with_iobinding of the C binding"
PUBLIC_CALL = "run_with_iobinding"

_DTYPES = {
    "tensor(bool)": "bool",
    "tensor(int8)": "int8",
    "tensor(int16)": "int16",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(uint8)": "uint8",
    "tensor(uint16)": "uint16",
    "tensor(uint32)": "uint32",
    "tensor(uint64)": "uint64",
    "tensor(float16)": "float16",
    "tensor(float)": "float32",
    "tensor(double)": "float64",
}


class OrtLane(BoundLane):
    """Over the Python interface."""

    def __init__(self, engine: ort.InferenceSession, request: Request) -> None:
        self._binding = engine.io_binding()
        super().__init__(map(_end, engine.get_outputs()), request)
        self._timed(*timed_call(engine, self._binding))

    def close(self) -> None:
        super().close()
        self._binding = None

    def _bind_input(self, name: str, array: np.ndarray) -> None:
        self._binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))

    def _bind_output(self, name: str, array: np.ndarray) -> None:
        self._binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array))

    def _allocate(self, name: str) -> None:
        self._binding.bind_output(name)

    def _values(self) -> list[np.ndarray]:
        values = self._binding.get_outputs()
        return [value.numpy() if value.has_value() else np.empty(0) for value in values]


def _end(value: ort.NodeArg) -> End:
    is_fixed = all(isinstance(size, int) for size in value.shape)
    return value.name, tensor_type(value), tuple(value.shape) if is_fixed else None


def tensor_type(value: ort.NodeArg) -> np.dtype:
    """The numpy dtype of an output; Unsupported for what is no plain array of numbers."""
    if value.type not in _DTYPES:
        raise no_numbers(value.name, value.type)
    return np.dtype(_DTYPES[value.type])


def timed_call(
    engine: ort.InferenceSession, binding: ort.IOBinding, options: ort.RunOptions | None = None
) -> tuple[Callable[[], object], str]:
    """The call with the least Python in it, and its name.

    The public method costs about 1 us more than the engine's own binding that it wraps.
    """
    options = options or ort.RunOptions()
    direct = getattr(getattr(engine, "_sess", None), "run_with_iobinding", None)
    inner = getattr(binding, "_iobinding", None)
    if direct is None or inner is None:
        return partial(engine.run_with_iobinding, binding, options), PUBLIC_CALL
    return partial(direct, inner, options), DIRECT_CALL


class OrtSession(Session):
    """Owns `engine` and `lanes`, of which there is one for each shape.

    `memory` asks what the engine takes, where that is known. `recording` is what an engine that was
    opened with profiling writes; it is removed with the session. `spans` are the times of further
    runs by the device's clock.
    """

    def __init__(
        self,
        engine: ort.InferenceSession,
        lanes: Sequence[HostLane | PlainLane],
        execution: Execution,
        recording: Recording | None = None,
        memory: Callable[[], Memory] = Memory,
        spans: Callable[[int], Spans | None] = lambda _: None,
    ) -> None:
        self._engine: ort.InferenceSession | None = engine
        self._lanes, self._recording, self._memory = tuple(lanes), recording, memory
        self._spans = spans
        if recording is not None and recording.graph.exists():
            self.executed_graph = recording.graph
        self.lanes = self._lanes[:1]
        self.by_shape = self._lanes if len(lanes) > 1 else ()
        self.execution = execution

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        if self._recording is None or self._engine is None:
            return super().operator_times(runs)
        return self._recording.op_times(self._engine, self._lanes[0].run, runs)

    def memory(self) -> Memory:
        return self._memory()

    def spans(self, runs: int) -> Spans | None:
        return self._spans(runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        # It may use a stream of the lanes' device until it ends.
        self._engine = None
        self._spans = lambda _: None
        for lane in self._lanes:
            lane.close()
        if self._recording is not None:
            self._recording.close()
