"""A session of ONNX Runtime's Python interface on any provider, and its lanes, one for each shape:
over host buffers, or called with Python values.

Python values are texts, sequences, maps, optional values, and tensors of types that numpy lacks.
For these nothing is bound. The timed call is the engine's `run`, as a program in Python calls it:
it takes arrays, lists and dictionaries, and makes those that it returns. Where numpy lacks a type,
the call takes and returns the engine's own tensors, which are converted before and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import onnxruntime as ort

from exporters.engine_values import has_narrow, input_values, output_arrays
from exporters.plain_arrays import arrays_of, values_of
from exporters.types import TensorSpec
from runtimes.base import Arrays, Lane, Session
from runtimes.errors import RuntimeFault, Unsupported
from runtimes.execution import Execution, Memory, OpTime, Spans
from runtimes.onnxruntime.bound_lane import BoundLane, End
from runtimes.onnxruntime.c_api import no_numbers
from runtimes.onnxruntime.errors import run_fault
from runtimes.onnxruntime.execution import Recording
from runtimes.options import Request
from runtimes.session.host import HostLane, closed, refuse_unfit

TENSOR_CALL = "run_with_ort_values of the C binding with the engine's tensors"


def _refuse_unfit_tensors(ends: Sequence[TensorSpec]) -> None:
    """Raise Unsupported for what the call with the engine's tensors lacks."""
    narrow = next(spec for spec in ends if spec.element)
    if not hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
        raise Unsupported(
            f"this ONNX Runtime takes no {narrow.element} ({narrow.name!r}) from Python",
            "use a later release",
        )
    other = next((spec for spec in ends if spec.owner), None)
    if other is not None:
        raise Unsupported(
            f"{other.owner!r} is a sequence, map or optional value, and {narrow.name!r} holds "
            f"{narrow.element}",
            "give a graph with one of these kinds alone",
        )


class PlainLane(Lane):
    """Inputs are held as the values that the engine takes; outputs are those of the last run."""

    run: Callable[[], object]

    def __init__(self, engine: ort.InferenceSession, request: Request) -> None:
        self._specs, self._states = request.model.inputs, request.model.states
        self._shapes = request.shapes
        self._names = [value.name for value in engine.get_outputs()]
        self._arrays: dict[str, np.ndarray] = {}
        self._feeds: dict[str, object] = {}
        self._tensors: dict[str, ort.OrtValue] = {}
        self._results: list[Sequence[object] | None] = [None]
        ends = (*request.model.inputs, *request.model.outputs)
        self._is_narrow = has_narrow(ends)
        if self._is_narrow:
            _refuse_unfit_tensors(ends)
        self.run, call_name = self._call(engine)
        self.call_path = f"{call_name}, nothing bound, outputs allocated by the engine in each run"

    def bind(self, inputs: Arrays) -> None:
        refuse_unfit(
            inputs, {s.name: (self._shapes[s.name], np.dtype(s.dtype)) for s in self._specs}
        )
        self._arrays = {name: array.copy() for name, array in inputs.items()}
        self._renew()

    def feed(self, inputs: Arrays) -> None:
        self._arrays |= {name: array.copy() for name, array in inputs.items()}
        self._renew()

    def outputs(self) -> dict[str, np.ndarray]:
        if self._is_narrow:
            values = self._results[0]
            return {} if values is None else output_arrays(self._names, values)
        arrays: dict[str, np.ndarray] = {}
        for name, value in zip(self._names, self._results[0] or (), strict=False):
            arrays |= arrays_of(name, value)
        return arrays

    def poison(self) -> None:
        self._results[0] = None

    def advance(self) -> None:
        outputs = self.outputs()
        self.feed({pair.input: outputs[pair.output] for pair in self._states})

    def close(self) -> None:
        self.run = closed
        self._feeds.clear()
        self._tensors.clear()
        self._arrays.clear()
        self._results[0] = None

    def _renew(self) -> None:
        """Fill the one dictionary that every run passes on."""
        self._feeds.clear()
        if self._is_narrow:
            self._tensors = input_values(self._specs, self._arrays)
            self._feeds.update({n: tensor._ortvalue for n, tensor in self._tensors.items()})
        else:
            self._feeds.update(values_of(self._specs, self._arrays))

    def _call(self, engine: ort.InferenceSession) -> tuple[Callable[[], object], str]:
        names, feeds, results = self._names, self._feeds, self._results
        options = ort.RunOptions()
        if self._is_narrow:
            call_tensors = engine._sess.run_with_ort_values

            def run_tensors() -> None:
                results[0] = call_tensors(feeds, names, options)

            return run_tensors, TENSOR_CALL
        direct = getattr(getattr(engine, "_sess", None), "run", None)
        call = direct or engine.run

        def run() -> None:
            results[0] = call(names, feeds, options)

        how = "run of the C binding" if direct else "run"
        return run, f"{how} with Python values"


DIRECT_CALL = "run_with_iobinding of the C binding"
PUBLIC_CALL = "run_with_iobinding"

_INTEGERS = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_DTYPES = {f"tensor({name})": name for name in ("bool", "float16", *_INTEGERS)}
_DTYPES |= {"tensor(float)": "float32", "tensor(double)": "float64"}


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
