"""A torch module on a GPU, eager or compiled: its session, its lanes, and the host and device
buffers of its tensors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Protocol

import numpy as np
import torch

from exporters.diagnostics import diagnostic
from exporters.module_adapter import is_row
from runtimes.base import Arrays, Session
from runtimes.calls import Call, Copy
from runtimes.cuda.driver import calling
from runtimes.cuda.marks import Marks, mark_in_c, mark_in_python
from runtimes.cuda.options import locks_host_memory, stated
from runtimes.errors import CompileFault, OutOfMemory, RuntimeFault, Unsupported, tells_of_no_memory
from runtimes.execution import Execution, Memory, OpTime, Spans
from runtimes.options import Request
from runtimes.pytorch.lane import (
    Result,
    are_same_bytes,
    checked,
    copied_inputs,
    dimensions_in_memory,
    ends_of,
    feed_back,
    flat,
    made_in_layout,
    module_in_layout,
    plain,
    row,
    run_fault,
    shared_process,
)
from runtimes.pytorch.session import build_module, compile_module, in_precision, module_precision
from runtimes.session.host import HostLane, takes_c, tensor_dtype

Part = Callable[[], object]
_RECORDING_WARM_UP = 3


@dataclass(frozen=True, slots=True)
class Recording:
    """A call as one graph: `replay` runs it again, `launch` is the same for the loop in C, and
    `result` is what every replay writes."""

    replay: Part
    launch: Call
    result: Result


class Place(Protocol):
    """Where tensors live and how one waits for them."""

    name: str
    device: torch.device
    queues_up: bool
    compute_capability: tuple[int, int]

    @property
    def synchronize(self) -> Part:
        """The call that waits for all that was given to the device."""

    def make_current(self) -> None:
        """Let what the calling thread computes from now on go here."""

    def pinned(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Host memory that the device copies by itself."""

    def record(self, call: Callable[[], Result]) -> Recording:
        """`call` as one graph; RuntimeError where it can't be."""

    def copying(self, target: torch.Tensor, source: torch.Tensor) -> Call:
        """What copies a contiguous tensor between the host and the device, for the loop in C."""

    def waiting(self) -> Call:
        """`synchronize` for the loop in C."""

    def marks(self, parts: Sequence[Part], runs: int) -> Marks:
        """Times of the parts of so many runs."""

    def marks_in_c(self, parts: Sequence[Sequence[Call]], runs: int) -> Marks:
        """The same of parts that the loop in C can call."""

    def peak_bytes(self) -> int | None: ...

    def release(self) -> None: ...


class Streams:
    """The streams that places of this process have: torch hands out the same 32 in turn."""

    def __init__(self) -> None:
        self._use_counts: Counter[int] = Counter()

    def take(self, stream: int) -> bool:
        """Whether another place has it already."""
        self._use_counts[stream] += 1
        return self._use_counts[stream] > 1

    def give(self, stream: int) -> None:
        self._use_counts[stream] -= 1


_streams = Streams()


class CudaPlace:
    """One GPU through torch.cuda, with a stream of its own, so that sessions do not queue up.

    Beyond 32 places they do: `queues_up` says so.
    """

    def __init__(self, index: int) -> None:
        self.device = torch.device("cuda", index)
        self._stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self.queues_up = _streams.take(self._stream.cuda_stream)
        self.make_current()
        self.name = torch.cuda.get_device_name(self.device)
        self.compute_capability = torch.cuda.get_device_capability(self.device)
        self.synchronize: Part = self._stream.synchronize

    def make_current(self) -> None:
        torch.cuda.set_device(self.device)
        torch.cuda.set_stream(self._stream)

    def pinned(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, pin_memory=True)

    def record(self, call: Callable[[], Result]) -> Recording:
        for _ in range(_RECORDING_WARM_UP):
            call()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            result = call()
        launch = calling("cuGraphLaunch", graph.raw_cuda_graph_exec(), self._stream.cuda_stream)
        return Recording(graph.replay, launch, result)

    def copying(self, target: torch.Tensor, source: torch.Tensor) -> Call:
        name = "cuMemcpyHtoDAsync_v2" if target.is_cuda else "cuMemcpyDtoHAsync_v2"
        addresses = target.data_ptr(), source.data_ptr()
        return calling(name, *addresses, source.nbytes, self._stream.cuda_stream)

    def waiting(self) -> Call:
        return calling("cuStreamSynchronize", self._stream.cuda_stream)

    def marks(self, parts: Sequence[Part], runs: int) -> Marks:
        return mark_in_python(self._stream.cuda_stream, parts, runs)

    def marks_in_c(self, parts: Sequence[Sequence[Call]], runs: int) -> Marks:
        return mark_in_c(self._stream.cuda_stream, parts, runs)

    def peak_bytes(self) -> int | None:
        return torch.cuda.max_memory_allocated(self.device)

    def release(self) -> None:
        _streams.give(self._stream.cuda_stream)
        # After a fault of the device each call raises it again, and would hide the first cause.
        with suppress(RuntimeError):
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)


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
        self._is_recorded = False
        self._in_c = takes_c(str(request.options["call"]))
        self._part_calls: tuple[tuple[Call, ...], ...] = ()
        # A copy from memory that is not locked keeps the host busy.
        self._queues = not self._on_host or locks_host_memory(request.options)
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
            self._is_recorded = True
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
            self._part_calls = self._as_calls(recording.launch)
        if self._part_calls:
            self.calls = (*chain.from_iterable(self._part_calls), self._place.waiting())
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
        if self._is_recorded:
            # A recorded graph writes the same tensors in each replay: those are ours to spoil,
            # but for an input that the module returns as it is.
            self._place.make_current()
            input_addresses = {tensor.data_ptr() for tensor in self.device_inputs}
            for tensor, host in zip(flat(self._result[0]), self._host_outputs, strict=True):
                if tensor.data_ptr() not in input_addresses:
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
        if self._part_calls:
            parts = self._part_calls if self._on_host else self._part_calls[1:2]
            return self._place.marks_in_c(parts, runs).spans(self._on_host)
        steps: list[Part] = [self._compute]
        if self._on_host:
            steps = [self._copy_in, self._compute, self._copy_out]
        return self._place.marks(steps, runs).spans(self._on_host, self._queues)

    def close(self) -> None:
        super().close()
        self.calls = self._part_calls = ()
        self._result, self._feedback = [None], []
        self._host_inputs, self._host_outputs, self.device_inputs = [], [], ()
        self._compute = _nothing

    def _as_calls(self, launch: Call) -> tuple[tuple[Call, ...], ...]:
        """Copies in, the launch, copies out; empty where one is more than bytes in their order."""
        if not self._on_host:
            return (), (launch,), ()
        input_pairs = zip(self.device_inputs, self._host_inputs, strict=True)
        output_pairs = zip(self._host_outputs, self._flat(self._result[0]), strict=True)
        pairs = [[*input_pairs], [*output_pairs]]
        if not all(are_same_bytes(*pair) for both in pairs for pair in both):
            return ()
        uploads, downloads = (tuple(self._place.copying(*pair) for pair in both) for both in pairs)
        return uploads, (launch,), downloads

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
    def make(storage_shape: tuple[int, ...]) -> torch.Tensor:
        return host_tensor(storage_shape, _torch_dtype(dtype))

    return made_in_layout(make, shape, dimensions_in_memory(shape, dtype, channels_last))


def _torch_dtype(dtype: np.dtype) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype


_QUEUES_UP = diagnostic("streams_exhausted")


class TorchCudaSession(Session):
    """The module on the device of `place`, eager or compiled, as one lane."""

    def __init__(self, request: Request, place: Place) -> None:
        settings, options = request.settings, request.options
        self._place = place
        self._tells = settings.operator_times
        is_compiled = options["mode"] != "eager"
        # What a recorded graph replays has no operators to name.
        is_recorded = bool(options["cuda_graph"]) and not settings.operator_times
        _set_precision(tf32=bool(options["tf32"]))
        torch.backends.cudnn.benchmark = bool(options["cudnn_benchmark"])
        with ExitStack() as resources:
            resources.callback(place.release)
            shared_process.enter()
            resources.callback(shared_process.leave, is_compiled)
            try:
                self._lane, module, read = _prepare_lane(request, place, is_recorded)
            except RuntimeError as error:
                if tells_of_no_memory(error):
                    raise OutOfMemory(
                        "the GPU's memory is too small", "use a smaller batch"
                    ) from error
                raise CompileFault(f"the torch module failed ({plain(error)})") from error
            self._use_counts = resources.pop_all()
        self.lanes = (self._lane,)
        precision = module_precision(module, read)
        # Only an eager module has parts of its own to name as operators.
        self._module = None if is_compiled else module
        self.execution = Execution(
            provider="inductor" if is_compiled else "eager",
            precision=stated(precision, bool(options["tf32"]), place.compute_capability),
            device_name=place.name,
            call_path=("graph.replay()" if is_recorded else _CALL_PATHS[str(options["mode"])])
            + ", stream.synchronize()",
            clock="device" if self._tells and self._on_gpu else "wall",
            boundary="host" if options["boundary"] == "host" else "device",
            warnings=(*((_QUEUES_UP,) if place.queues_up else ()), *copied_inputs(request)),
        )

    @property
    def _on_gpu(self) -> bool:
        return self._place.device.type == "cuda"

    def spans(self, runs: int) -> Spans:
        return self._lane.spans(runs)

    def operator_times(self, runs: int) -> tuple[OpTime, ...]:
        from runtimes.pytorch.session import op_times

        if not self._tells:
            return super().operator_times(runs)
        return op_times(self._lane.run, self._module, runs, self._on_gpu)

    def memory(self) -> Memory:
        return Memory(self._place.peak_bytes(), of_process=True, told_by="allocator")

    def fault(self, error: Exception) -> RuntimeFault:
        return run_fault(error)

    def close(self) -> None:
        self._lane.close()
        self._module = None
        self._use_counts.close()


_CALL_PATHS = {
    "eager": "module(*inputs)",
    "compile": "module(*inputs)",
    "reduce-overhead": "module(*inputs) as CUDA graphs of inductor's",
}


def _prepare_lane(
    request: Request, place: Place, recorded: bool
) -> tuple[TorchCudaLane, torch.nn.Module, tuple[torch.Tensor, ...]]:
    """The lane after its first run, the module that it calls, and the tensors that this reads;
    torch's own errors."""
    settings, factory, mode = request.settings, request.model.factory, request.options["mode"]
    assert factory is not None
    built = build_module(factory)
    module = in_precision(built.module, settings.precision).to(place.device)
    module = module_in_layout(module, bool(request.options["channels_last"]))
    lane = TorchCudaLane(request, place)
    ends = ends_of(request, lane.device_inputs)
    read = lane.device_inputs if ends is None else ends.inside
    # Kernels of a GPU are known by their names, so the code that was timed need not be marked.
    plain = replace(settings, operator_times=False)
    args, kwargs = built.arguments(read)
    called: Callable[..., Result] = module
    if mode != "eager":
        of_torch = None if mode == "compile" else str(mode)
        called = compile_module(module, args, kwargs, plain, mode=of_torch)
    call = partial(called, *args, **kwargs)
    lane.prepare(call if ends is None else ends.around(call), recorded)
    return lane, module, read


def _set_precision(tf32: bool) -> None:
    """Matrix products and convolutions of float32 in float32, unless TF32 is asked for."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
