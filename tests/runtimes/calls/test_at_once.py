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
    inside: list[int] = []

    def noted() -> int:
        inside.append(time.perf_counter_ns())
        return 0

    scheduled, started, finished = room(5)
    TimedCalls([call_of(noted)]).query(scheduled, started, finished, 5, 3, array("q", [0]), 0)
    assert len(inside) == 15
    last = 0
    for query, (begin, end) in enumerate(zip(started, finished, strict=True)):
        assert last <= begin <= inside[3 * query] <= inside[3 * query + 2] <= end
        last = end
    assert scheduled == started


def test_states_and_inputs_change_after_every_run_of_a_query() -> None:
    fed, state, output = np.array([1]), np.zeros(1, np.int64), np.zeros(1, np.int64)

    def add() -> int:
        np.add(state, fed, out=output)
        return 0

    sets = [[Copy(fed, np.array([number]))] for number in (10, 100, 1)]
    timed = TimedCalls([call_of(add)], [Copy(state, output)], sets)
    timed.query(*room(2), 2, 2, array("q", [0]), 0)
    assert state.tolist() == [1 + 10 + 100 + 1]
    timed.query(*room(1), 1, 2, array("q", [0]), 0)
    assert state.tolist() == [112 + 10 + 100]


def test_no_lane_begins_a_query_before_all_have_answered_the_last() -> None:
    met, queries = array("q", [0, 0, 0]), 40
    times = [room(queries) for _ in met]

    def answer(lane: int) -> None:
        def busy() -> int:
            time.sleep(0.0002 * (1 + lane))
            return 0

        TimedCalls([call_of(busy)]).query(*times[lane], queries, 1 + lane, met, lane)

    in_threads(*(lambda lane=lane: answer(lane) for lane in range(3)))
    begun = np.array([started for _, started, _ in times])
    ended = np.array([finished for *_, finished in times])
    assert (begun[:, 1:].min(axis=0) >= ended[:, :-1].max(axis=0)).all()


def test_a_lane_that_gives_up_lets_the_others_go() -> None:
    met, ran = array("q", [0, 0]), []

    def fails_third() -> int:
        ran.append(0)
        return -(len(ran) == 3)

    def gives_up() -> None:
        with pytest.raises(Failed):
            TimedCalls([call_of(fails_third)]).query(*room(1000), 1000, 1, met, 0)
        met[0] = GIVEN_UP

    other = room(1000)
    in_threads(gives_up, lambda: TimedCalls([call_of(lambda: 0)]).query(*other, 1000, 1, met, 1))
    # The third it may have begun before it saw that the other had given up.
    assert np.count_nonzero(np.array(other[1]) >= 0) in (2, 3)


def test_every_request_is_taken_once_by_whichever_lane_is_free() -> None:
    following, taken = array("q", [0]), [0, 0, 0]
    times = [room(60) for _ in taken]

    def take(lane: int) -> None:
        def busy() -> int:
            time.sleep(0.0005)
            return 0

        taken[lane] = TimedCalls([call_of(busy)]).take(*times[lane], 60, following)

    in_threads(*(lambda lane=lane: take(lane) for lane in range(3)))
    assert sum(taken) == 60
    assert sum(count > 0 for count in taken) > 1
    for (_, started, finished), count in zip(times, taken, strict=True):
        assert all(begin < end for begin, end in zip(started[:count], finished, strict=False))
        assert set(started[count:]) <= {-1}


def test_a_lane_without_room_leaves_requests_to_the_others() -> None:
    following = array("q", [0])
    timed = TimedCalls([call_of(lambda: 0)])
    assert [timed.take(*room(count), 8, following) for count in (5, 5, 5)] == [5, 3, 0]


def test_a_request_that_fails_ends_the_lanes_part() -> None:
    with pytest.raises(Failed):
        TimedCalls([call_of(lambda: 7)]).take(*room(4), 4, array("q", [0]))
