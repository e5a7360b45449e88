"""How often the interval of a percentile holds the truth, counted over simulated runs."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.stats.estimates import Rounds, marks_of, typical_quantile
from tests.simulated.streams import Stream


@dataclass(frozen=True, slots=True)
class Covered:
    """Of so many `tries` there was an interval in `claimed`, which held the truth in `held`."""

    tries: int
    claimed: int
    held: int
    marks: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of those that were claimed; 1 where none was."""
        return self.held / self.claimed if self.claimed else 1.0

    @property
    def absent(self) -> bool:
        """Claimed so rarely that no user meets it: in less than a tenth of the runs."""
        return self.claimed < self.tries / 10


Holds = Callable[[Rounds, float, float], bool | None]
"""Whether what is claimed of a quantile holds the truth; None where nothing is claimed."""


def counted(
    label: str,
    holds: Holds,
    stream: Stream,
    rounds: int,
    runs: int,
    quantiles: tuple[float, ...],
    tries: int,
) -> dict[float, Covered]:
    """By quantile, for rounds of so many runs; `label` draws other streams than another."""
    rng = np.random.default_rng(zlib.crc32(f"{label}{stream.name} {rounds} {runs}".encode()))
    claim_counts, hit_counts = dict.fromkeys(quantiles, 0), dict.fromkeys(quantiles, 0)
    marks: tuple[str, ...] = ()
    for _ in range(tries):
        simulated_rounds = Rounds.of(stream.rounds(rng, rounds, runs))
        marks = marks_of(simulated_rounds)
        for quantile in quantiles:
            held_here = holds(simulated_rounds, quantile, stream.truth(quantile))
            if held_here is not None:
                claim_counts[quantile] += 1
                hit_counts[quantile] += held_here
    return {q: Covered(tries, claim_counts[q], hit_counts[q], marks) for q in quantiles}


def covered(
    stream: Stream, rounds: int, runs: int, quantiles: tuple[float, ...], tries: int
) -> dict[float, Covered]:
    """Of the interval, by quantile."""
    return counted("", _interval, stream, rounds, runs, quantiles, tries)


def _interval(rounds: Rounds, quantile: float, truth: float) -> bool | None:
    interval = typical_quantile(rounds, quantile).interval
    return None if interval is None else interval.low <= truth <= interval.high
