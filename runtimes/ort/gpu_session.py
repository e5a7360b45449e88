"""One ONNX Runtime session on a GPU, ready to be timed at the host's or the device's boundary.

An IOBinding copies a host input to the device when it is bound, not when it runs: timed so,
the copy in would be free. At the host's boundary the engine is therefore given host values
in each run and copies both ways within it; at the device's boundary all is bound there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as binding_types

from exporters.types import ExportedModel
from runtimes.base import Arrays
from runtimes.execution import Execution, OpTime
from runtimes.faults import RuntimeFault, Unsupported
from runtimes.ort.faults import run_fault
from runtimes.ort.operators import Recording
from runtimes.ort.session import tensor_type, timed_call
from runtimes.request import Request
from runtimes.session.host import HostSession, aligned_empty, input_buffers

HOST_CALL = "run_with_ortvaluevector of the C binding"
PUBLIC_HOST_CALL = "run_with_ortvaluevector"


class DeviceMemory(Protocol):
    """What the session needs of a GPU beyond ONNX Runtime."""

    kind: str
    index: int

    def make_current(self) -> None:
        """Let the calling thread use the device."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy between two addresses of the device, complete when it returns."""

    def close(self) -> None: ...


class OrtGpuSession(HostSession):
    """Owns `session` and `memory`; at the device's boundary the host arrays only stage.

    `profile` is what a session that was opened with profiling writes; it is removed with the
    session.
    """

    def __init__(
        self,
        session: ort.InferenceSession,
        request: Request,
        execution: Execution,
        memory: DeviceMemory,
        profile: Recording | None = None,
    ) -> None:
        inputs = input_buffers(request)
        outputs = _output_buffers(session, request.model, inputs)
        super().__init__(inputs, outputs, request.model.states)
        self._memory: DeviceMemory | None = memory
        self._session: ort.InferenceSession | None = session
        self._profile = profile
        self._device_inputs: dict[str, Any] = {}
        self._device_outputs: dict[str, Any] = {}
        if execution.boundary == "device":
            self._device_inputs = {n: _on_device(a, memory) for n, a in inputs.items()}
            self._device_outputs = {n: _on_device(a, memory) for n, a in outputs.items()}
            binding = session.io_binding()
            for name, value in self._device_inputs.items():
                binding.bind_ortvalue_input(name, value)
            for name, value in self._device_outputs.items():
                binding.bind_ortvalue_output(name, value)
            self.run, call_path = timed_call(session, binding)
        else:
            self.run, call_path = _host_call(session, inputs, outputs)
        self.execution = replace(execution, call_path=call_path)

    def bind(self, inputs: Arrays, slot: int = 0) -> None:
        super().bind(inputs, slot)
        for name, value in self._device_inputs.items():
            value.update_inplace(self._inputs[name])

    def outputs(self, slot: int = 0) -> dict[str, np.ndarray]:
        if not self._device_outputs:
            return super().outputs(slot)
        self._only_slot(slot)
        return {name: value.numpy().copy() for name, value in self._device_outputs.items()}

    def poison(self, slot: int = 0) -> None:
        for name, value in self._device_outputs.items():
            np.copyto(self._outputs[name], value.numpy())
        super().poison(slot)
        for name, value in self._device_outputs.items():
            value.update_inplace(self._outputs[name])

    def advance_state(self, slot: int = 0) -> None:
        if not self._device_inputs:
            super().advance_state(slot)
            return
        self._only_slot(slot)
        assert self._memory is not None
        for pair in self._states:
            target, source = self._device_inputs[pair.input], self._device_outputs[pair.output]
            size = self._inputs[pair.input].nbytes
            self._memory.copy(target.data_ptr(), source.data_ptr(), size)

    def enter(self, slot: int = 0) -> None:
        self._only_slot(slot)
        if self._memory is not None:
            self._memory.make_current()

    def profile_ops(self, runs: int) -> tuple[OpTime, ...]:
        if self._profile is None or self._session is None:
            return super().profile_ops(runs)
        return self._profile.op_times(self._session, self.run, runs)

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        super().close()
        self._session = None
        self._device_inputs, self._device_outputs = {}, {}
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        if self._profile is not None:
            self._profile.close()


def _output_buffers(
    session: Any, model: ExportedModel, inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    states = {pair.output: inputs[pair.input].shape for pair in model.states}
    buffers = {}
    for value in session.get_outputs():
        shape = states.get(value.name, tuple(value.shape))
        if not all(isinstance(size, int) for size in shape):
            raise Unsupported(
                f"the shape of output {value.name!r} is known only after a run",
                "use a graph whose outputs have fixed shapes, or ort-cpu",
            )
        buffers[value.name] = aligned_empty(shape, tensor_type(value))
    return buffers


def _on_device(array: np.ndarray, memory: DeviceMemory) -> Any:
    return ort.OrtValue.ortvalue_from_shape_and_type(
        list(array.shape), array.dtype.type, memory.kind, memory.index
    )


def _host_call(
    session: ort.InferenceSession,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
) -> tuple[Callable[[], object], str]:
    """A run from host memory into host memory, both copies within it, and its name."""
    feeds, fetches = binding_types.OrtValueVector(), binding_types.OrtValueVector()
    for vector, arrays in ((feeds, inputs), (fetches, outputs)):
        for array in arrays.values():
            vector.push_back(ort.OrtValue.ortvalue_from_numpy(array)._ortvalue)
    host = binding_types.OrtDevice(
        binding_types.OrtDevice.cpu(), binding_types.OrtDevice.default_memory(), 0
    )
    direct = getattr(getattr(session, "_sess", None), "run_with_ortvaluevector", None)
    call = direct or session.run_with_ortvaluevector
    places = [host] * len(outputs)
    run = partial(call, ort.RunOptions(), list(inputs), feeds, list(outputs), fetches, places)
    return run, HOST_CALL if direct else PUBLIC_HOST_CALL
