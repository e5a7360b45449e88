"""Lanes of ONNX Runtime on a device with memory of its own, with outputs of fixed shapes or of
shapes known after a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as binding_types

from exporters.types import StatePair
from runtimes.base import Arrays
from runtimes.cuda.marks import mark_in_python
from runtimes.cuda.options import locks_host_memory
from runtimes.errors import Unsupported
from runtimes.execution import Spans
from runtimes.onnxruntime.session import tensor_type, timed_call
from runtimes.options import Request
from runtimes.session.host import HostLane, NewArray, aligned_zeros, input_buffers

HOST_CALL = "run_with_ortvaluevector of the C binding"
PUBLIC_HOST_CALL = "run_with_ortvaluevector"


class DeviceMemory(Protocol):
    """What the session needs of a GPU beyond ONNX Runtime."""

    kind: str
    index: int

    def make_current(self) -> None:
        """Let the calling thread use the device."""

    def pinned(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A zeroed array in memory of the host that is page-locked until `close`."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy between two addresses of the device, complete when it returns."""

    def close(self) -> None: ...


class OrtGpuLane(HostLane):
    """Owns `memory`, of a GPU."""

    def __init__(
        self,
        engine: ort.InferenceSession,
        request: Request,
        memory: DeviceMemory | None,
        has_queue: bool = False,
    ) -> None:
        new_array = host_arrays(request, memory)
        inputs = input_buffers(request, new_array)
        outputs = _output_buffers(engine, request.model.states, inputs, new_array)
        super().__init__(inputs, outputs, request.model.states)
        self._memory = memory
        # A graph is recorded by the first run of each thread, for that thread, and in the mode that
        # any other thread's allocation ends: onnxruntime/core/providers/cuda/cuda_graph.cc.
        self.first_run_alone = bool(request.options.get("cuda_graph"))
        self._device_inputs: dict[str, ort.OrtValue] = {}
        self._device_outputs: dict[str, ort.OrtValue] = {}
        self._host_inputs: dict[str, ort.OrtValue] = {}
        self._binding: ort.IOBinding | None = None
        if memory is not None and request.options["boundary"] == "device":
            host_input_names = _taken_on_host(engine.get_inputs(), engine.get_input_memory_infos())
            host_output_names = _taken_on_host(
                engine.get_outputs(), engine.get_output_memory_infos()
            )
            binding = self._binding = engine.io_binding()
            for name, array in inputs.items():
                place = self._host_inputs if name in host_input_names else self._device_inputs
                place[name] = (
                    _on_host(array) if name in host_input_names else _on_device(array, memory)
                )
                binding.bind_ortvalue_input(name, place[name])
            for name, array in outputs.items():
                if name in self._device_inputs:  # the engine returns the input itself
                    binding.bind_output(name, memory.kind, memory.index)
                    self._device_outputs[name] = self._device_inputs[name]
                elif name in host_output_names or name in host_input_names:
                    binding.bind_ortvalue_output(name, _on_host(array))
                else:
                    self._device_outputs[name] = _on_device(array, memory)
                    binding.bind_ortvalue_output(name, self._device_outputs[name])
            self.run, self.call_path = timed_call(engine, binding)
            if has_queue:
                self.enqueue, _ = timed_call(engine, binding, _without_waiting())
                self.synchronize = binding.synchronize_outputs
        else:
            self.run, self.call_path = _host_call(engine, inputs, outputs)

    def enter(self) -> None:
        if self._memory is not None:
            self._memory.make_current()

    def bind(self, inputs: Arrays) -> None:
        super().bind(inputs)
        self._renew(inputs)

    def feed(self, inputs: Arrays) -> None:
        super().feed(inputs)
        self._renew(inputs)

    def outputs(self) -> dict[str, np.ndarray]:
        on_device = {n: value.numpy().copy() for n, value in self._device_outputs.items()}
        on_host = {n: a.copy() for n, a in self.output_buffers.items() if n not in on_device}
        return {name: (on_device | on_host)[name] for name in self.output_buffers}

    def poison(self) -> None:
        for name, value in self._device_outputs.items():
            np.copyto(self.output_buffers[name], value.numpy())
        super().poison()
        for name, value in self._device_outputs.items():
            value.update_inplace(self.output_buffers[name])

    def advance(self) -> None:
        if self._binding is None:
            super().advance()
            return
        assert self._memory is not None
        if any(map(self._is_input, (pair.output for pair in self._states))):
            output_arrays = self.outputs()  # all of them, before any state is overwritten
            self.feed({pair.input: output_arrays[pair.output] for pair in self._states})
            return
        for pair in self._states:
            if pair.input in self._host_inputs or pair.output not in self._device_outputs:
                following = self.outputs()[pair.output]
                self.feed({pair.input: following})
                continue
            target, source = self._device_inputs[pair.input], self._device_outputs[pair.output]
            size = self.input_buffers[pair.input].nbytes
            self._memory.copy(target.data_ptr(), source.data_ptr(), size)

    def spans(self, stream: int, runs: int) -> Spans | None:
        """`runs` more runs between events of the stream that the engine computes on; None where
        a run can't be queued without a wait for its end."""
        if self.enqueue is None:
            return None
        return mark_in_python(stream, [self.enqueue], runs).spans(has_copies=False)

    def close(self) -> None:
        super().close()
        self._device_inputs, self._device_outputs, self._host_inputs = {}, {}, {}
        self._binding = None
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _renew(self, inputs: Arrays) -> None:
        """Have the next run read these: a value that lies elsewhere is copied when it is bound."""
        for name in self._device_inputs.keys() & inputs.keys():
            self._device_inputs[name].update_inplace(self.input_buffers[name])
        for name in self._host_inputs.keys() & inputs.keys():
            assert self._binding is not None
            self._binding.bind_ortvalue_input(name, self._host_inputs[name])


def host_arrays(request: Request, memory: DeviceMemory | None) -> NewArray:
    """What makes the arrays that a run copies from and to."""
    if memory is not None and locks_host_memory(request.options):
        return memory.pinned
    return aligned_zeros


def _taken_on_host(
    ends: Sequence[ort.NodeArg], places: Sequence[ort.OrtMemoryInfo]
) -> frozenset[str]:
    """The names of inputs or outputs that the session has on the host, as shapes and counts."""
    return frozenset(
        end.name
        for end, place in zip(ends, places, strict=True)
        if place.name == "Cpu" or place.name.endswith("Pinned")
    )


def _output_buffers(
    engine: ort.InferenceSession,
    states: Iterable[StatePair],
    inputs: Mapping[str, np.ndarray],
    new_array: NewArray,
) -> dict[str, np.ndarray]:
    state_shapes = {pair.output: inputs[pair.input].shape for pair in states}
    buffers = {}
    for value in engine.get_outputs():
        if value.name in inputs:  # the engine returns the input itself
            buffers[value.name] = inputs[value.name]
            continue
        shape = state_shapes.get(value.name, tuple(value.shape))
        if not all(isinstance(size, int) for size in shape):
            raise Unsupported(
                f"the shape of output {value.name!r} is known only after a run",
                "use a graph whose outputs have fixed shapes, or ort-cpu",
            )
        buffers[value.name] = new_array(shape, tensor_type(value))
    return buffers


def _without_waiting() -> ort.RunOptions:
    """A run so returns when its kernels are queued, if all that it reads and gives is there."""
    options = ort.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    return options


def _on_host(array: np.ndarray) -> ort.OrtValue:
    """A value over the array's own memory."""
    return ort.OrtValue.ortvalue_from_numpy(array)


def _on_device(array: np.ndarray, memory: DeviceMemory) -> ort.OrtValue:
    return ort.OrtValue.ortvalue_from_shape_and_type(
        list(array.shape), array.dtype.type, memory.kind, memory.index
    )


def _host_call(
    engine: ort.InferenceSession,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
) -> tuple[Callable[[], object], str]:
    """A run from host memory into host memory, both copies within it, and its name."""
    feeds, fetches = binding_types.OrtValueVector(), binding_types.OrtValueVector()
    for vector, arrays in ((feeds, inputs), (fetches, outputs)):
        for array in arrays.values():
            vector.push_back(_on_host(array)._ortvalue)
    host = binding_types.OrtDevice(
        binding_types.OrtDevice.cpu(), binding_types.OrtDevice.default_memory(), 0
    )
    direct = getattr(getattr(engine, "_sess", None), "run_with_ortvaluevector", None)
    call = direct or engine.run_with_ortvaluevector
    places = [host] * len(outputs)
    run = partial(call, ort.RunOptions(), list(inputs), feeds, list(outputs), fetches, places)
    return run, HOST_CALL if direct else PUBLIC_HOST_CALL


def lane_on(
    engine: ort.InferenceSession,
    request: Request,
    memory: DeviceMemory | None,
    has_queue: bool = False,
) -> OrtGpuLane | AllocatingLane:
    """The lane of a session at the boundary that the case asks for; it owns `memory`.

    With `has_queue` the provider can be told not to wait for a run. Unsupported for an output at
    the device's boundary whose shape is not known beforehand.
    """
    states = {pair.output for pair in request.model.states}
    open_ends = [
        value.name
        for value in engine.get_outputs()
        if value.name not in states and not all(isinstance(size, int) for size in value.shape)
    ]
    if not open_ends:
        return OrtGpuLane(engine, request, memory, has_queue)
    if memory is not None and request.options["boundary"] == "device":
        raise Unsupported(
            f"the shape of output {open_ends[0]!r} is known only after a run, so that nothing can "
            "be laid out for it on the device",
            "set boundary=host",
        )
    return AllocatingLane(engine, request, memory)


class AllocatingLane(HostLane):
    """At the host's boundary; the engine allocates all outputs in each run."""

    def __init__(
        self, engine: ort.InferenceSession, request: Request, memory: DeviceMemory | None
    ) -> None:
        inputs = input_buffers(request, host_arrays(request, memory))
        super().__init__(inputs, {}, request.model.states)
        self._memory = memory
        self._names = [value.name for value in engine.get_outputs()]
        for value in engine.get_outputs():
            tensor_type(value)  # asked so that what is no plain array is refused
        self._output_values: list[binding_types.OrtValueVector | None] = [None]
        self.run, call_name = self._call(engine, inputs)
        self.call_path = f"{call_name}, outputs allocated by the engine"

    def enter(self) -> None:
        if self._memory is not None:
            self._memory.make_current()

    def outputs(self) -> dict[str, np.ndarray]:
        values = self._output_values[0]
        if values is None:
            return {}
        return {
            name: np.array(value.numpy()) for name, value in zip(self._names, values, strict=True)
        }

    def poison(self) -> None:
        self._output_values[0] = None

    def advance(self) -> None:
        outputs = self.outputs()
        for pair in self._states:
            np.copyto(self.input_buffers[pair.input], outputs[pair.output])

    def close(self) -> None:
        super().close()
        self._output_values[0] = None
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _call(
        self, engine: ort.InferenceSession, inputs: Mapping[str, np.ndarray]
    ) -> tuple[Callable[[], object], str]:
        """A run into values of its own, and its name."""
        feeds = binding_types.OrtValueVector()
        for array in inputs.values():
            feeds.push_back(ort.OrtValue.ortvalue_from_numpy(array)._ortvalue)
        host = binding_types.OrtDevice(
            binding_types.OrtDevice.cpu(), binding_types.OrtDevice.default_memory(), 0
        )
        direct = getattr(getattr(engine, "_sess", None), "run_with_ortvaluevector", None)
        call = direct or engine.run_with_ortvaluevector
        options, input_values, output_values = ort.RunOptions(), list(inputs), self._output_values
        names, places, vector = self._names, [host] * len(self._names), binding_types.OrtValueVector

        def run() -> None:
            values = vector()
            call(options, input_values, feeds, names, values, places)
            output_values[0] = values

        return run, HOST_CALL if direct else PUBLIC_HOST_CALL
