"""How often the one-sided bound of a percentile holds, counted over simulated runs."""

from __future__ import annotations

import zlib

import numpy as np

from app.stats.bound import upper_bound
from app.stats.typical import Rounds, marks_of
from tests.simulated.coverage import Covered
from tests.simulated.streams import Stream


def bounded(
    stream: Stream, rounds: int, runs: int, quantiles: tuple[float, ...], tries: int
) -> dict[float, Covered]:
    """By quantile, for rounds of so many runs."""
    rng = np.random.default_rng(zlib.crc32(f"bound {stream.name} {rounds} {runs}".encode()))
    claimed, held = dict.fromkeys(quantiles, 0), dict.fromkeys(quantiles, 0)
    marks: tuple[str, ...] = ()
    for _ in range(tries):
        drawn = Rounds.of(stream.rounds(rng, rounds, runs))
        marks = marks_of(drawn)
        for quantile in quantiles:
            bound = upper_bound(drawn, quantile).value
            if bound is not None:
                claimed[quantile] += 1
                held[quantile] += stream.truth(quantile) <= bound
    return {q: Covered(tries, claimed[q], held[q], marks) for q in quantiles}
