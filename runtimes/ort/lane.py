"""One ONNX Runtime session over host buffers of ours, ready to be timed.

Inputs and outputs are bound once to numpy memory, so the timed call allocates nothing; it
is the engine's C binding itself where that private entry is there, else the public method.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import onnxruntime as ort

from runtimes.base import Arrays
from runtimes.ort.element_types import no_numbers
from runtimes.request import Request
from runtimes.session.host import HostLane, aligned_empty, input_buffers

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


class OrtLane(HostLane):
    """An output whose shape is not known beforehand the engine allocates in each run."""

    def __init__(self, engine: ort.InferenceSession, request: Request) -> None:
        states = request.model.states
        inputs = input_buffers(request)
        state_shapes = {pair.output: inputs[pair.input].shape for pair in states}
        outputs: dict[str, np.ndarray] = {}
        binding = engine.io_binding()
        for name, array in inputs.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        for value in engine.get_outputs():
            dtype, shape = tensor_type(value), state_shapes.get(value.name, tuple(value.shape))
            if all(isinstance(size, int) for size in shape):
                outputs[value.name] = aligned_empty(shape, dtype)
                owned = ort.OrtValue.ortvalue_from_numpy(outputs[value.name])
                binding.bind_ortvalue_output(value.name, owned)
            else:
                binding.bind_output(value.name)
        super().__init__(inputs, outputs, states)
        self._binding = binding
        self._names = [value.name for value in engine.get_outputs()]
        self._allocated = [name for name in self._names if name not in outputs]
        self.run, self.call_path = timed_call(engine, binding)
        if self._allocated:
            self.call_path += ", outputs allocated by the engine"

    def bind(self, inputs: Arrays) -> None:
        super().bind(inputs)
        self._renew()

    def feed(self, inputs: Arrays) -> None:
        super().feed(inputs)
        self._renew()

    def outputs(self) -> dict[str, np.ndarray]:
        arrays = super().outputs()
        if self._allocated:
            values = dict(zip(self._names, self._binding.get_outputs(), strict=True))
            for name in self._allocated:
                arrays[name] = values[name].numpy() if values[name].has_value() else np.empty(0)
        return arrays

    def poison(self) -> None:
        super().poison()
        self._renew()

    def close(self) -> None:
        super().close()
        self._binding = None
        self._allocated = []

    def _renew(self) -> None:
        """Forget what the engine has allocated: other inputs may ask for another size."""
        for name in self._allocated:
            self._binding.bind_output(name)


def tensor_type(value: ort.NodeArg) -> np.dtype:
    """The numpy dtype of an output; Unsupported for what is no plain array of numbers."""
    if value.type not in _DTYPES:
        raise no_numbers(value.name, value.type)
    return np.dtype(_DTYPES[value.type])


def timed_call(
    engine: ort.InferenceSession, binding: ort.IOBinding
) -> tuple[Callable[[], object], str]:
    """The call with the least Python in it, and its name.

    The public method costs about 1 us more than the engine's own binding that it wraps.
    """
    options = ort.RunOptions()
    direct = getattr(getattr(engine, "_sess", None), "run_with_iobinding", None)
    inner = getattr(binding, "_iobinding", None)
    if direct is None or inner is None:
        return partial(engine.run_with_iobinding, binding, options), PUBLIC_CALL
    return partial(direct, inner, options), DIRECT_CALL
