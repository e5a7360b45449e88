"""One ONNX Runtime session called with Python values: texts, sequences, maps, optional values, and
tensors of types that numpy lacks.

Nothing is bound. The timed call is the engine's `run`, as a program in Python calls it: it takes
arrays, lists and dictionaries, and makes those that it returns. Where numpy lacks a type, the call
takes and returns the engine's own tensors, which are converted before and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnxruntime as ort

from exporters.engine_values import has_narrow, input_values, output_arrays
from exporters.structured import arrays_of, values_of
from exporters.types import TensorSpec
from runtimes.base import Arrays, Lane
from runtimes.errors import Unsupported
from runtimes.options import Request
from runtimes.session.host import closed, refuse_unfit

DIRECT_CALL = "run of the C binding with Python values"
PUBLIC_CALL = "run with Python values"
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

        return run, DIRECT_CALL if direct else PUBLIC_CALL
