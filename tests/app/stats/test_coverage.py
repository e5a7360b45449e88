"""Intervals hold what they say, on streams of which some played no part in choosing them.

Reduced: 150 tries a cell, so that a true 95 % is seen as 91 to 99 %; `python -m
tests.benchmarks coverage` has the whole table.
"""

from __future__ import annotations

import math

import pytest

from tests.seldom import seldom_but
from tests.simulated.coverage import Covered, covered
from tests.simulated.streams import AUDITED, UNSEEN, Stream

TRIES = 150
LEAST = {"continuous": 0.93, "tails": 0.88, "modes": 0.85}
QUICK = (
    *("log-normal", "bimodal", "AR 0.9", "processes 3 %", "processes 1 %, AR 0.99", "preempted"),
    *("clock states", "heavy processes"),
)


def least(share: float, tries: int) -> float:
    """Three standard errors below."""
    return share - 3.0 * math.sqrt(share * (1.0 - share) / tries)


def held(coverage: Covered, share: float) -> bool:
    return coverage.absent or coverage.share >= least(share, coverage.claimed)


@pytest.mark.parametrize(
    "stream", seldom_but(QUICK, [*AUDITED, *UNSEEN], lambda stream: stream.name)
)
def test_eight_rounds_hold_the_truth(stream: Stream) -> None:
    for quantile, coverage in covered(stream, 8, 5000, (0.5, 0.9, 0.99), TRIES).items():
        assert held(coverage, LEAST[stream.kind]), (quantile, coverage)
        assert coverage.marks == ()


@pytest.mark.parametrize(
    "stream", seldom_but(QUICK, [*AUDITED, *UNSEEN], lambda stream: stream.name)
)
def test_what_fewer_rounds_or_short_ones_miss_is_marked(stream: Stream) -> None:
    for rounds, runs, mark in ((7, 5000, "few_rounds"), (8, 500, "few_runs")):
        for coverage in covered(stream, rounds, runs, (0.5, 0.9, 0.99), 1).values():
            assert mark in coverage.marks
