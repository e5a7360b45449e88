"""How often the one-sided bound of a percentile holds, counted over simulated runs."""

from __future__ import annotations

import zlib

import numpy as np

from app.stats.bound import upper_bound
from app.stats.early_stopping import early_stopping
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


def early_stopped(stream: Stream, rounds: int, runs: int, quantile: float, tries: int) -> Covered:
    """The same of MLPerf's estimate from all samples together."""
    rng = np.random.default_rng(zlib.crc32(f"mlperf {stream.name} {rounds} {runs}".encode()))
    claimed = held = 0
    for _ in range(tries):
        found = early_stopping(Rounds.of(stream.rounds(rng, rounds, runs)).pooled, quantile)
        if found.estimate is not None:
            claimed += 1
            held += stream.truth(quantile) <= found.estimate
    return Covered(tries, claimed, held, ())
