"""One ONNX Runtime session on a device whose outputs have shapes that only a run tells.

What a detector finds, or where an array is not zero: the engine allocates such outputs itself, in
each run, and copies them to the host within it. On the device nobody could lay them out beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as binding_types

from runtimes.faults import Unsupported
from runtimes.ort.gpu_lane import (
    HOST_CALL,
    PUBLIC_HOST_CALL,
    DeviceMemory,
    OrtGpuLane,
    host_arrays,
)
from runtimes.ort.lane import tensor_type
from runtimes.request import Request
from runtimes.session.host import HostLane, input_buffers


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
        self._given: list[binding_types.OrtValueVector | None] = [None]
        self.run, called = self._call(engine, inputs)
        self.call_path = f"{called}, outputs allocated by the engine"

    def enter(self) -> None:
        if self._memory is not None:
            self._memory.make_current()

    def outputs(self) -> dict[str, np.ndarray]:
        given = self._given[0]
        if given is None:
            return {}
        return {
            name: np.array(value.numpy()) for name, value in zip(self._names, given, strict=True)
        }

    def poison(self) -> None:
        self._given[0] = None

    def advance(self) -> None:
        outputs = self.outputs()
        for pair in self._states:
            np.copyto(self.input_buffers[pair.input], outputs[pair.output])

    def close(self) -> None:
        super().close()
        self._given[0] = None
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
        options, taken, given = ort.RunOptions(), list(inputs), self._given
        names, places, vector = self._names, [host] * len(self._names), binding_types.OrtValueVector

        def run() -> None:
            values = vector()
            call(options, taken, feeds, names, values, places)
            given[0] = values

        return run, HOST_CALL if direct else PUBLIC_HOST_CALL
