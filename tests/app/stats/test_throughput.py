"""The rate of blocks: each from its first start to its last end, with all lanes together."""

from __future__ import annotations

import numpy as np
import pytest

from app.stats.summary import rate_of, runs_per_s
from runtimes.execution import Samples

SECOND = 1_000_000_000


def samples(*blocks: tuple[int, list[tuple[int, int]]]) -> Samples:
    """Of blocks: when all was due, and each run's start and end, in nanoseconds."""
    due = [moment for moment, runs in blocks for _ in runs]
    started_ns, finished_ns = zip(*(run for _, runs in blocks for run in runs), strict=True)
    return Samples(np.array(due), np.array(started_ns), np.array(finished_ns), "wall")


def test_a_blocks_lanes_count_together_and_pauses_between_blocks_do_not() -> None:
    first = [(100, 300), (110, 290), (300, 500), (295, 1100)]  # 4 runs in 1,000 ns
    second = [(9000, 9300), (9100, 9500)]  # 2 runs in 500 ns
    assert runs_per_s(samples((50, first), (8000, second))) == pytest.approx(6 * SECOND / 1500)


def test_records_may_lie_in_any_order() -> None:
    ordered_samples = samples((50, [(100, 200), (150, 300)]), (500, [(600, 700)]))
    reversed_samples = Samples(
        ordered_samples.scheduled_ns[::-1],
        ordered_samples.started_ns[::-1],
        ordered_samples.finished_ns[::-1],
        "wall",
    )
    assert (
        runs_per_s(reversed_samples)
        == runs_per_s(ordered_samples)
        == pytest.approx(3 * SECOND / 300)
    )


def test_rounds_weigh_alike_and_three_give_an_interval() -> None:
    rounds = [samples((0, [(0, span)])) for span in (1000, 2000, 4000)]
    rate = rate_of(rounds)
    assert rate is not None and rate.interval is not None
    assert rate.per_s == pytest.approx(SECOND / 2000), "the geometric mean"
    assert rate.interval.low < rate.per_s < rate.interval.high
    two = rate_of(rounds[:2])
    assert two is not None and two.interval is None
    assert rate_of([]) is None
