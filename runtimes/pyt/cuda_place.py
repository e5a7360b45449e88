"""Where the tensors of a torch session on a GPU live, and how one waits for them and times them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from runtimes.calls.call import Call
from runtimes.cuda.driver import calling
from runtimes.pyt.lane import Result

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

    def times_ns(self, parts: Sequence[Part], runs: int) -> np.ndarray:
        """The device's time of each part in each run, int64 [parts, runs]."""

    def peak_bytes(self) -> int | None: ...

    def release(self) -> None: ...


class Streams:
    """The streams that places of this process have: torch hands out the same 32 in turn."""

    def __init__(self) -> None:
        self._held: Counter[int] = Counter()

    def take(self, stream: int) -> bool:
        """Whether another place has it already."""
        self._held[stream] += 1
        return self._held[stream] > 1

    def give(self, stream: int) -> None:
        self._held[stream] -= 1


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

    def times_ns(self, parts: Sequence[Part], runs: int) -> np.ndarray:
        marks = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(len(parts) + 1)
        ]
        times = np.zeros((len(parts), runs), np.int64)
        for index in range(runs):
            marks[0].record()
            for part, mark in zip(parts, marks[1:], strict=True):
                part()
                mark.record()
            self.synchronize()
            for number in range(len(parts)):
                milliseconds = marks[number].elapsed_time(marks[number + 1])
                times[number, index] = round(milliseconds * 1e6)
        return times

    def peak_bytes(self) -> int | None:
        return torch.cuda.max_memory_allocated(self.device)

    def release(self) -> None:
        _streams.give(self._stream.cuda_stream)
        # After a fault of the device each call raises it again, and would hide the first cause.
        with suppress(RuntimeError):
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)
