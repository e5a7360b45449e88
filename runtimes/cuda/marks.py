"""GPU time of the parts of runs: events recorded around them, queued by the C loop or by Python."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from ctypes import byref, c_float, c_void_p
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np

from runtimes.calls import Call, TimedCalls
from runtimes.cuda.driver import calling, library
from runtimes.execution import Spans

Step = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Marks:
    """`parts_ns` is the GPU's time of each part in each run, int64 [parts, runs]; on the host's
    clock, int64 [runs], `queued_ns` is the time until a run was queued, `run_ns` until it ended."""

    parts_ns: np.ndarray
    queued_ns: np.ndarray
    run_ns: np.ndarray

    def spans(self, has_copies: bool, queues: bool = True) -> Spans:
        """Of one part, or with copies of three. Without `queues` the host takes part in a copy, so
        the time that it spends on queueing is not known."""
        queue_ns = self.queued_ns if queues else None
        if not has_copies:
            return Spans(self.parts_ns[0], queued_ns=queue_ns, run_ns=self.run_ns)
        h2d, device, d2h = self.parts_ns
        return Spans(device, h2d, d2h, queue_ns, self.run_ns)


@contextmanager
def _events(count: int) -> Iterator[list[c_void_p]]:
    driver = library()
    with ExitStack() as stack:
        events = []
        for _ in range(count):
            event = c_void_p()
            driver.cuEventCreate(byref(event), 0)
            stack.callback(driver.cuEventDestroy_v2, event)
            events.append(event)
        yield events


def mark_in_c(stream: int, parts: Sequence[Sequence[Call]], runs: int) -> Marks:
    """Runs whose parts are calls of the driver, by the loop in C."""
    with _events(len(parts) + 1) as events:
        records = [calling("cuEventRecord", event.value or 0, stream) for event in events]
        calls = [records[0]]
        for part, record in zip(parts, records[1:], strict=True):
            calls += [*part, record]
        milliseconds = np.zeros(len(parts), np.float32)
        reads = [
            calling(
                "cuEventElapsedTime",
                milliseconds[number:].ctypes.data,
                events[number].value or 0,
                events[number + 1].value or 0,
            )
            for number in range(len(parts))
        ]
        wait = calling("cuStreamSynchronize", stream)
        start_ns, queue_ns, end_ns = (array("q", bytes(8 * runs)) for _ in range(3))
        loop = TimedCalls([*calls, wait], closing_calls=reads)
        readings = loop.mark(start_ns, queue_ns, end_ns, runs, len(calls), milliseconds)
    times = [np.array(series, np.int64) for series in (start_ns, queue_ns, end_ns)]
    return Marks(_in_ns(readings.T), times[1] - times[0], times[2] - times[0])


def mark_in_python(stream: int, parts: Sequence[Step], runs: int) -> Marks:
    """The same where a part is more than calls of the driver."""
    driver, queue = library(), c_void_p(stream)
    readings = np.zeros((len(parts), runs), np.float32)
    times = np.zeros((3, runs), np.int64)
    with _events(len(parts) + 1) as events:
        for index in range(runs):
            times[0, index] = perf_counter_ns()
            driver.cuEventRecord(events[0], queue)
            for part, event in zip(parts, events[1:], strict=True):
                part()
                driver.cuEventRecord(event, queue)
            times[1, index] = perf_counter_ns()
            driver.cuStreamSynchronize(queue)
            times[2, index] = perf_counter_ns()
            for number in range(len(parts)):
                milliseconds = c_float()
                driver.cuEventElapsedTime(byref(milliseconds), events[number], events[number + 1])
                readings[number, index] = milliseconds.value
    return Marks(_in_ns(readings), times[1] - times[0], times[2] - times[0])


def _in_ns(milliseconds: np.ndarray) -> np.ndarray:
    return np.rint(milliseconds * 1e6).astype(np.int64)
