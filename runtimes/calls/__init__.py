"""A lane's run as C calls (function addresses with their arguments), and the loop in C (`timed.c`)
that times them in blocks without the interpreter.
"""

from __future__ import annotations

import ctypes as c
import mmap
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from exporters import install_layout

MOST_ARGUMENTS = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A C function of up to four words, each an address or an integer.

    Its result is zero for success: a pointer with `returns_pointer`, else a 32-bit integer.
    `fault` makes of any other result what a run of the lane would have raised. The addresses must
    stay valid for as long as the lane is open.
    """

    function: int
    arguments: tuple[int, ...]
    fault: Callable[[int], Exception]
    returns_pointer: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """The bytes of `source` go to `target`; both are C-contiguous and as large as each other."""

    target: np.ndarray
    source: np.ndarray


_POLICIES = {"spin": 0, "sleep": 1, "hybrid": 2}
_CLOCK = "clock_gettime(CLOCK_MONOTONIC)"
GIVEN_UP = 2**63 - 1
"""Where a lane has come to that takes no further part in queries."""


class _Call(c.Structure):
    """`struct call`."""

    _fields_ = (
        ("function", c.c_void_p),
        ("arguments", c.c_ssize_t * MOST_ARGUMENTS),
        ("count", c.c_int32),
        ("checked", c.c_int32),
    )


class _Copy(c.Structure):
    """`struct copy`."""

    _fields_ = (("to", c.c_void_p), ("source", c.c_void_p), ("bytes", c.c_size_t))


_P, _N = c.c_void_p, c.c_int64


class _Block(c.Structure):
    """`struct block`."""

    _fields_ = (
        *(("scheduled", _P), ("started", _P), ("finished", _P), ("calls", c.POINTER(_Call))),
        *(("states", c.POINTER(_Copy)), ("sets", c.POINTER(_Copy)), ("n_calls", _N)),
        *(("n_states", _N), ("n_sets", _N), ("copies_of_set", _N), ("set", _N), ("gap_ns", _N)),
        *(("hybrid_margin_ns", _N), ("wait", c.c_int32), ("failed", c.c_int32)),
        *(("arrivals", _P), ("n_arrivals", _N), ("next_arrival", _P), ("until", _P)),
        *(("status", c.c_ssize_t), ("runs_of_query", _N), ("met", _P), ("n_lanes", _N)),
        *(("lane", _N), ("turns", _P), ("calls_of_turn", _N), ("after", c.POINTER(_Call))),
        *(("n_after", _N), ("n_queued", _N), ("reading", _P), ("readings", _P)),
        ("n_readings", _N),
    )


def built() -> bool:
    """Whether the loop in C is there, on a machine whose `perf_counter` is the clock it reads."""
    return _path() is not None and time.get_clock_info("perf_counter").implementation == _CLOCK


_OPERATIONS = 16384
"""So many that wait for each other take 4 to 6 us, which a clock with ticks of 10 ns tells to
within 0.3 %."""


def core_clock_mhz() -> float:
    """The clock of the core that calls, measured: what so many operations take of which each waits
    for the one before it. OSError where the loop in C was not built."""
    return 1e3 * _OPERATIONS / max(1, int(_library().graphlap_dependent_ns(1, _OPERATIONS)))


def core_operations_per_us() -> float:
    """How many operations the core that calls begins in a microsecond, of those that do not wait
    for each other. A core of two hardware threads begins about half as many for one while the other
    works, whoever has that one: of a virtual machine it may be another guest. OSError likewise."""
    return 1e3 * _OPERATIONS / max(1, int(_library().graphlap_independent_ns(1, _OPERATIONS)))


_PAGE_BYTES = 4096


def move_pages(
    parts: Sequence[tuple[int, int]], most_bytes: int, others: Sequence[tuple[int, int]] = ()
) -> bool:
    """Whether the memory of these parts, each from its begin to its end, lies in other pages of the
    machine now, at the same addresses: that of this process alone which may be written. False where
    it is more than so much, or the system can't, as before Linux 5.14. A child shares all memory
    meanwhile but for the `others`, which takes most of the time."""
    if not built() or mmap.PAGESIZE != _PAGE_BYTES:
        return False
    ends, left_out = np.array(parts, np.uintp), np.array(others, np.uintp)
    most = most_bytes // _PAGE_BYTES
    places = ends.ctypes.data, len(parts), left_out.ctypes.data, len(others)
    return int(_library().graphlap_move_pages(*places, most)) > 0


def nothing() -> Call:
    """A call that does nothing, to see what the loop itself takes."""
    address = c.cast(_library().graphlap_nothing, c.c_void_p).value
    assert address is not None
    return Call(address, (), RuntimeError)


Times: TypeAlias = "array[int] | memoryview[int]"
"""Room for int64 times: filled beforehand, or memory that is taken only as it is written."""


class TimedCalls:
    """The calls of one lane, ready to be timed.

    After each run `states` are copied, then the copies of the next of `sets` in turn; all sets
    have equally many. A gap is waited out by the policy, of which `hybrid` sleeps until
    `hybrid_margin_ns` before its end. The `closing_calls` follow the copies, outside the clock.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        states: Sequence[Copy] = (),
        sets: Sequence[Sequence[Copy]] = (),
        gap_ns: int = 0,
        wait: str = "spin",
        hybrid_margin_ns: int = 0,
        closing_calls: Sequence[Call] = (),
    ) -> None:
        # In the order in which the loop numbers the one that failed.
        self._calls = (*calls, *closing_calls)
        in_turn = [copy for input_set in sets for copy in input_set]
        # What C is given the addresses of has to outlive this object's blocks.
        self._buffers = (*states, *in_turn)
        self._block = _Block(
            calls=(_Call * len(calls))(*map(_call, calls)),
            states=(_Copy * len(states))(*map(_copy, states)),
            sets=(_Copy * len(in_turn))(*map(_copy, in_turn)),
            n_calls=len(calls),
            n_states=len(states),
            n_sets=len(sets),
            copies_of_set=len(sets[0]) if sets else 0,
            gap_ns=gap_ns,
            hybrid_margin_ns=hybrid_margin_ns,
            wait=_POLICIES[wait],
            after=(_Call * len(closing_calls))(*map(_call, closing_calls)),
            n_after=len(closing_calls),
        )

    def time(self, scheduled_ns: Times, started_ns: Times, finished_ns: Times, count: int) -> None:
        """Time `count` runs in a closed loop into int64 arrays of at least so many entries.

        Raises what a call that fails stands for.
        """
        self._block.arrivals, self._block.next_arrival = None, None
        self._run(_library().graphlap_time_block, scheduled_ns, started_ns, finished_ns, count)

    def serve(
        self,
        scheduled_ns: Times,
        started_ns: Times,
        finished_ns: Times,
        arrivals_ns: np.ndarray,
        following: array[int],
        end_time: array[int],
    ) -> int:
        """Serve arrivals, int64 [n] ascending on the clock of `perf_counter_ns`, in their order.

        `following[0]` is the number of the next one, `until[0]` when nothing is begun any more:
        both are shared by all lanes that serve them, and the latter may be changed meanwhile. What
        is due later, or was not begun by then, is left. `finished_ns` is written last and holds 0
        before, so that another thread can follow. Returns how many this lane served; raises what
        a call that fails stands for.
        """
        block = self._block
        block.arrivals, block.n_arrivals = arrivals_ns.ctypes.data, len(arrivals_ns)
        block.next_arrival, block.until = following.buffer_info()[0], end_time.buffer_info()[0]
        return self._run(
            _library().graphlap_time_block, scheduled_ns, started_ns, finished_ns, len(started_ns)
        )

    def query(
        self,
        scheduled_ns: Times,
        started_ns: Times,
        finished_ns: Times,
        count: int,
        runs: int,
        last_queries: array[int],
        lane: int,
    ) -> None:
        """Time this lane's part of `count` queries: `runs` of each, one after another.

        A query begins when all lanes have come to it. `met[lane]` is the query that a lane has
        come to, counted from 1, of all lanes that share it; `GIVEN_UP` lets the others go, and
        ends their block. Raises what a call that fails stands for.
        """
        block = self._block
        block.runs_of_query, block.met = runs, last_queries.buffer_info()[0]
        block.n_lanes, block.lane = len(last_queries), lane
        self._run(_library().graphlap_time_queries, scheduled_ns, started_ns, finished_ns, count)

    def take(
        self,
        scheduled_ns: Times,
        started_ns: Times,
        finished_ns: Times,
        requests: int,
        following: array[int],
    ) -> int:
        """Time the runs of requests that are all due: this lane takes the next as it is free.

        `following[0]` is the number of the next one of so many, shared by all lanes that take
        them. Returns how many this lane took, at most as many as there is room for; when they
        were due is left to the caller. Raises what a call that fails stands for.
        """
        block = self._block
        block.n_arrivals, block.next_arrival = requests, following.buffer_info()[0]
        loop_function = _library().graphlap_time_requests
        return self._run(loop_function, scheduled_ns, started_ns, finished_ns, len(started_ns))

    def mark(
        self,
        start_ns: Times,
        queue_ns: Times,
        end_ns: Times,
        count: int,
        n_queued: int,
        reading: np.ndarray,
    ) -> np.ndarray:
        """Time `count` runs whose first `n_queued` calls queue a run and whose others wait for it.

        After each run, the closing calls have written the float32 array `reading`; the result
        has a line for each run, [count, len(reading)]. Raises what a call that fails stands for.
        """
        block = self._block
        readings = np.zeros((count, len(reading)), np.float32)
        block.n_queued, block.n_readings = n_queued, len(reading)
        block.reading, block.readings = reading.ctypes.data, readings.ctypes.data
        self._run(_library().graphlap_time_marked, start_ns, queue_ns, end_ns, count)
        return readings

    def turns(
        self,
        scheduled_ns: Times,
        started_ns: Times,
        finished_ns: Times,
        turns: np.ndarray,
        takers: int,
    ) -> None:
        """Time a run for each of `turns`, int64 [n]: whose turn it is of `takers`, which have
        equally many of the calls, one after another. Raises what a call that fails stands for.
        """
        block = self._block
        block.turns, block.calls_of_turn = turns.ctypes.data, block.n_calls // takers
        self._run(_library().graphlap_time_turns, scheduled_ns, started_ns, finished_ns, len(turns))

    def _run(
        self,
        loop_function: Callable[..., int],
        scheduled_ns: Times,
        started_ns: Times,
        finished_ns: Times,
        count: int,
    ) -> int:
        block = self._block
        block.scheduled, block.started, block.finished = (
            _address(times) for times in (scheduled_ns, started_ns, finished_ns)
        )
        completed_runs = int(loop_function(c.byref(block), count))
        if block.failed >= 0:
            raise self._calls[block.failed].fault(block.status)
        return completed_runs


def _address(times: Times) -> int:
    if isinstance(times, array):
        return times.buffer_info()[0]
    return c.addressof(c.c_char.from_buffer(times))


def _call(call: Call) -> _Call:
    width = c.sizeof(c.c_void_p) if call.returns_pointer else c.sizeof(c.c_int32)
    words = (*call.arguments, *[0] * (MOST_ARGUMENTS - len(call.arguments)))
    return _Call(call.function, words, len(call.arguments), width)


def _copy(copy: Copy) -> _Copy:
    if copy.target.nbytes != copy.source.nbytes:
        raise ValueError(f"{copy.source.nbytes} bytes do not fill {copy.target.nbytes}")
    return _Copy(copy.target.ctypes.data, copy.source.ctypes.data, copy.target.nbytes)


def _path() -> Path | None:
    return install_layout.extension("runtimes.calls._timed")


@cache
def _library() -> c.CDLL:
    path = _path()
    if path is None or sys.platform == "win32":
        raise OSError(f"the loop in C was not built: {install_layout.COMPILER_REMEDY}")
    library = c.CDLL(str(path))
    for loop_function in (
        library.graphlap_time_block,
        library.graphlap_time_queries,
        library.graphlap_time_requests,
        library.graphlap_time_turns,
        library.graphlap_time_marked,
    ):
        loop_function.argtypes, loop_function.restype = (c.c_void_p, c.c_int64), c.c_int64
    library.graphlap_move_pages.argtypes = (c.c_void_p, c.c_int64, c.c_void_p, c.c_int64, c.c_int64)
    library.graphlap_move_pages.restype = c.c_int64
    for operations in (library.graphlap_dependent_ns, library.graphlap_independent_ns):
        operations.argtypes, operations.restype = (c.c_uint64, c.c_int64), c.c_int64
    return library
