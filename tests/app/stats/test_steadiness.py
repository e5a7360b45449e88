"""What settles, what moves, and the start of a round that is not counted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
import pytest

from app.cases.round import Limits
from app.cases.scenario import Scenario
from app.stats.open_loop import settling_s
from app.stats.steadiness import (
    has_settled,
    movement,
    noise,
    slope,
    step,
    trend_z,
    window_medians,
)
from app.workers.open_loop import MAXIMUM_ARRIVALS, timed_schedule
from tests.simulated.queues import SERVICE_NS

REPEATS = 300


Draw = Callable[[np.random.Generator, int], np.ndarray]


def windows_of(sigma: float, runs: int, spikes: float = 0.0) -> Draw:
    """Windows of so many runs, log-normal, a few of them five times as long."""

    def draw(rng: np.random.Generator, windows: int) -> np.ndarray:
        latency = np.exp(sigma * rng.standard_normal((windows, runs)))
        latency[rng.random(latency.shape) < spikes] *= 5.0
        medians: np.ndarray = 100.0 * np.median(latency, axis=1)
        return medians

    return draw


STATIONARY: dict[str, Draw] = {
    "150 us, 5 %": windows_of(0.05, 300),
    "150 us, 20 %": windows_of(0.2, 300),
    "1 ms, 20 %, spikes": windows_of(0.2, 50, 0.02),
    "10 ms, 10 %": windows_of(0.1, 5),
    "30 ms, 5 %": windows_of(0.05, 3),
    "uniform": lambda rng, windows: rng.uniform(95.0, 105.0, windows),
    "two modes": lambda rng, windows: rng.choice([100.0, 104.0], windows),
}


@pytest.mark.parametrize("kind", STATIONARY)
def test_what_does_not_move_settles_soon(kind: str) -> None:
    """Warm-up looks after each window until its cap, 60 windows at 50 ms."""
    rng = np.random.default_rng(1)
    late = 0
    for _ in range(REPEATS):
        medians = STATIONARY[kind](rng, 20)
        late += not any(has_settled(medians[: end + 1].tolist()) for end in range(20))
    assert late / REPEATS <= 0.01


@pytest.mark.parametrize("kind", STATIONARY)
@pytest.mark.parametrize("windows", [20, 80])
def test_a_round_that_does_not_move_is_flat(kind: str, windows: int) -> None:
    rng = np.random.default_rng(2)
    movements = [movement(STATIONARY[kind](rng, windows).tolist()) for _ in range(REPEATS)]
    false = sum(result is None or result.word != "flat" for result in movements)
    assert false / REPEATS <= 0.05


@pytest.mark.parametrize("noise", [0.001, 0.005, 0.01])
def test_a_drift_is_neither_settled_nor_flat(noise: float) -> None:
    rng = np.random.default_rng(3)
    settled_early = detections = 0
    for _ in range(REPEATS):
        medians = 100.0 * (1 + noise * rng.standard_normal(20)) * (1 + 0.01 * np.arange(20))
        settled_early += bool(has_settled(medians[:10].tolist()))
        result = movement(medians.tolist())
        detections += result is not None and result.word == "slowed down"
    assert settled_early / REPEATS <= 0.02
    assert detections / REPEATS >= 0.9


@pytest.mark.parametrize("noise", [0.001, 0.005, 0.01])
@pytest.mark.parametrize("windows", [20, 80])
def test_a_shift_of_three_percent_is_found(noise: float, windows: int) -> None:
    rng = np.random.default_rng(4)
    detections = 0
    for _ in range(REPEATS):
        place = rng.integers(windows // 5, windows - windows // 5)
        level = np.where(np.arange(windows) < place, 100.0, 103.0)
        result = movement((level * (1 + noise * rng.standard_normal(windows))).tolist())
        detections += result is not None and result.word != "flat"
    assert detections / REPEATS >= 0.9


def test_a_step_and_a_drift_are_told_apart_and_by_how_much() -> None:
    rng = np.random.default_rng(5)
    noise = 1 + 0.002 * rng.standard_normal(40)
    step = movement((np.repeat([100.0, 106.0], 20) * noise).tolist())
    down = movement((np.linspace(105.0, 100.0, 40) * noise).tolist())
    assert step is not None and down is not None
    assert step.word == "level moves" and step.change == pytest.approx(0.06, abs=0.005)
    assert down.word == "warmed up" and down.change == pytest.approx(-0.05, abs=0.005)


def test_a_decaying_warm_up_is_not_settled_while_more_than_a_percent_is_to_come() -> None:
    """10 % that decay with 0.4 s, judged in the half second in which 3 to 10 % are left."""
    rng = np.random.default_rng(6)
    early = 0
    for _ in range(REPEATS):
        time_s = 0.05 * np.arange(10)
        medians = 100.0 * (1 + 0.1 * np.exp(-time_s / 0.4)) * (1 + 0.005 * rng.standard_normal(10))
        early += bool(has_settled(medians.tolist()))
    assert early / REPEATS <= 0.01


@pytest.mark.parametrize("count", range(8, 14))
def test_slope_trend_and_step_are_those_of_all_pairs_and_places(count: int) -> None:
    windows = np.random.default_rng(count).integers(95, 105, count).astype(float)
    pairs = list(combinations(range(count), 2))
    assert slope(windows) == np.median([(windows[j] - windows[i]) / (j - i) for i, j in pairs])
    score = sum(np.sign(windows[j] - windows[i]) for i, j in pairs)
    variance = count * (count - 1) * (2 * count + 5) / 18
    assert trend_z(windows) == pytest.approx((score - np.sign(score)) / variance**0.5)
    spread = (sum((b - a) ** 2 for a, b in pairwise(windows)) / (count - 1) / 2) ** 0.5
    assert noise(windows) == pytest.approx(spread)
    errors = {
        place: (windows[place:].mean() - windows[:place].mean())
        / (spread * (1 / place + 1 / (count - place)) ** 0.5)
        for place in range(1, count)
    }
    place = max(errors, key=lambda place: abs(errors[place]))
    assert step(windows) == pytest.approx((place, errors[place]))


def test_too_few_windows_say_nothing() -> None:
    """Equal ones are settled and flat."""
    assert has_settled([100.0] * 9) is None
    assert movement([100.0] * 7) is None
    assert has_settled([7.0] * 10) is True
    flat = movement([7.0] * 20)
    assert flat is not None and flat.word == "flat"


def test_windows_are_widened_until_they_hold_enough_runs() -> None:
    started_ns = np.arange(0, 1_000_000_000, 10_000_000)
    latency = np.full(len(started_ns), 9_000_000)
    assert len(window_medians(started_ns, latency, 0.05, 1)) == 19
    assert len(window_medians(started_ns, latency, 0.05, 30)) == 3
    assert window_medians(started_ns, latency, 0.05, 60).tolist() == [9e6]
    assert len(window_medians(started_ns[:5], latency[:5], 0.05, 30)) == 0


CAPACITY_HZ = 1e9 / SERVICE_NS


def test_the_start_follows_from_the_rates() -> None:
    assert settling_s(900.0, 1000.0, is_random=True) == pytest.approx(1.2)
    assert settling_s(900.0, 1000.0, is_random=False) == pytest.approx(0.6)
    assert settling_s(500.0, 1000.0, is_random=True) == pytest.approx(0.048)
    assert settling_s(5.0, 10.0, is_random=True) == pytest.approx(4.8), "in services"
    assert settling_s(1000.0, 1000.0, is_random=True) == 0.0, "there is no steady state"
    assert settling_s(900.0, 0.0, is_random=True) == 0.0, "what is served is unknown"


@pytest.mark.parametrize("word", ["poisson:900/s", "rate:900/s", "burst:9@10ms"])
def test_what_counts_is_the_same_whatever_the_start(word: str) -> None:
    scenario, limits = Scenario.parse(word), Limits(min_s=2.0)
    plain = timed_schedule(scenario, limits, 5)
    schedule = timed_schedule(scenario, limits, 5, None, CAPACITY_HZ)
    assert (plain.start_requests, plain.start_s) == (0, 0.0)
    assert schedule.start_requests > 400
    start_ns = round(1e9 * schedule.start_s)
    assert (schedule.offsets_ns[schedule.start_requests :] - start_ns).tolist() == (
        plain.offsets_ns.tolist()
    )
    assert schedule.sha256 == plain.sha256
    assert (np.diff(schedule.offsets_ns) >= 0).all()
    assert schedule.seconds == pytest.approx(plain.seconds + schedule.start_s)
    if word.startswith("rate"):
        assert np.ptp(np.diff(schedule.offsets_ns)) <= 2, "even ones stay even"


def test_the_start_is_at_most_as_long_as_what_counts() -> None:
    busy = timed_schedule(Scenario.parse("poisson:999/s"), Limits(min_s=1.0), 1, None, 1000.0)
    assert busy.start_s <= 1.0 + 1e-9
    fast = timed_schedule(
        Scenario.parse("poisson:4000000/s"), Limits(min_s=1.0), 1, None, 4_100_000.0
    )
    assert len(fast.offsets_ns) <= 1.01 * MAXIMUM_ARRIVALS
