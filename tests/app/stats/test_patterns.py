"""Levels, stalls, slow runs and slow passes: told where they are, and hardly ever where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from app.cases.telemetry import Disturbance
from app.stats.patterns import (
    Modes,
    Stalls,
    Timed,
    concordance,
    consensus_modes,
    modes,
    outlier_causes,
    outlier_mask,
    stalls,
)
from runtimes.execution import Samples
from tests.simulated.levels import ONE_LEVEL, TWO_LEVELS, back_to_back, two_levels, with_stalls
from tests.simulated.machines import fractional_noise

CASES, ROUNDS = 40, 4


def _find_modes(latency: np.ndarray) -> Modes | None:
    return modes(latency, np.sort(latency))


@pytest.mark.parametrize("name", ONE_LEVEL)
@pytest.mark.parametrize("runs", [1_000, 8_000])
def test_one_level_is_not_told_as_two(name: str, runs: int) -> None:
    """Of 40 cases none: at a rate of 5 % one in eight such tests would pass."""
    rng = np.random.default_rng(11)
    for _ in range(CASES):
        modes_by_round = [_find_modes(ONE_LEVEL[name](rng, runs)) for _ in range(ROUNDS)]
        assert consensus_modes(modes_by_round) is None


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_two_levels_are_found_where_they_are(name: str) -> None:
    rng = np.random.default_rng(12)
    results = [
        consensus_modes([_find_modes(TWO_LEVELS[name](rng, 8_000)) for _ in range(ROUNDS)])
        for _ in range(20)
    ]
    assert sum(result is not None for result in results) >= 18


def test_the_levels_and_the_share_are_those_that_were_drawn() -> None:
    rng = np.random.default_rng(13)
    levels = _find_modes(two_levels(1.36, 0.3, 0.02)(rng, 20_000))
    assert levels is not None
    # Five standard errors of a median of 6,000 runs that spread by 2 %, and of a share of 20,000.
    assert levels.low == pytest.approx(25.0, rel=0.002)
    assert levels.high == pytest.approx(34.0, rel=0.002)
    assert levels.high_share == pytest.approx(0.3, abs=0.017)


def test_too_few_runs_and_rounds_that_disagree_tell_nothing() -> None:
    rng = np.random.default_rng(14)
    draw = two_levels(1.5, 0.5, 0.02)
    assert _find_modes(draw(rng, 400)) is None
    rounds = [_find_modes(draw(rng, 4_000)), None, None]
    assert consensus_modes(rounds) is None
    assert consensus_modes([rounds[0], rounds[0], None]) is not None
    other_modes = Modes(100.0, 150.0, 0.5)
    assert consensus_modes([rounds[0], other_modes]) is None


RUNS, STALLS_ROUNDS = 4_000, 3


def _find_stalls(*latencies_us: np.ndarray) -> Stalls | None:
    """By a clock that began long before the rounds."""
    timed = ((*back_to_back(own), own) for own in latencies_us)
    return stalls([Timed(a + 1e15, b + 1e15, own, np.sort(own)) for a, b, own in timed])


@pytest.mark.parametrize("name", ONE_LEVEL)
def test_slow_runs_that_come_by_chance_have_no_beat(name: str) -> None:
    rng = np.random.default_rng(21)
    for _ in range(20):
        assert _find_stalls(*(ONE_LEVEL[name](rng, RUNS) for _ in range(STALLS_ROUNDS))) is None


@pytest.mark.parametrize(("stall_us", "period_us"), [(8_000.0, 20_000.0), (150.0, 4_000.0)])
def test_a_beat_is_told_with_its_period_its_stalls_and_their_share(
    stall_us: float, period_us: float
) -> None:
    rng = np.random.default_rng(22)
    plain = [25.0 * np.exp(0.05 * rng.standard_normal(RUNS)) for _ in range(STALLS_ROUNDS)]
    stalled_rounds = [with_stalls(rng, latencies, stall_us, period_us) for latencies in plain]
    stalls_found = _find_stalls(*stalled_rounds)
    assert stalls_found is not None
    assert stalls_found.period_ns / 1e3 == pytest.approx(period_us, rel=0.01)
    assert stalls_found.typical == pytest.approx(stall_us, rel=0.05)
    lost_us = sum(latencies.sum() for latencies in stalled_rounds) - sum(
        latencies.sum() for latencies in plain
    )
    assert stalls_found.time_share == pytest.approx(
        lost_us / sum(latencies.sum() for latencies in stalled_rounds), rel=0.05
    )


def test_a_few_stalls_and_every_other_run_are_no_beat() -> None:
    few = np.full(RUNS, 25.0)
    few[::500] = 4_000.0
    assert _find_stalls(few) is None
    alternating = np.where(np.arange(RUNS) % 4 == 0, 400.0, 25.0 + 0.01 * (np.arange(RUNS) % 7))
    assert _find_stalls(alternating) is None
    assert _find_stalls(np.zeros(RUNS)) is None


BLOCK_NS = 100_000_000


def timed(*slow: tuple[int, float]) -> Samples:
    """Two blocks of 1,000 runs of some 50 us, of which those at `slow` took so many ms."""
    latency = np.random.default_rng(5).normal(50_000, 500, 2000).astype(np.int64)
    started_ns = np.arange(2000, dtype=np.int64) * (BLOCK_NS // 1000)
    for place, ms in slow:
        latency[place] = ms * 1e6
    return Samples(started_ns, started_ns, started_ns + latency, "wall")


def first(**causes: float) -> Disturbance:
    return Disturbance(0, BLOCK_NS, **causes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("slow", "seen", "causes"),
    [
        ([(5, 4.0), (900, 1.0)], None, {"unseen": 2}),
        ([], {"involuntary_switches": 9}, {}),
        # A switch explains one run of its own block, and the slowest.
        (
            [(5, 4.0), (6, 1.0), (7, 0.4), (1500, 9.0)],
            {"involuntary_switches": 2},
            {"switch": 2, "unseen": 2},
        ),
        # Who was a little late did not lose its core.
        ([(place, 0.09) for place in range(100, 150)], {"steal_ms": 10.0}, {"unseen": 50}),
        (
            [(5, 8.0), (6, 4.0), (7, 2.0), (8, 1.0)],
            {"steal_ms": 0.0, "involuntary_switches": 1, "major_faults": 1, "low_clock": True},
            {"switch": 1, "page fault": 1, "clock": 2},
        ),
        ([(5, 8.0), (1500, 4.0)], {"many_interrupts": True}, {"interrupts": 1, "unseen": 1}),
    ],
)
def test_each_slow_run_has_one_cause_of_what_its_block_saw(
    slow: list[tuple[int, float]], seen: dict[str, float] | None, causes: dict[str, int]
) -> None:
    disturbances = () if seen is None else (first(**seen),)
    assert outlier_causes(timed(*slow), disturbances) == causes
    none = np.zeros(0, np.int64)
    assert outlier_causes(Samples(none, none, none, "wall"), disturbances) == {}


def test_stolen_time_explains_no_more_than_was_stolen() -> None:
    slow = timed((5, 15.0), (6, 90.0), (1500, 9.0))
    assert outlier_causes(slow, [first(steal_ms=10.0)]) == {"steal": 1, "unseen": 2}
    many = timed(*((place, 0.5) for place in range(100, 200)))
    causes = outlier_causes(many, [first(steal_ms=10.0)])
    assert 40 <= causes["steal"] <= 20 / 0.44, "some 0.45 ms each, of one tick and at most one more"


def test_a_large_shape_is_slow_by_nature_and_no_outlier() -> None:
    shapes = np.array([0, 0, 0, 1] * 100)
    latency = np.where(shapes == 1, 50_000, 1_000) + np.arange(400) % 7
    latency[200] = 9_000
    times = np.zeros(400, np.int64)
    samples = Samples(times, times, latency, "wall", shapes=shapes)
    assert np.flatnonzero(outlier_mask(samples)).tolist() == [200]
    assert np.count_nonzero(outlier_mask(replace(samples, shapes=None))) >= 100


TRIES = 500


def test_the_coefficient_is_that_of_kendall() -> None:
    rising, falling = [1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]
    concordant = concordance([rising, [10.0 * value for value in rising], rising])
    assert concordant is not None and concordant.coefficient == pytest.approx(1.0)
    assert concordant.is_significant
    discordant = concordance([rising, falling])
    assert discordant is not None and discordant.coefficient == pytest.approx(0.0)
    # Sums of ranks 3, 3, 7, 8, 9 about their mean of 6: 9 + 9 + 1 + 4 + 9 = 32 of at most 40.
    swapped_pairs = concordance([rising, [2.0, 1.0, 4.0, 3.0, 5.0]])
    assert swapped_pairs is not None and swapped_pairs.coefficient == pytest.approx(
        12 * 36 / (4 * 120)
    )


@pytest.mark.parametrize("figures", [[], [[1.0] * 8], [[1.0] * 4, [2.0] * 4]])
def test_one_case_or_few_passes_show_nothing(figures: list[list[float]]) -> None:
    assert concordance(figures) is None


@pytest.mark.parametrize(("cases", "passes"), [(2, 5), (2, 8), (4, 8), (20, 8), (4, 40)])
@pytest.mark.parametrize("kind", ["normal", "skewed", "heavy tails", "modes", "coarse clock"])
def test_independent_cases_are_rarely_concordant(kind: str, cases: int, passes: int) -> None:
    rng = np.random.default_rng(7)
    draw: Callable[[], np.ndarray] = {
        "normal": lambda: rng.standard_normal((cases, passes)),
        "skewed": lambda: rng.exponential(size=(cases, passes)),
        "heavy tails": lambda: rng.standard_t(2, (cases, passes)),
        "modes": lambda: rng.choice([1.0, 1.1, 1.2], (cases, passes)),
        "coarse clock": lambda: rng.choice([1.0, 1.0, 1.0, 1.1], (cases, passes)),
    }[kind]
    results = [concordance(draw().tolist()) for _ in range(TRIES)]
    wrong = sum(result is not None and result.is_significant for result in results)
    assert wrong / TRIES <= 0.01 + 3 * (0.01 * 0.99 / TRIES) ** 0.5
    equal = concordance(np.ones((cases, passes)).tolist())
    assert equal is not None and not equal.is_significant


def test_a_machine_that_wanders_is_found_by_several_cases() -> None:
    """Levels with long memory that all cases share, and as much noise of their own."""
    rng = np.random.default_rng(8)
    detections = 0
    for _ in range(TRIES):
        levels = fractional_noise(rng, 8, 0.9)
        levels /= levels.std()
        figures = np.exp(0.02 * (levels + rng.standard_normal((6, 8))))
        result = concordance(figures.tolist())
        detections += result is not None and result.is_significant
    assert detections / TRIES >= 0.9
