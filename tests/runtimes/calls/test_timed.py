"""The loop in C does what the Python loop does: calls, states, sets, gaps, failures."""

from __future__ import annotations

import ctypes as c
import threading
import time
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from runtimes.calls import GIVEN_UP, Call, Copy, TimedCalls, core_clock_mhz, core_operations_per_us
from tests.runtimes.loop_in_c import NEEDS_C

pytestmark = NEEDS_C
WORDS = (c.c_ssize_t,) * 4
_CALLBACKS: list[object] = []


class Failed(Exception):
    """What a status of the calls here stands for."""


def call_of(
    function: Callable[..., int | None], *arguments: int, returns_pointer: bool = False
) -> Call:
    """`function`, which returns its status or None, as a call; it lives as long as the process."""
    result = c.c_ssize_t if returns_pointer else c.c_int32
    prototype = c.CFUNCTYPE(result, *WORDS[: len(arguments)])
    callback = prototype(lambda *words: function(*words) or 0)
    _CALLBACKS.append(callback)
    address = c.cast(callback, c.c_void_p).value
    assert address is not None
    return Call(address, arguments, Failed, returns_pointer)


def room(count: int) -> tuple[array[int], array[int], array[int]]:
    """scheduled, started and finished, all -1."""
    scheduled_ns, started_ns, finished_ns = (array("q", [-1]) * count for _ in range(3))
    return scheduled_ns, started_ns, finished_ns


def sleeping(seconds: float) -> Call:
    return call_of(lambda: time.sleep(seconds))


def in_threads(count: int, work: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(work, range(count)))


IDLE = call_of(lambda: 0)


FOREVER = array("q", [2**63 - 1])


def test_every_run_makes_all_calls_in_order_with_their_arguments() -> None:
    recorded: list[tuple[int, ...]] = []
    words = [(), (7,), (1, 2, 3), (-4, 2**40, 0, 9)]
    calls = [call_of(lambda *given: recorded.append(given), *given) for given in words]
    TimedCalls(calls).time(*room(2), 2)
    assert recorded == words * 2


def test_times_are_those_of_perf_counter_around_the_calls_and_nothing_else() -> None:
    call_times: list[int] = []
    call = call_of(lambda: call_times.append(time.perf_counter_ns()))
    state = np.zeros(1 << 22)
    scheduled_ns, started_ns, finished_ns = times = room(20)
    edges = [time.perf_counter_ns()]
    TimedCalls([call], [Copy(np.empty_like(state), state)]).time(*times, 20)
    for begin, call_ns, end in zip(started_ns, call_times, finished_ns, strict=True):
        assert edges[-1] <= begin <= call_ns <= end
        edges.append(end)
    assert edges[-1] <= time.perf_counter_ns()
    assert scheduled_ns == started_ns


def test_each_turn_makes_the_calls_of_whose_turn_it_is() -> None:
    recorded_words: list[int] = []
    takers = [call_of(recorded_words.append, word) for word in (0, 1, 10, 11, 20, 21)]
    turns, times = np.array([2, 0, 0, 1]), room(5)
    TimedCalls(takers).turns(*times, turns, takers=3)
    assert recorded_words == [20, 21, 0, 1, 0, 1, 10, 11]
    scheduled_ns, started_ns, finished_ns = times
    assert scheduled_ns == started_ns
    assert list(started_ns[:4]) == sorted(started_ns[:4])
    assert all(map(int.__le__, started_ns[:4], finished_ns[:4]))
    assert finished_ns[4] == -1, "no more than there are turns"


def test_a_copy_that_does_not_fill_its_target_is_refused() -> None:
    with pytest.raises(ValueError, match="4 bytes do not fill 8"):
        TimedCalls([], [Copy(np.zeros(1), np.zeros(1, np.float32))])


@pytest.mark.parametrize(("status", "returns_pointer"), [(5, False), (-3, False), (2**40, True)])
def test_a_call_that_fails_ends_the_block_and_says_what_it_returned(
    status: int, returns_pointer: bool
) -> None:
    ran: list[int] = []

    def fails_third() -> int:
        ran.append(1)
        return status if len(ran) == 3 else 0

    later_calls: list[int] = []
    calls = [
        call_of(fails_third, returns_pointer=returns_pointer),
        call_of(lambda: later_calls.append(1)),
    ]
    _, started_ns, _ = times = room(10)
    with pytest.raises(Failed) as exc_info:
        TimedCalls(calls).time(*times, 10)
    assert exc_info.value.args == (status,)
    assert len(ran) == 3
    assert len(later_calls) == 2
    assert (np.array(started_ns) >= 0).tolist() == [True] * 2 + [False] * 8


@pytest.mark.parametrize("wait", ["spin", "sleep", "hybrid"])
def test_a_paced_run_is_due_a_gap_after_the_last_and_never_begins_before(wait: str) -> None:
    scheduled_ns, started_ns, finished_ns = times = room(8)
    gap_ns = 2_000_000
    start_ns = time.perf_counter_ns()
    paced = TimedCalls([IDLE], gap_ns=gap_ns, wait=wait, hybrid_margin_ns=300_000)
    paced.time(*times, 8)
    assert scheduled_ns[0] >= start_ns + gap_ns
    assert scheduled_ns[1:].tolist() == [end + gap_ns for end in finished_ns[:-1]]
    assert all(due <= begin for due, begin in zip(scheduled_ns, started_ns, strict=True))


def test_what_was_not_begun_in_time_is_left() -> None:
    now = time.perf_counter_ns()
    due = now + np.arange(100) * 1_000_000
    times = room(100)
    until_ns = now + 30_000_000
    calls = TimedCalls([sleeping(0.004)])
    count = calls.serve(*times, due, array("q", [0]), array("q", [until_ns]))
    assert 0 < count < 30
    assert all(begin < until_ns for begin in times[1][:count])
    assert times[0][:count].tolist() == due[:count].tolist()


@pytest.mark.parametrize("wait", ["spin", "sleep", "hybrid"])
def test_a_lane_that_waits_for_an_arrival_hears_that_the_round_has_ended(wait: str) -> None:
    start_ns = time.perf_counter_ns()
    deadline = array("q", [2**63 - 1])
    times, served_counts = room(2), []

    def serve() -> None:
        due = start_ns + np.array([10_000_000, 3_600_000_000_000])
        calls = TimedCalls([IDLE], wait=wait)
        served_counts.append(calls.serve(*times, due, array("q", [0]), deadline))

    lane = threading.Thread(target=serve, daemon=True)
    lane.start()
    time.sleep(0.03)
    deadline[0] = time.perf_counter_ns()
    lane.join(60)
    assert served_counts == [1]
    assert times[0][0] == start_ns + 10_000_000


def test_a_query_lasts_from_its_first_runs_start_to_its_last_ones_end() -> None:
    call_times: list[int] = []
    call = call_of(lambda: call_times.append(time.perf_counter_ns()))
    scheduled_ns, started_ns, finished_ns = times = room(5)
    TimedCalls([call]).query(*times, 5, 3, array("q", [0]), 0)
    assert len(call_times) == 15
    last = 0
    for query, (begin, end) in enumerate(zip(started_ns, finished_ns, strict=True)):
        assert last <= begin <= call_times[3 * query] <= call_times[3 * query + 2] <= end
        last = end
    assert scheduled_ns == started_ns


def test_states_and_inputs_change_after_every_run_of_a_query() -> None:
    input_array, state, output = np.array([1]), np.zeros(1, np.int64), np.zeros(1, np.int64)
    call = call_of(lambda: output.__setitem__(..., state + input_array))
    sets = [[Copy(input_array, np.array([number]))] for number in (10, 100, 1)]
    calls = TimedCalls([call], [Copy(state, output)], sets)
    calls.query(*room(2), 2, 2, array("q", [0]), 0)
    assert state.tolist() == [1 + 10 + 100 + 1]
    calls.query(*room(1), 1, 2, array("q", [0]), 0)
    assert state.tolist() == [112 + 10 + 100]


def test_no_lane_begins_a_query_before_all_have_answered_the_last() -> None:
    meeting_counts, queries = array("q", [0, 0, 0]), 40
    times = [room(queries) for _ in meeting_counts]

    def answer(lane: int) -> None:
        calls = TimedCalls([sleeping(0.0002 * (1 + lane))])
        calls.query(*times[lane], queries, 1 + lane, meeting_counts, lane)

    in_threads(3, answer)
    begin_ns = np.array([started_ns for _, started_ns, _ in times])
    end_ns = np.array([finished_ns for *_, finished_ns in times])
    assert (begin_ns[:, 1:].min(axis=0) >= end_ns[:, :-1].max(axis=0)).all()


def test_a_lane_that_gives_up_lets_the_others_go() -> None:
    meeting_counts, ran, other = array("q", [0, 0]), list[int](), room(1000)

    def fails_third() -> int:
        ran.append(0)
        return -(len(ran) == 3)

    def answer(lane: int) -> None:
        if lane == 1:
            TimedCalls([IDLE]).query(*other, 1000, 1, meeting_counts, 1)
            return
        with pytest.raises(Failed):
            TimedCalls([call_of(fails_third)]).query(*room(1000), 1000, 1, meeting_counts, 0)
        meeting_counts[0] = GIVEN_UP

    in_threads(2, answer)
    # The third it may have begun before it saw that the other had given up.
    assert np.count_nonzero(np.array(other[1]) >= 0) in (2, 3)


def test_every_request_is_taken_once_by_whichever_lane_is_free() -> None:
    following, counts = array("q", [0]), [0, 0, 0]
    times = [room(60) for _ in counts]

    def take(lane: int) -> None:
        counts[lane] = TimedCalls([sleeping(0.0005)]).take(*times[lane], 60, following)

    in_threads(3, take)
    assert sum(counts) == 60
    assert sum(count > 0 for count in counts) > 1
    for (_, started_ns, _), count in zip(times, counts, strict=True):
        assert np.count_nonzero(np.array(started_ns) >= 0) == count


def test_the_clock_of_a_core_is_one_that_processors_have_and_stays_for_a_moment() -> None:
    """Between 200 MHz and 10 GHz, and of a thousand readings nine in ten within a fifth."""
    clocks_mhz = np.array([core_clock_mhz() for _ in range(1000)])
    low, middle, high = np.quantile(clocks_mhz, (0.05, 0.5, 0.95)).tolist()
    assert 200.0 < middle < 10_000.0
    assert high < 1.25 * low


def test_a_core_begins_some_operations_in_a_cycle_and_no_more_than_any_is_built_for() -> None:
    """At least one, at most ten; two threads of a core may halve it at any time."""
    in_a_cycle = [core_operations_per_us() / core_clock_mhz() for _ in range(300)]
    assert 0.9 < float(np.median(in_a_cycle)) < 10.0
