"""How many runs a second the blocks of a scenario hold in which all requests are due at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.stats.between import interval_between, typical
from app.stats.quantiles import CONFIDENCE, Interval
from app.stats.round_correlation import MOSTLY_DEPENDENT, RARELY_DEPENDENT, round_correlation
from runtimes.execution import Samples


@dataclass(frozen=True, slots=True)
class Rate:
    """Runs in a second of a typical process, and of each; `interval` is None with fewer than three
    rounds."""

    per_s: float
    interval: Interval | None
    by_round: tuple[float, ...]


def rate_of(
    rounds: Sequence[Samples],
    confidence: float = CONFIDENCE,
    starts_s: Sequence[float] = (),
    is_contended: bool = False,
) -> Rate | None:
    """The rate of a typical process, and its interval; None without samples.

    `starts_s` are the times at which the rounds began, empty where one is not known;
    `is_contended`: other work took the core from them.
    """
    own = np.array([runs_per_s(samples) for samples in rounds if len(samples.started_ns)])
    if not len(own):
        return None
    prior = MOSTLY_DEPENDENT if is_contended else RARELY_DEPENDENT
    inflation = round_correlation(own, starts_s, prior).inflation
    return Rate(typical(own), interval_between(own, confidence, inflation), tuple(own.tolist()))


def runs_per_s(samples: Samples) -> float:
    """All runs of a round over the time that its blocks took together.

    A block is what was due at one moment, and takes from the first start in it to the last end,
    whichever lanes these were of: what a lane does between its runs is part of it, and so is the
    end, when lanes that find no more to do wait for the last.
    """
    order = np.argsort(samples.scheduled_ns, kind="stable")
    due, started, finished = (
        times[order] for times in (samples.scheduled_ns, samples.started_ns, samples.finished_ns)
    )
    first = np.flatnonzero(np.concatenate([[True], np.diff(due) > 0]))
    spent_ns = np.maximum.reduceat(finished, first) - np.minimum.reduceat(started, first)
    return len(due) * 1e9 / float(spent_ns.sum())
