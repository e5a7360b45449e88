"""Both speeds of a machine: found where there are two, hardly ever where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.levels import Speeds, speeds, window_medians
from tests.simulated.levels import ONE_LEVEL

TRIES, PROCESSES = 40, 8
US, RUNS = 25.0, 10_000


def _process(rng: np.random.Generator, levels: tuple[float, ...], spell_s: float) -> np.ndarray:
    """The levels of some 0.25 s of runs of 25 us, each in spells of so long at the mean."""
    level, spells = int(rng.integers(len(levels))), np.empty(0)
    while len(spells) < RUNS:
        latency_us = US * levels[level]
        count = int(rng.exponential(spell_s) * 1e6 / latency_us) + 1
        spells = np.append(spells, np.full(count, latency_us))
        level = (level + int(rng.integers(1, max(2, len(levels))))) % len(levels)
    return spells[:RUNS]


def _round(
    rng: np.random.Generator,
    levels: tuple[float, ...],
    spell_s: float = 0.05,
    noise: float = 0.02,
    own: float = 0.004,
    drift: float = 0.0,
    slow: float = 0.0,
) -> np.ndarray:
    runs = _process(rng, levels, spell_s)
    runs *= np.exp(noise * rng.standard_normal(len(runs)) + own * rng.standard_normal())
    runs *= 1.0 + rng.choice([-1, 1]) * drift * np.linspace(0.0, 1.0, len(runs))
    runs[rng.random(len(runs)) < slow] *= 10.0
    return np.round(1e3 * runs)


def _found(rng: np.random.Generator, levels: tuple[float, ...], **traits: float) -> list[Speeds]:
    tries = (
        speeds([window_medians(_round(rng, levels, **traits)) for _ in range(PROCESSES)])
        for _ in range(TRIES)
    )
    return [one for one in tries if one is not None]


ALONE = {"noise": 0.005}, {"noise": 0.05}, {"drift": 0.1}, {"slow": 0.01}, {"own": 0.1}


@pytest.mark.parametrize("traits", ALONE, ids=str)
def test_one_speed_is_not_told_as_two(traits: dict[str, float]) -> None:
    assert not _found(np.random.default_rng(3), (1.0,), **traits)


@pytest.mark.parametrize("name", ONE_LEVEL)
@pytest.mark.parametrize("unit_ns", [1e3, 4e4])
def test_no_kind_of_noise_is_a_speed(name: str, unit_ns: float) -> None:
    """One in 40 tries at most: one of 7,200 found a second level."""
    rng, draw = np.random.default_rng(8), ONE_LEVEL[name]
    tries = [
        speeds([window_medians(draw(rng, 3000) * unit_ns) for _ in range(PROCESSES)])
        for _ in range(TRIES)
    ]
    assert sum(one is not None for one in tries) <= 1


@pytest.mark.parametrize("levels", [(1.0, 1.25), (1.0, 1.25, 1.6), (1.0, 1.1), (1.0, 1.7)], ids=str)
@pytest.mark.parametrize(
    "traits", [{"spell_s": 0.015}, {"spell_s": 0.2}, {"slow": 0.01, "drift": 0.02}], ids=str
)
def test_the_undisturbed_p50_is_found(levels: tuple[float, ...], traits: dict[str, float]) -> None:
    """In 36 of 40 tries at least, within 0.5 % at the median, and its interval holds in 85 %."""
    found = _found(np.random.default_rng(5), levels, **traits)
    assert len(found) >= 36
    true_ns = 1e3 * US
    assert np.median([one.p50 for one in found]) == pytest.approx(true_ns, rel=0.005)
    held = [one.interval.low <= true_ns <= one.interval.high for one in found if one.interval]
    assert sum(held) >= 0.85 * len(held)
    assert np.median([one.factor for one in found]) >= 1.02 * levels[1] / 1.03
    assert sum(one.is_usual for one in found) >= 36


def test_what_each_process_keeps_is_no_speed() -> None:
    """Four at one level and four at another; all of them slower from the middle on."""
    rng = np.random.default_rng(2)
    kept = [_round(rng, (1.0 if place % 2 else 1.3,)) for place in range(PROCESSES)]
    stepped = [np.concatenate([runs, 1.3 * runs]) for runs in kept[1::2]]
    for rounds in (kept, stepped):
        assert speeds([window_medians(runs) for runs in rounds]) is None


def test_a_level_that_one_process_met_is_not_usual() -> None:
    rng = np.random.default_rng(4)
    rounds = [_round(rng, (1.0, 1.3), 0.02), *(_round(rng, (1.3,)) for _ in range(6))]
    rounds.append(np.concatenate([_round(rng, (1.3,)), _round(rng, (1.0,))[:500]] * 2))
    found = speeds([window_medians(runs) for runs in rounds])
    assert found is not None and not found.is_usual
    assert found.interval is None
    rounds[1] = _round(rng, (1.0, 1.3), 0.02)
    found = speeds([window_medians(runs) for runs in rounds])
    assert found is not None and found.is_usual


def test_levels_that_outlast_processes_are_known_by_one_leap_where_two_begin_on_each() -> None:
    fast, slow = (np.linspace(level, 1.01 * level, 20) for level in (100.0, 130.0))
    leaping = np.concatenate([fast[:10], slow[:10]])
    assert speeds([fast, leaping, slow, slow]) is not None
    assert speeds([fast, leaping, slow]) is None
