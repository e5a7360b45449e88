"""One session of ONNX Runtime's C interface over host buffers of ours, ready to be timed."""

from __future__ import annotations

import numpy as np

from runtimes.calls.call import Call
from runtimes.ort.bound_lane import BoundLane
from runtimes.ort.element_types import no_numbers
from runtimes.ort.native_engine import Binding, End, Engine
from runtimes.request import Request


class NativeLane(BoundLane):
    """As `OrtLane`, with its run offered to the loop in C too.

    With `copies_inputs` each run begins with them, as a binding copies them once.
    """

    def __init__(self, engine: Engine, request: Request, copies_inputs: bool = False) -> None:
        binding = Binding(engine)
        self._binding: Binding | None = binding
        super().__init__(((end.name, _dtype(end), end.shape) for end in engine.outputs), request)
        run, called = binding.run, "RunWithBinding"
        calls: tuple[Call, ...] = (binding.call(),)
        if copies_inputs:
            run, calls = binding.run_copying, (*binding.copying(), *calls)
            called = "BindInput and RunWithBinding"
        self._timed(run, f"{called} of {engine.native.where}")
        self.calls = () if self._renews else calls

    def close(self) -> None:
        super().close()
        self._binding, self.calls = None, ()

    def _bind_input(self, name: str, array: np.ndarray) -> None:
        self._bound.bind_input(name, array)

    def _bind_output(self, name: str, array: np.ndarray) -> None:
        self._bound.bind_output(name, array)

    def _allocate(self, name: str) -> None:
        self._bound.allocate_output(name)

    def _values(self) -> list[np.ndarray]:
        return self._bound.values()

    @property
    def _bound(self) -> Binding:
        assert self._binding is not None, "a closed lane has nothing that is allocated"
        return self._binding


def _dtype(end: End) -> np.dtype:
    if end.dtype is None or end.dtype in ("string", "bfloat16"):
        raise no_numbers(end.name, f"tensor({end.dtype})" if end.dtype else "sequence or map")
    return np.dtype(end.dtype)
