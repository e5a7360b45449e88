"""Open loops, batchers, blocks and long rounds: times by hand, and what holds of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.cases.scenario import Batcher, Scenario
from app.stats.open_loop import (
    arrivals_ns,
    batched_utilisation,
    batches_of,
    lateness_ns,
    schedule_sha256,
    utilisation,
)
from app.stats.steadiness import ends, part_s
from app.stats.summary import rate_of, runs_per_s, summarise
from runtimes.execution import Samples


def test_even_arrivals_lie_one_gap_apart_and_a_burst_arrives_at_one_time() -> None:
    even = arrivals_ns(Scenario.parse("rate:3/s"), 2.0, 0)
    assert even.tolist() == [round(k * 1e9 / 3) for k in range(1, 7)]
    burst = arrivals_ns(Scenario.parse("burst:3@10ms"), 0.025, 0)
    assert burst.tolist() == [10_000_000] * 3 + [20_000_000] * 3
    with pytest.raises(ValueError, match="fixed beforehand"):
        arrivals_ns(Scenario(), 1.0, 0)


def test_drawn_arrivals_are_a_poisson_process() -> None:
    arrivals = arrivals_ns(Scenario.parse("poisson:1000/s"), 100.0, 7)
    count, gaps = len(arrivals), np.diff(arrivals) / 1e6
    assert abs(count - 100_000) < 4 * math.sqrt(100_000)
    assert np.all(gaps >= 0)
    # Exponential: the deviation is the mean, and a gap outlasts it once in e times.
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.02)
    assert np.mean(gaps > gaps.mean()) == pytest.approx(1 / math.e, abs=0.01)


def test_a_seed_draws_the_same_again_and_another_does_not() -> None:
    scenario = Scenario.parse("poisson:50/s")
    first, again, other = (schedule_sha256(arrivals_ns(scenario, 3.0, s)) for s in (1, 1, 2))
    assert first == again != other
    assert len(first) == 64


US = 1_000


def samples(*batches: tuple[list[float], float, float]) -> Samples:
    """Batches as their arrivals, their start and their end, in microseconds."""
    rows = [(came, began, finish) for arrivals, began, finish in batches for came in arrivals]
    scheduled_ns, started_ns, finished_ns = (
        np.array([row[part] * US for row in rows], np.int64) for part in range(3)
    )
    return Samples(scheduled_ns, started_ns, finished_ns, "wall", from_schedule=True)


def test_waiting_for_others_is_told_apart_from_waiting_for_the_server() -> None:
    """The server is free at 100; one came at 40, one at 120, and they go at 150. Of the first batch
    nothing is told, since nothing is known before it."""
    batches = batches_of(samples(([0], 0, 100), ([40, 120], 150, 250)), Batcher(4, 110.0))
    assert batches.added_ns.tolist() == [50 * US, 30 * US]
    assert (batches.held.tolist(), batches.places.tolist()) == ([2], [2])
    assert batches.late_ns.tolist() == [0]
    assert len(batches_of(samples(), Batcher(4, 10.0)).added_ns) == 0


def test_a_batch_is_late_from_when_it_was_full_or_had_waited_or_the_server_was_free() -> None:
    batcher = Batcher(2, 100.0)
    timed_samples = samples(
        ([0], 100, 200),
        ([210, 230], 231, 300),  # full at 230
        ([310], 412, 500),  # has waited at 410
        ([420, 430], 503, 600),  # the server is free at 500
    )
    batches = batches_of(timed_samples, batcher)
    assert batches.late_ns.tolist() == [1 * US, 2 * US, 3 * US]
    assert lateness_ns(timed_samples, batcher).tolist() == [1 * US, 2 * US], (
        "the third found it busy"
    )


def test_a_server_is_as_busy_as_its_largest_batches_make_it() -> None:
    """A batch of four takes 1 ms: 2,000 requests a second need half of its time."""
    busy = samples(([0], 0, 900), ([10, 20, 30, 40], 900, 1900), ([50], 1900, 2800))
    assert batched_utilisation(busy, Batcher(4, 0.0), 2000.0) == pytest.approx(0.5)
    assert batched_utilisation(samples(([0], 0, 900)), Batcher(4, 0.0), 2000.0) == 0.0


def load_samples(*runs: tuple[int, int, int], lanes: list[int] | None = None) -> Samples:
    scheduled_ns, started_ns, finished_ns = np.array(runs, np.int64).reshape(-1, 3).T
    lane_numbers = None if lanes is None else np.array(lanes)
    return Samples(
        scheduled_ns, started_ns, finished_ns, "wall", from_schedule=True, lanes=lane_numbers
    )


@pytest.mark.parametrize(
    ("runs", "lanes", "late"),
    [
        # The second came while its lane was at work.
        ([(0, 5, 50), (40, 52, 90), (100, 107, 140), (140, 141, 150)], None, [0, 7, 1]),
        # What a late start makes others wait is late too.
        (
            [(0, 0, 10), (100, 160, 170), (120, 170, 180), (175, 180, 190), (200, 200, 210)],
            None,
            [60, 50, 5, 0],
        ),
        # Each lane has a last run of its own.
        ([(0, 1, 100), (10, 12, 30), (50, 53, 60), (90, 102, 120)], [0, 1, 1, 0], [0, 3]),
    ],
)
def test_a_run_is_late_that_began_after_its_time_on_a_lane_that_was_waiting(
    runs: list[tuple[int, int, int]], lanes: list[int] | None, late: list[int]
) -> None:
    assert lateness_ns(load_samples(*runs, lanes=lanes)).tolist() == late


def test_utilisation_is_the_mean_time_of_a_run_times_the_rate_over_the_lanes() -> None:
    """What passes between runs that queue is time that they take."""
    timeline = load_samples((0, 0, 2_000_000), (9_000_000, 9_000_000, 13_000_000))
    assert utilisation(timeline, 100.0, 1) == pytest.approx(0.3)
    assert utilisation(timeline, 100.0, 2) == pytest.approx(0.15)
    assert utilisation(load_samples(), 100.0, 1) == 0.0
    queued = load_samples(*((0, k * 1_500_000, k * 1_500_000 + 1_000_000) for k in range(3)))
    assert utilisation(queued, 1000.0, 1) == pytest.approx(1.5)


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
        load_samples(
            *zip(due.tolist(), started_ns.tolist(), (started_ns + 100).tolist(), strict=True)
        )
    )
    assert late[98] == 3_000
    assert (late[99:102] > 0).all()
    assert np.count_nonzero(late) == 4


SECOND = 1_000_000_000


def throughput_samples(*blocks: tuple[int, list[tuple[int, int]]]) -> Samples:
    """Of blocks: when all was due, and each run's start and end, in nanoseconds."""
    due = [moment for moment, runs in blocks for _ in runs]
    started_ns, finished_ns = zip(*(run for _, runs in blocks for run in runs), strict=True)
    return Samples(np.array(due), np.array(started_ns), np.array(finished_ns), "wall")


def test_a_blocks_lanes_count_together_and_pauses_between_blocks_do_not() -> None:
    """In whatever order the records lie."""
    first = [(100, 300), (110, 290), (300, 500), (295, 1100)]  # 4 runs in 1,000 ns
    second = [(9000, 9300), (9100, 9500)]  # 2 runs in 500 ns
    ordered = throughput_samples((50, first), (8000, second))
    due, started, finished = ordered.scheduled_ns, ordered.started_ns, ordered.finished_ns
    backwards = Samples(due[::-1], started[::-1], finished[::-1], "wall")
    assert runs_per_s(ordered) == runs_per_s(backwards) == pytest.approx(6 * SECOND / 1500)


def test_rounds_weigh_alike_and_three_give_an_interval() -> None:
    rounds = [throughput_samples((0, [(0, span)])) for span in (1000, 2000, 4000)]
    rate = rate_of(rounds)
    assert rate is not None and rate.interval is not None
    assert rate.per_s == pytest.approx(SECOND / 2000), "the geometric mean"
    assert rate.interval.low < rate.per_s < rate.interval.high
    two = rate_of(rounds[:2])
    assert two is not None and two.interval is None
    assert rate_of([]) is None


def round_of(latency_us: np.ndarray, seconds: float) -> Samples:
    started_ns = np.linspace(0, seconds * 1e9, len(latency_us)).astype(np.int64)
    finished_ns = started_ns + np.rint(latency_us * 1e3).astype(np.int64)
    return Samples(started_ns, started_ns, finished_ns, "wall")


def noisy(levels_us: np.ndarray) -> np.ndarray:
    return levels_us * (1.0 + np.random.default_rng(3).normal(0.0, 0.01, len(levels_us)))


@pytest.mark.parametrize(
    ("seconds", "part"), [(1.0, 0.1), (60.0, 6.0), (119.0, 11.9), (120.0, 60.0), (1800.0, 60.0)]
)
def test_minutes_are_compared_from_two_of_them_on_and_tenths_below(
    seconds: float, part: float
) -> None:
    assert part_s(seconds) == pytest.approx(part)


def test_both_ends_are_ranked_by_themselves() -> None:
    """10,000 runs in 300 s: the first minute holds 2,000 of them, all as slow as each other."""
    levels = np.full(10_000, 150.0)
    levels[:2000] = np.arange(2000) + 1.0
    levels[-2000:] = 2.0 * (np.arange(2000) + 1.0)
    summary = ends(round_of(levels, 300.0), 300.0)
    assert summary.first_p50_us == pytest.approx(1000.0, abs=2.0)
    assert summary.last_p50_us == pytest.approx(2000.0, abs=4.0)
    assert summary.first_p99_us == pytest.approx(1980.0, abs=2.0)
    assert summary.last_p99_us == pytest.approx(3960.0, abs=4.0)


PLACES = np.arange(30_000) / 100.0


@pytest.mark.parametrize(
    ("levels_us", "after_s"),
    [
        (np.where(PLACES < 120, 100.0, 125.0), 120.0),
        (np.linspace(100.0, 200.0, 30_000), 150.0),  # a ramp, when it is half way
        # Slow, fast again, then slow for good: the time of the second is told.
        (np.where(((PLACES > 60) & (PLACES < 90)) | (PLACES >= 180), 125.0, 100.0), 180.0),
        (np.where((PLACES > 90) & (PLACES < 150), 125.0, 100.0), None),
        (np.full(30_000, 100.0), None),
        (np.where(PLACES < 90, 125.0, 100.0), None),
    ],
    ids=["step", "ramp", "twice", "comes back", "stays", "gets faster"],
)
def test_a_move_to_a_slower_level_is_told_with_its_time(
    levels_us: np.ndarray, after_s: float | None
) -> None:
    told = ends(round_of(noisy(levels_us), 300.0), 300.0).slower_after_s
    assert told == (None if after_s is None else pytest.approx(after_s, abs=9.0))


def test_few_runs_bound_no_percentile() -> None:
    summary = ends(round_of(np.full(20, 100.0), 300.0), 300.0)
    assert (summary.first_p50_us, summary.first_p99_us, summary.slower_after_s) == (
        None,
        None,
        None,
    )
