"""Lateness and utilisation of runs whose times are written down by hand."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.open_loop import lateness_ns, utilisation
from app.stats.summary import summarise
from runtimes.execution import Samples


def samples(*runs: tuple[int, int, int], lanes: list[int] | None = None) -> Samples:
    scheduled_ns, started_ns, finished_ns = np.array(runs, np.int64).reshape(-1, 3).T
    lane_numbers = None if lanes is None else np.array(lanes)
    return Samples(
        scheduled_ns, started_ns, finished_ns, "wall", from_schedule=True, lanes=lane_numbers
    )


def test_a_run_is_late_that_began_after_its_time_on_a_lane_that_was_waiting() -> None:
    timeline = samples((0, 5, 50), (40, 52, 90), (100, 107, 140), (140, 141, 150))
    assert lateness_ns(timeline).tolist() == [0, 7, 1], "the second came while its lane was at work"


def test_what_a_late_start_makes_others_wait_is_late_too() -> None:
    timeline = samples(
        (0, 0, 10), (100, 160, 170), (120, 170, 180), (175, 180, 190), (200, 200, 210)
    )
    assert lateness_ns(timeline).tolist() == [60, 50, 5, 0]


def test_each_lane_has_a_last_run_of_its_own() -> None:
    runs = ((0, 1, 100), (10, 12, 30), (50, 53, 60), (90, 102, 120))
    assert lateness_ns(samples(*runs, lanes=[0, 1, 1, 0])).tolist() == [0, 3]


def test_utilisation_is_the_mean_time_of_a_run_times_the_rate_over_the_lanes() -> None:
    timeline = samples((0, 0, 2_000_000), (9_000_000, 9_000_000, 13_000_000))
    assert utilisation(timeline, 100.0, 1) == pytest.approx(0.3)
    assert utilisation(timeline, 100.0, 2) == pytest.approx(0.15)
    assert utilisation(samples(), 100.0, 1) == 0.0


def test_what_passes_between_runs_that_queue_is_time_that_they_take() -> None:
    timeline = samples(*((0, k * 1_500_000, k * 1_500_000 + 1_000_000) for k in range(3)))
    assert utilisation(timeline, 1000.0, 1) == pytest.approx(1.5)


def test_a_summary_tells_the_latency_from_when_runs_were_due_and_both_its_parts() -> None:
    due = np.arange(1000) * 10_000
    started_ns, finished_ns = due + 4_000, due + 7_000
    summary = summarise([Samples(due, started_ns, finished_ns, "wall", from_schedule=True)])
    assert summary is not None
    assert summary.value_us("p50") == summary.value_us("p99") == pytest.approx(7.0)
    assert summary.service == {"p50": 3.0, "p90": 3.0, "p99": 3.0}
    assert summary.queue == {"p50": 4.0, "p99": 4.0}
    assert (summary.response_p50_us, summary.start_lateness_p99_us) == (None, 4.0)


def test_queueing_is_neither_an_outlier_nor_a_drift() -> None:
    due = np.arange(6000) * 1_000_000
    wait = np.zeros(6000, np.int64)
    wait[3000:] = 50_000_000
    wait[::20] = 90_000_000
    jitter = np.random.default_rng(1).integers(0, 1000, 6000)
    rounds = [Samples(due, due + wait, due + wait + 100_000 + jitter, "wall", from_schedule=True)]
    summary = summarise(rounds)
    assert summary is not None
    assert (summary.outliers, summary.drift) == (0, "flat")
    assert not summary.warnings


def test_a_pause_between_two_runs_excuses_no_others() -> None:
    """Of the loop's own time between runs only the typical is no lateness, where runs queue."""
    due = np.arange(200) * 1_000
    started_ns = due.copy()
    started_ns[99] += 3_000  # three others come meanwhile, and one of them finds the lane at work
    started_ns[100], started_ns[101], started_ns[102] = (
        started_ns[99] + 110,
        started_ns[99] + 220,
        started_ns[99] + 330,
    )
    late = lateness_ns(
        samples(*zip(due.tolist(), started_ns.tolist(), (started_ns + 100).tolist(), strict=True))
    )
    assert late[98] == 3_000
    assert (late[99:102] > 0).all()
    assert np.count_nonzero(late) == 4
