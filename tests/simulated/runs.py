"""Runs of the same code on a machine that differs from run to run, and what is called of two."""

from __future__ import annotations

import math

import numpy as np

from app.stats.verdict import RunVariation, difference, from_history, judge

ROUND_DEVIATION = 0.03
"""What the rounds of a run differ by."""


def run_of(
    rng: np.random.Generator, deviation: float, rounds: int, change: float = 0.0
) -> list[float]:
    """The rounds' figures of a run whose own level differs by so much."""
    level = np.log(100.0 * (1.0 + change)) + deviation * rng.standard_normal()
    figures: list[float] = np.exp(level + ROUND_DEVIATION * rng.standard_normal(rounds)).tolist()
    return figures


def past_of(
    rng: np.random.Generator, deviation: float, rounds: int, runs: int
) -> RunVariation | None:
    """What so many earlier runs show."""
    logs = [np.log(run_of(rng, deviation, rounds)) for _ in range(runs)]
    errors = [float(np.std(round_logs, ddof=1)) / math.sqrt(rounds) for round_logs in logs]
    return from_history([float(round_logs.mean()) for round_logs in logs], errors=errors)


def called(
    rng: np.random.Generator,
    deviation: float,
    rounds: int,
    variation: RunVariation | None,
    change: float = 0.0,
) -> bool:
    """Whether the second of two runs is called faster or slower; it is slower by `change`."""
    first, second = run_of(rng, deviation, rounds), run_of(rng, deviation, rounds, change)
    (verdict,) = judge([difference(first, second, in_turn=False, variation=variation)])
    return verdict.word in ("faster", "slower")
