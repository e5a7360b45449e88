"""How often the interval of a percentile holds the truth, counted over simulated runs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from app.stats.typical import Rounds, marks_of, typical_quantile
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


def covered(
    stream: Stream, rounds: int, runs: int, quantiles: tuple[float, ...], tries: int
) -> dict[float, Covered]:
    """By quantile, for rounds of so many runs."""
    rng = np.random.default_rng(zlib.crc32(f"{stream.name} {rounds} {runs}".encode()))
    claimed, held = dict.fromkeys(quantiles, 0), dict.fromkeys(quantiles, 0)
    marks: tuple[str, ...] = ()
    for _ in range(tries):
        drawn = Rounds.of(stream.rounds(rng, rounds, runs))
        marks = marks_of(drawn)
        for quantile in quantiles:
            interval = typical_quantile(drawn, quantile).interval
            if interval is not None:
                claimed[quantile] += 1
                held[quantile] += interval.low <= stream.truth(quantile) <= interval.high
    return {q: Covered(tries, claimed[q], held[q], marks) for q in quantiles}
