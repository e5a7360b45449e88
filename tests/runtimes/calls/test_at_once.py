"""Queries of several runs, and requests that are all due, timed in C: lanes wait and share."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable

import numpy as np
import pytest

from runtimes.calls.timed import GIVEN_UP, Copy, TimedCalls
from tests.runtimes.calls.counted import Failed, call_of, room


def in_threads(*works: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_query_lasts_from_its_first_runs_start_to_its_last_ones_end() -> None:
    call_times: list[int] = []

    def note_time() -> int:
        call_times.append(time.perf_counter_ns())
        return 0

    scheduled_ns, started_ns, finished_ns = room(5)
    TimedCalls([call_of(note_time)]).query(
        scheduled_ns, started_ns, finished_ns, 5, 3, array("q", [0]), 0
    )
    assert len(call_times) == 15
    last = 0
    for query, (begin, end) in enumerate(zip(started_ns, finished_ns, strict=True)):
        assert last <= begin <= call_times[3 * query] <= call_times[3 * query + 2] <= end
        last = end
    assert scheduled_ns == started_ns


def test_states_and_inputs_change_after_every_run_of_a_query() -> None:
    input_array, state, output = np.array([1]), np.zeros(1, np.int64), np.zeros(1, np.int64)

    def add() -> int:
        np.add(state, input_array, out=output)
        return 0

    sets = [[Copy(input_array, np.array([number]))] for number in (10, 100, 1)]
    calls = TimedCalls([call_of(add)], [Copy(state, output)], sets)
    calls.query(*room(2), 2, 2, array("q", [0]), 0)
    assert state.tolist() == [1 + 10 + 100 + 1]
    calls.query(*room(1), 1, 2, array("q", [0]), 0)
    assert state.tolist() == [112 + 10 + 100]


def test_no_lane_begins_a_query_before_all_have_answered_the_last() -> None:
    meeting_counts, queries = array("q", [0, 0, 0]), 40
    times = [room(queries) for _ in meeting_counts]

    def answer(lane: int) -> None:
        def busy() -> int:
            time.sleep(0.0002 * (1 + lane))
            return 0

        TimedCalls([call_of(busy)]).query(*times[lane], queries, 1 + lane, meeting_counts, lane)

    in_threads(*(lambda lane=lane: answer(lane) for lane in range(3)))
    begin_ns = np.array([started_ns for _, started_ns, _ in times])
    end_ns = np.array([finished_ns for *_, finished_ns in times])
    assert (begin_ns[:, 1:].min(axis=0) >= end_ns[:, :-1].max(axis=0)).all()


def test_a_lane_that_gives_up_lets_the_others_go() -> None:
    meeting_counts, ran = array("q", [0, 0]), []

    def fails_third() -> int:
        ran.append(0)
        return -(len(ran) == 3)

    def gives_up() -> None:
        with pytest.raises(Failed):
            TimedCalls([call_of(fails_third)]).query(*room(1000), 1000, 1, meeting_counts, 0)
        meeting_counts[0] = GIVEN_UP

    other = room(1000)
    in_threads(
        gives_up, lambda: TimedCalls([call_of(lambda: 0)]).query(*other, 1000, 1, meeting_counts, 1)
    )
    # The third it may have begun before it saw that the other had given up.
    assert np.count_nonzero(np.array(other[1]) >= 0) in (2, 3)


def test_every_request_is_taken_once_by_whichever_lane_is_free() -> None:
    following, counts = array("q", [0]), [0, 0, 0]
    times = [room(60) for _ in counts]

    def take(lane: int) -> None:
        def busy() -> int:
            time.sleep(0.0005)
            return 0

        counts[lane] = TimedCalls([call_of(busy)]).take(*times[lane], 60, following)

    in_threads(*(lambda lane=lane: take(lane) for lane in range(3)))
    assert sum(counts) == 60
    assert sum(count > 0 for count in counts) > 1
    for (_, started_ns, finished_ns), count in zip(times, counts, strict=True):
        assert all(begin < end for begin, end in zip(started_ns[:count], finished_ns, strict=False))
        assert set(started_ns[count:]) <= {-1}


def test_a_lane_without_room_leaves_requests_to_the_others() -> None:
    following = array("q", [0])
    calls = TimedCalls([call_of(lambda: 0)])
    assert [calls.take(*room(count), 8, following) for count in (5, 5, 5)] == [5, 3, 0]


def test_a_request_that_fails_ends_the_lanes_part() -> None:
    with pytest.raises(Failed):
        TimedCalls([call_of(lambda: 7)]).take(*room(4), 4, array("q", [0]))
