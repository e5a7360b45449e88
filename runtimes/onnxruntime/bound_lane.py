"""A lane whose inputs and outputs are bound once to host buffers of ours, by either interface.

The timed call so allocates nothing, but for outputs whose shape is not known beforehand: these
the engine allocates in the first run after a binding and writes again in the following ones. What
is bound anew, between two runs, is allocated anew.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from runtimes.base import Arrays
from runtimes.calls import Copy
from runtimes.options import Request
from runtimes.session.host import HostLane, aligned_empty, input_buffers

End = tuple[str, np.dtype, tuple[int, ...] | None]
"""An output's name, its type and, where it is known, its shape."""


class BoundLane(HostLane):
    """Whoever derives from it has made a binding before this is initialised, and sets `run`."""

    def __init__(self, ends: Iterable[End], request: Request) -> None:
        states = request.model.states
        inputs = input_buffers(request)
        state_shapes = {pair.output: inputs[pair.input].shape for pair in states}
        outputs: dict[str, np.ndarray] = {}
        self._names: list[str] = []
        has_wrong_shape = False
        for name, array in inputs.items():
            self._bind_input(name, array)
        for name, dtype, engine_shape in ends:
            shape = state_shapes.get(name, engine_shape)
            if shape is not None and name not in state_shapes and _is_other(shape, name, request):
                shape, has_wrong_shape = None, True
            if name in inputs:
                # The engine returns the input itself, and leaves memory that is bound as it is.
                outputs[name] = inputs[name]
                self._allocate(name)
            elif shape is None:
                self._allocate(name)
            else:
                outputs[name] = aligned_empty(shape, dtype)
                self._bind_output(name, outputs[name])
            self._names.append(name)
        super().__init__(inputs, outputs, states)
        self._engine_outputs = [name for name in self._names if name not in outputs]
        # What draws at random may give another size in each run, and what the engine has allocated
        # once it compares with the shape that it declares.
        model = request.model
        is_renewed = bool(model.uncompared or model.random_outputs or has_wrong_shape)
        self._renews = is_renewed and bool(self._engine_outputs)

    def bind(self, inputs: Arrays) -> None:
        super().bind(inputs)
        self._renew()

    def feed(self, inputs: Arrays) -> None:
        super().feed(inputs)
        self._renew()

    def feeding(self, inputs: Arrays) -> tuple[Copy, ...] | None:
        return None if self._engine_outputs else super().feeding(inputs)

    def advance(self) -> None:
        super().advance()
        self._renew()

    def advancing(self) -> tuple[Copy, ...] | None:
        return None if self._engine_outputs else super().advancing()

    def outputs(self) -> dict[str, np.ndarray]:
        arrays = super().outputs()
        if self._engine_outputs:
            values = dict(zip(self._names, self._values(), strict=True))
            arrays |= {name: values[name] for name in self._engine_outputs}
        return arrays

    def poison(self) -> None:
        super().poison()
        self._renew()

    def close(self) -> None:
        super().close()
        self._engine_outputs = []

    def _timed(self, run: Callable[[], object], call: str) -> None:
        """Let a run be this call; its path says what the engine does in it besides."""
        self.run, self.call_path = run, call
        if self._renews:
            self.run = partial(self._run_renewed, run)
        if self._engine_outputs:
            when = "in each run" if self._renews else "once, and again for other inputs"
            self.call_path = f"{call}, outputs allocated by the engine {when}"

    def _run_renewed(self, run: Callable[[], object]) -> None:
        self._renew()
        run()

    def _renew(self) -> None:
        """Forget what the engine has allocated: other inputs may ask for another size."""
        for name in self._engine_outputs:
            self._allocate(name)

    @abstractmethod
    def _bind_input(self, name: str, array: np.ndarray) -> None:
        """Have every run read this memory."""

    @abstractmethod
    def _bind_output(self, name: str, array: np.ndarray) -> None:
        """Have every run write this memory."""

    @abstractmethod
    def _allocate(self, name: str) -> None:
        """Have the engine allocate this output in the next run, and write it from then on."""

    @abstractmethod
    def _values(self) -> list[np.ndarray]:
        """All outputs of the last run, in the order in which they were bound."""


def _is_other(engine_shape: tuple[int, ...], name: str, request: Request) -> bool:
    """Whether an output is known to have another shape than the engine declares.

    ONNX Runtime infers some shapes wrongly, and reports an unknown shape as that of a scalar.
    """
    spec = next((spec for spec in request.model.outputs if spec.name == name), None)
    if spec is None:
        return False
    plan_shape = [request.axes.get(size) if isinstance(size, str) else size for size in spec.shape]
    return len(plan_shape) != len(engine_shape) or any(
        size not in (None, engine_size)
        for size, engine_size in zip(plan_shape, engine_shape, strict=True)
    )
