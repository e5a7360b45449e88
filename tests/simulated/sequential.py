"""How often sequential comparisons of alike cases are wrong, and how many rounds others take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.quantiles import CONFIDENCE
from app.stats.round_pairs import RoundPairs, judge_rounds
from app.stats.sequential import SequentialRule
from app.stats.verdict import Verdict

NOISE = 0.03
"""Standard deviation of the logarithm of a figure from process to process."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The verdicts of one run, and how many rounds each comparison had."""

    verdicts: Sequence[Verdict]
    rounds: Sequence[int]


def sequential_run(
    rng: np.random.Generator,
    changes: Sequence[float],
    maximum: int,
    band: float = 0.0,
    confidence: float | None = None,
) -> Ending:
    """One run with a comparison for each change, looked at until all are decided.

    A comparison gets no more rounds once it is decided. `confidence` is that of every look, in
    place of the rule's.
    """
    rule, count = SequentialRule(maximum), len(changes)
    noise = NOISE * rng.standard_normal((2, count, maximum))
    first, second = np.exp(noise[0]), np.exp(noise[1] + np.log1p(changes)[:, np.newaxis])
    rounds = [rule.looks[0]] * count
    while True:
        pairs = [RoundPairs(first[k][:n], second[k][:n]) for k, n in enumerate(rounds)]
        levels = [rule.confidence_at(n) if confidence is None else confidence for n in rounds]
        verdicts = judge_rounds(pairs, band, levels)
        waiting = [
            k
            for k, verdict in enumerate(verdicts)
            if verdict.word == "undecided" and rounds[k] < maximum
        ]
        if not waiting:
            return Ending(verdicts, rounds)
        for k in waiting:
            rounds[k] = rule.look_after(rounds[k])


def fixed_run(rng: np.random.Generator, change: float, rounds: int, band: float = 0.0) -> Verdict:
    """The verdict of one comparison of a fixed number of rounds."""
    noise = NOISE * rng.standard_normal((2, rounds))
    pairs = RoundPairs(np.exp(noise[0]), (1.0 + change) * np.exp(noise[1]))
    return judge_rounds([pairs], band, CONFIDENCE)[0]


def wrong_runs(
    comparisons: int, maximum: int, runs: int, seed: int, confidence: float | None = None
) -> int:
    """Of so many runs of cases without a change, those that called any faster or slower."""
    rng = np.random.default_rng(seed)
    endings = (
        sequential_run(rng, [0.0] * comparisons, maximum, confidence=confidence)
        for _ in range(runs)
    )
    return sum(
        any(verdict.word in ("faster", "slower") for verdict in ending.verdicts)
        for ending in endings
    )
