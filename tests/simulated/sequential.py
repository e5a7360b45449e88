"""How often sequential comparisons of alike cases are wrong, and how many rounds changes take."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.cases.objectives import BAND
from app.stats.required_rounds import SequentialRule
from app.stats.verdict import RoundPairs, Verdict, judge_rounds
from tests.simulated.aa import Processes


@dataclass(frozen=True, slots=True)
class Ending:
    """The verdicts of one run, and how many rounds each comparison had."""

    verdicts: Sequence[Verdict]
    rounds: Sequence[int]

    @property
    def is_wrong_without_change(self) -> bool:
        """Whether any of these alike cases was called faster or slower."""
        return any(verdict.word in ("faster", "slower") for verdict in self.verdicts)


def sequential_run(
    first: np.ndarray, second: np.ndarray, band: float = BAND, confidence: float | None = None
) -> Ending:
    """One run of comparisons [comparisons, rounds], looked at until all are decided.

    A comparison gets no more rounds once it is decided. `confidence` is that of every look, in
    place of the rule's.
    """
    count, maximum = first.shape
    rule = SequentialRule(maximum)
    rounds = [rule.looks[0]] * count
    while True:
        pairs = [
            RoundPairs(first[k][:n], second[k][:n], figure="p50") for k, n in enumerate(rounds)
        ]
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


def endings(
    processes: Processes,
    shape: tuple[int, int],
    runs: int,
    change: float = 0.0,
    band: float = BAND,
    confidence: float | None = None,
) -> list[Ending]:
    """Runs of comparisons and rounds of this `shape`, the second sides slower by a share."""
    rng = np.random.default_rng(zlib.crc32(f"{processes.name} {shape} {change}".encode()))
    return [
        sequential_run(
            processes.figures(rng, shape),
            (1.0 + change) * processes.figures(rng, shape),
            band,
            confidence,
        )
        for _ in range(runs)
    ]
