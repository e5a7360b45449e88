"""One session of ONNX Runtime's C interface over host buffers of ours, ready to be timed."""

from __future__ import annotations

import numpy as np

from runtimes.base import Arrays
from runtimes.calls.call import Copy
from runtimes.ort.element_types import no_numbers
from runtimes.ort.native_engine import Binding, End, Engine
from runtimes.request import Request
from runtimes.session.host import HostLane, aligned_empty, input_buffers


class NativeLane(HostLane):
    """As `OrtLane`: an output whose shape is not known beforehand the engine allocates."""

    def __init__(self, engine: Engine, request: Request) -> None:
        states = request.model.states
        inputs = input_buffers(request)
        state_shapes = {pair.output: inputs[pair.input].shape for pair in states}
        outputs: dict[str, np.ndarray] = {}
        binding = Binding(engine)
        for name, array in inputs.items():
            binding.bind_input(name, array)
        for end in engine.outputs:
            dtype, shape = _dtype(end), state_shapes.get(end.name, end.shape)
            if shape is None:
                binding.allocate_output(end.name)
            else:
                outputs[end.name] = aligned_empty(shape, dtype)
                binding.bind_output(end.name, outputs[end.name])
        super().__init__(inputs, outputs, states)
        self._binding: Binding | None = binding
        self._names = [end.name for end in engine.outputs]
        self._allocated = [name for name in self._names if name not in outputs]
        self.run, self.calls = binding.timed(), (binding.call(),)
        self.call_path = f"RunWithBinding of {engine.native.where}"
        if self._allocated:
            self.call_path += ", outputs allocated by the engine"

    def bind(self, inputs: Arrays) -> None:
        super().bind(inputs)
        self._renew()

    def feed(self, inputs: Arrays) -> None:
        super().feed(inputs)
        self._renew()

    def feeding(self, inputs: Arrays) -> tuple[Copy, ...] | None:
        return None if self._allocated else super().feeding(inputs)

    def outputs(self) -> dict[str, np.ndarray]:
        arrays = super().outputs()
        if self._binding is not None and self._allocated:
            values = dict(zip(self._names, self._binding.values(), strict=True))
            arrays |= {name: values[name] for name in self._allocated}
        return arrays

    def poison(self) -> None:
        super().poison()
        self._renew()

    def close(self) -> None:
        super().close()
        self._binding, self.calls, self._allocated = None, (), []

    def _renew(self) -> None:
        """Forget what the engine has allocated: other inputs may ask for another size."""
        for name in self._allocated:
            if self._binding is not None:
                self._binding.allocate_output(name)


def _dtype(end: End) -> np.dtype:
    if end.dtype is None or end.dtype in ("string", "bfloat16"):
        raise no_numbers(end.name, f"tensor({end.dtype})" if end.dtype else "sequence or map")
    return np.dtype(end.dtype)
