"""Ratios of turns: what the sides share cancels, whatever the machine does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.stats.levels import ratio_in_turns, ratios_by_state, turn_medians
from app.stats.verdict import (
    NOT_RESOLVED,
    STATES_DIFFER,
    RoundPairs,
    Verdict,
    interval_of,
    judge_rounds,
)
from tests.simulated.turns import (
    KINDS,
    alike,
    held,
    holding,
    recorded,
    resampled,
    wrong_runs,
)


def test_the_ratio_is_of_cycles_in_which_both_had_a_turn() -> None:
    """A turn is what counts between two pauses."""
    latencies = np.array([90.0, 1.0, 2.0, 3.0, 80.0, 70.0, 5.0, 60.0, 7.0, 9.0])
    counted = np.array([0, 1, 1, 1, 0, 0, 1, 0, 1, 1], bool)
    assert turn_medians(latencies, counted).tolist() == [2.0, 5.0, 8.0]
    assert ratio_in_turns([1.0, 2.0, 4.0], [2.0, 4.0, 8.0, 9.0]) == pytest.approx(2.0)
    assert ratio_in_turns([1.0, 9.0, 4.0, 9.0], [3.0, 0.0, 12.0, 0.0]) == pytest.approx(3.0)
    for first, second in (([0.0, 1.0], [1.0, 0.0]), ([0.0], [1.0]), ([], [])):
        assert ratio_in_turns(first, second) is None


def levels(rng: np.random.Generator, cycles: int, stay: float) -> np.ndarray:
    """A machine with two speeds, of which each lasts for `1 / (1 - stay)` cycles in the mean."""
    is_slow = rng.random() < 0.5
    states = []
    for _ in range(cycles):
        is_slow ^= rng.random() > stay
        states.append(1.45 if is_slow else 1.0)
    return np.array(states)


FOREIGN = (
    "two levels, shared",
    "drift of 10 to 20 %, shared",
    "cycles AR 0.9, own",
    "1 process in 10 is 20 % slower",
    "turns t, 2, and 1 % 10x",
    "5 to 16 cycles, 10 %",
)


TRIES = 500


def limit(share: float) -> float:
    """What a share of tries is off by in three standard errors."""
    return 3.0 * math.sqrt(share * (1.0 - share) / TRIES)


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("sets", [pytest.param(5, marks=pytest.mark.rare), 8])
def test_intervals_hold_where_nothing_was_tuned(name: str, sets: int) -> None:
    """In 93 % of tries, and copies are called slower or faster in at most 5 %, as far as so many
    tries tell. The other kinds are in `python -m tests.benchmarks sets`."""
    (kind,) = (kind for kind in KINDS if kind.name == name)
    assert held(kind, sets, TRIES) / TRIES >= 0.93 - limit(0.93)
    copies = alike(kind, sets, TRIES)
    for band in (0.02, 0.005):
        assert wrong_runs(copies, 1, band) <= 0.05 + limit(0.05)


def test_a_recorded_run_of_a_copy_has_no_difference() -> None:
    """Eight sets of one real run hold the ratio of all, and none finds a difference of 2 %."""
    sides = recorded()
    (everything,) = resampled(sides, len(sides[0]), 1)
    assert everything is not None
    some = resampled(sides, 8, TRIES)
    assert holding(some, math.exp(everything.log)) / TRIES >= 0.93 - limit(0.93)
    assert wrong_runs(some, 1, 0.02) <= 0.05 + limit(0.05)


Sets = tuple[list[list[float]], list[list[float]]]


def engines(rng: np.random.Generator, ratio: float, factors: tuple[float, float]) -> Sets:
    """Eight sets of sixty cycles of two engines, which a disturbed machine slows by two factors. A
    change of state may come between the turns of a cycle."""
    sides: Sets = [], []
    for _ in range(8):
        states = levels(rng, 60, 0.9) > 1.0
        layouts = np.exp(rng.normal(0.0, 0.01, 2)) * (1.0, ratio)
        for side, layout, factor in zip(sides, layouts, factors, strict=True):
            noise = np.exp(rng.normal(0.0, 0.03, 60))
            side.append((layout * noise * np.where(states, factor, 1.0)).tolist())
            states = np.append(states[1:], states[-1])
    return sides


def judged(sets: Sets) -> Verdict:
    first = [float(np.median(turns)) for turns in sets[0]]
    ratios = [ratio_in_turns(*turns) for turns in zip(*sets, strict=True)]
    second = [a * ratio for a, ratio in zip(first, ratios, strict=True) if ratio]
    (verdict,) = judge_rounds([RoundPairs(first, second, states=ratios_by_state(*sets))])
    return verdict


def test_a_ratio_that_depends_on_the_state_is_decided_where_both_agree() -> None:
    rng, held = np.random.default_rng(11), [0, 0]
    for _ in range(100):
        verdict = judged(engines(rng, 1.18, (1.3, 1.6)))
        assert verdict.word == "slower" and verdict.difference is not None
        assert verdict.interval is not None and verdict.interval.low > 1.02
        for place, true in enumerate((1.18, 1.18 * 1.6 / 1.3)):
            state = interval_of(verdict.difference.states[place], 0.95)
            held[place] += state.low <= true <= state.high
    assert min(held) >= 93


@pytest.mark.parametrize(
    ("ratio", "factors", "reason"),
    [
        (1.18, (1.6, 1.25), STATES_DIFFER),
        (1.0, (1.25, 1.5), STATES_DIFFER),
        (1.012, (1.3, 1.6), NOT_RESOLVED),
    ],
)
def test_states_that_contradict_each_other_are_both_told(
    ratio: float, factors: tuple[float, float], reason: str
) -> None:
    rng = np.random.default_rng(12)
    verdicts = [judged(engines(rng, ratio, factors)) for _ in range(60)]
    assert {verdict.word for verdict in verdicts} == {"undecided"}
    assert sum(verdict.reason == reason for verdict in verdicts) >= 30
    assert all("disturbed" in verdict.detail for verdict in verdicts)


def test_two_versions_of_a_graph_have_one_ratio() -> None:
    """In all but one of 100 tries, and a copy is neither slower nor faster."""
    rng = np.random.default_rng(13)
    verdicts = [judged(engines(rng, 1.0, (1.45, 1.45))) for _ in range(100)]
    assert sum(v.difference is not None and bool(v.difference.states) for v in verdicts) <= 3
    assert {verdict.word for verdict in verdicts} <= {"same", "undecided"}


def test_a_machine_of_one_speed_has_no_states() -> None:
    turns = np.exp(np.random.default_rng(14).normal(0.0, 0.05, (2, 8, 60))).tolist()
    assert ratios_by_state(*turns) == ([], [])
