"""One ONNX Runtime session called with plain Python values: texts, sequences, maps and options.

No buffer can be bound for these. So the timed call is the engine's `run`, as a program in Python
calls it: it takes arrays, lists and dictionaries, and makes those that it returns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnxruntime as ort

from exporters.structured import arrays_of, values_of
from runtimes.base import Arrays, Lane
from runtimes.options import Request
from runtimes.session.host import closed, refuse_unfit

DIRECT_CALL = "run of the C binding with Python values"
PUBLIC_CALL = "run with Python values"


class PlainLane(Lane):
    """Inputs are held as the values that the engine takes; outputs are those of the last run."""

    run: Callable[[], object]

    def __init__(self, engine: ort.InferenceSession, request: Request) -> None:
        self._specs, self._states = request.model.inputs, request.model.states
        self._shapes = request.shapes
        self._names = [value.name for value in engine.get_outputs()]
        self._arrays: dict[str, np.ndarray] = {}
        self._feeds: dict[str, object] = {}
        self._returned: list[list[object] | None] = [None]
        self.run, called = self._call(engine)
        self.call_path = f"{called}, nothing bound, outputs allocated by the engine in each run"

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
        arrays: dict[str, np.ndarray] = {}
        for name, value in zip(self._names, self._returned[0] or (), strict=False):
            arrays |= arrays_of(name, value)
        return arrays

    def poison(self) -> None:
        self._returned[0] = None

    def advance(self) -> None:
        outputs = self.outputs()
        self.feed({pair.input: outputs[pair.output] for pair in self._states})

    def close(self) -> None:
        self.run = closed
        self._feeds.clear()
        self._arrays.clear()
        self._returned[0] = None

    def _renew(self) -> None:
        """Fill the one dictionary that every run passes on."""
        self._feeds.clear()
        self._feeds.update(values_of(self._specs, self._arrays))

    def _call(self, engine: ort.InferenceSession) -> tuple[Callable[[], object], str]:
        names, feeds, returned = self._names, self._feeds, self._returned
        direct = getattr(getattr(engine, "_sess", None), "run", None)
        call, options = direct or engine.run, ort.RunOptions()

        def run() -> None:
            returned[0] = call(names, feeds, options)

        return run, DIRECT_CALL if direct else PUBLIC_CALL
