"""One ONNX Runtime session over host buffers of ours, ready to be timed.

Inputs and outputs are bound once to numpy memory, so the timed call allocates nothing; it
is the engine's C binding itself where that private entry is there, else the public method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnxruntime as ort

from runtimes.execution import Execution, OpTime
from runtimes.faults import RuntimeFault, Unsupported
from runtimes.ort.faults import run_fault
from runtimes.ort.operators import Recording
from runtimes.request import Request
from runtimes.session.host import HostSession, aligned_empty, input_buffers

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


class OrtSession(HostSession):
    """Owns `session`; an output whose shape is not known beforehand the engine allocates.

    `profile` is what a session that was opened with profiling writes; it is removed with the
    session.
    """

    def __init__(
        self,
        session: ort.InferenceSession,
        request: Request,
        execution: Execution,
        profile: Recording | None = None,
    ) -> None:
        inputs = input_buffers(request)
        states = {pair.output: inputs[pair.input].shape for pair in request.model.states}
        outputs: dict[str, np.ndarray] = {}
        binding = session.io_binding()
        for name, array in inputs.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        for value in session.get_outputs():
            dtype, shape = tensor_type(value), states.get(value.name, tuple(value.shape))
            if all(isinstance(size, int) for size in shape):
                outputs[value.name] = aligned_empty(shape, dtype)
                owned = ort.OrtValue.ortvalue_from_numpy(outputs[value.name])
                binding.bind_ortvalue_output(value.name, owned)
            else:
                binding.bind_output(value.name)
        super().__init__(inputs, outputs, request.model.states)
        self._binding: Any = binding
        self._session: ort.InferenceSession | None = session
        self._profile = profile
        self._names = [value.name for value in session.get_outputs()]
        self._allocated = [name for name in self._names if name not in outputs]
        self.run, call_path = timed_call(session, binding)
        if self._allocated:
            call_path += ", outputs allocated by the engine"
        self.execution = replace(execution, call_path=call_path)

    def outputs(self, slot: int = 0) -> dict[str, np.ndarray]:
        arrays = super().outputs(slot)
        if self._allocated:
            values = dict(zip(self._names, self._binding.get_outputs(), strict=True))
            for name in self._allocated:
                arrays[name] = values[name].numpy() if values[name].has_value() else np.empty(0)
        return arrays

    def poison(self, slot: int = 0) -> None:
        super().poison(slot)
        for name in self._allocated:
            self._binding.bind_output(name)

    def profile_ops(self, runs: int) -> tuple[OpTime, ...]:
        if self._profile is None or self._session is None:
            return super().profile_ops(runs)
        return self._profile.op_times(self._session, self.run, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        super().close()
        self._binding = self._session = None
        self._allocated = []
        if self._profile is not None:
            self._profile.close()


def tensor_type(value: Any) -> np.dtype:
    if value.type not in _DTYPES:
        raise Unsupported(
            f"output {value.name!r} is a {value.type}, which is no array of numbers",
            "use a graph whose outputs are numeric tensors",
        )
    return np.dtype(_DTYPES[value.type])


def timed_call(session: Any, binding: Any) -> tuple[Callable[[], object], str]:
    """The call with the least Python in it, and its name.

    The public method costs about 1 us more than the engine's own binding that it wraps.
    """
    options = ort.RunOptions()
    direct = getattr(getattr(session, "_sess", None), "run_with_iobinding", None)
    inner = getattr(binding, "_iobinding", None)
    if direct is None or inner is None:
        return partial(session.run_with_iobinding, binding, options), PUBLIC_CALL
    return partial(direct, inner, options), DIRECT_CALL
