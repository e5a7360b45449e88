"""One torch module on a GPU, its inputs in host memory and on the device.

At the host's boundary a run copies in, computes, copies out and waits for the stream; at the
device's it computes and waits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from exporters.calling import is_row
from runtimes.base import Arrays
from runtimes.calls.call import Call, Copy
from runtimes.cuda.options import locks_host_memory
from runtimes.execution import Spans
from runtimes.faults import OutOfMemory, Unsupported
from runtimes.memory_words import tells_of_no_memory
from runtimes.pyt.cuda_place import Part, Place, Recording
from runtimes.pyt.faults import plain
from runtimes.pyt.lane import Result, checked, feed_back, flat, row
from runtimes.pyt.layout import are_same_bytes, dimensions_in_memory, made_in_layout
from runtimes.pyt.process import shared_process
from runtimes.request import Request
from runtimes.session.call_option import takes_c
from runtimes.session.host import HostLane, tensor_dtype


class TorchCudaLane(HostLane):
    """The arrays are views of the host tensors, so what is bound is what the device copies.

    `prepare` comes before anything else is asked of it.
    """

    def __init__(self, request: Request, place: Place) -> None:
        model = request.model
        last = bool(request.options["channels_last"])
        self._host_tensor = place.pinned if locks_host_memory(request.options) else _pageable
        self._host_inputs = [
            _laid_out(self._host_tensor, request.shapes[spec.name], tensor_dtype(spec), last)
            for spec in model.inputs
        ]
        names = [spec.name for spec in model.inputs]
        arrays = {n: t.numpy() for n, t in zip(names, self._host_inputs, strict=True)}
        super().__init__(arrays, {}, model.states)
        self._place = place
        self._on_host = request.options["boundary"] == "host"
        self._output_names = [spec.name for spec in model.outputs]
        self._result: list[Result] = [None]
        self._host_outputs: list[torch.Tensor] = []
        self._compute: Part = _nothing
        self._flat: Callable[[Result], tuple[torch.Tensor, ...]] = flat
        self._recorded = False
        self._in_c = takes_c(str(request.options["call"]))
        self.device_inputs = tuple(tensor.to(place.device) for tensor in self._host_inputs)
        inputs = dict(zip(names, self.device_inputs, strict=True))
        self._feedback = [
            (inputs[pair.input], self._output_names.index(pair.output)) for pair in model.states
        ]

    def prepare(self, call: Callable[[], Result], recorded: bool) -> None:
        """Run `call`, which computes on the inputs, once, and make room for what it returned.

        With `recorded` a run replays it as one CUDA graph, and the loop in C can launch it.
        """
        result = self._result
        result[0] = call()
        self._place.synchronize()
        recording = self._record(call) if recorded else None
        if recording is not None:
            self._recorded = True
            self._compute, result[0] = recording.replay, recording.result
        else:

            def compute() -> None:
                result[0] = call()

            self._compute = compute
        # Copying out is within the clock, so the shorter way is taken where there is one.
        self._flat = row if is_row(result[0]) else flat
        tensors = checked(self._flat(result[0]), self._output_names)
        self._host_outputs = [self._host_tensor(tuple(t.shape), t.dtype) for t in tensors]
        for name, host in zip(self._output_names, self._host_outputs, strict=True):
            self.output_buffers[name] = host.numpy()
        if recording is not None and self._in_c:
            self.calls = self._as_calls(recording.launch)
        self.run = self._run_on_host if self._on_host else self._run_on_device
        self.enqueue = self._enqueue if self._on_host else self._compute
        self.synchronize = self._place.synchronize

    def enter(self) -> None:
        shared_process.enter_thread()
        self._place.make_current()

    def bind(self, inputs: Arrays) -> None:
        super().bind(inputs)
        self._place.make_current()
        self._copy_in()
        self._place.synchronize()

    def feed(self, inputs: Arrays) -> None:
        super().feed(inputs)
        if not self._on_host:
            pairs = zip(self.input_buffers, self.device_inputs, self._host_inputs, strict=True)
            for name, device, host in pairs:
                if name in inputs:
                    device.copy_(host, non_blocking=True)
            self._place.synchronize()

    def outputs(self) -> dict[str, np.ndarray]:
        if not self._on_host:
            if self._result[0] is None:
                return {}
            self._place.make_current()
            self._copy_out()
            self._place.synchronize()
        return super().outputs()

    def poison(self) -> None:
        super().poison()
        if self._recorded:
            # A recorded graph writes the same tensors in each replay: those are ours to spoil,
            # but for an input that the module returns as it is.
            self._place.make_current()
            kept = {tensor.data_ptr() for tensor in self.device_inputs}
            for tensor, host in zip(flat(self._result[0]), self._host_outputs, strict=True):
                if tensor.data_ptr() not in kept:
                    tensor.copy_(host)
            self._place.synchronize()
        elif not self._on_host:
            self._result[0] = None

    def advance(self) -> None:
        if self._on_host:
            super().advance()
            return
        feed_back(flat(self._result[0]), self._feedback)
        self._place.synchronize()

    def advancing(self) -> tuple[Copy, ...] | None:
        return super().advancing() if self._on_host else None

    def feeding(self, inputs: Arrays) -> tuple[Copy, ...] | None:
        return super().feeding(inputs) if self._on_host else None

    def spans(self, runs: int) -> Spans:
        """`runs` more runs, each part of them by the device's clock."""
        if not self._on_host:
            (device,) = self._place.times_ns([self._compute], runs)
            return Spans(device)
        parts = [self._copy_in, self._compute, self._copy_out]
        h2d, device, d2h = self._place.times_ns(parts, runs)
        return Spans(device, h2d, d2h)

    def close(self) -> None:
        super().close()
        self.calls = ()
        self._result, self._feedback = [None], []
        self._host_inputs, self._host_outputs, self.device_inputs = [], [], ()
        self._compute = _nothing

    def _as_calls(self, launch: Call) -> tuple[Call, ...]:
        """The run; empty where a copy of it is more than bytes in their order."""
        if not self._on_host:
            return launch, self._place.waiting()
        taken = zip(self.device_inputs, self._host_inputs, strict=True)
        given = zip(self._host_outputs, self._flat(self._result[0]), strict=True)
        pairs = [[*taken], [*given]]
        if not all(are_same_bytes(*pair) for both in pairs for pair in both):
            return ()
        before, after = ([self._place.copying(*pair) for pair in both] for both in pairs)
        return (*before, launch, *after, self._place.waiting())

    def _record(self, call: Callable[[], Result]) -> Recording:
        try:
            return self._place.record(call)
        except RuntimeError as error:
            if tells_of_no_memory(error):
                raise OutOfMemory(
                    "PyTorch ran out of memory while it recorded a CUDA graph",
                    "use a smaller batch, or set cuda_graph=0",
                ) from error
            raise Unsupported(
                f"the module cannot be recorded as a CUDA graph ({plain(error)})",
                "set cuda_graph=0",
            ) from error

    def _enqueue(self) -> None:
        self._copy_in()
        self._compute()
        self._copy_out()

    def _run_on_host(self) -> None:
        self._copy_in()
        self._compute()
        self._copy_out()
        self._place.synchronize()

    def _run_on_device(self) -> None:
        self._compute()
        self._place.synchronize()

    def _copy_in(self) -> None:
        for device, host in zip(self.device_inputs, self._host_inputs, strict=True):
            device.copy_(host, non_blocking=True)

    def _copy_out(self) -> None:
        for place, tensor in enumerate(self._flat(self._result[0])):
            host = self._host_outputs[place]
            if host.shape != tensor.shape:
                host = self._make_room(place, tensor)
            host.copy_(tensor, non_blocking=True)

    def _make_room(self, place: int, tensor: torch.Tensor) -> torch.Tensor:
        """Host memory for an output whose shape follows from what the inputs hold."""
        host = self._host_tensor(tuple(tensor.shape), tensor.dtype)
        self._host_outputs[place] = host
        self.output_buffers[self._output_names[place]] = host.numpy()
        return host


def _pageable(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def _nothing() -> None:
    """What a lane computes once it is closed."""


def _laid_out(
    host_tensor: Callable[[tuple[int, ...], torch.dtype], torch.Tensor],
    shape: tuple[int, ...],
    dtype: np.dtype,
    channels_last: bool,
) -> torch.Tensor:
    def make(stored: tuple[int, ...]) -> torch.Tensor:
        return host_tensor(stored, _torch_dtype(dtype))

    return made_in_layout(make, shape, dimensions_in_memory(shape, dtype, channels_last))


def _torch_dtype(dtype: np.dtype) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype
