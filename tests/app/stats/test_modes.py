"""Two levels are told where there are two, and hardly ever where there is one.

Reduced: `python -m tests.benchmarks noticed` has the whole table.
"""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.patterns import Modes, consensus_modes, modes
from tests.simulated.levels import ONE_LEVEL, TWO_LEVELS, two_levels

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
