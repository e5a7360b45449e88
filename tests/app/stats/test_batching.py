"""What a batcher made of requests is read from when they came, began and ended."""

from __future__ import annotations

import numpy as np
import pytest

from app.cases.scenario import Batcher
from app.stats.open_loop import batched_utilisation, batches_of, lateness_ns
from runtimes.execution import Samples

US = 1_000


def samples(*batches: tuple[list[float], float, float]) -> Samples:
    """Batches as their arrivals, their start and their end, in microseconds."""
    rows = [(came, began, finish) for arrivals, began, finish in batches for came in arrivals]
    scheduled_ns, started_ns, finished_ns = (
        np.array([row[part] * US for row in rows], np.int64) for part in range(3)
    )
    return Samples(scheduled_ns, started_ns, finished_ns, "wall", from_schedule=True)


def test_waiting_for_others_is_told_apart_from_waiting_for_the_server() -> None:
    """The server is free at 100; one came at 40, one at 120, and they go at 150."""
    batches = batches_of(samples(([0], 0, 100), ([40, 120], 150, 250)), Batcher(4, 110.0))
    assert batches.added_ns.tolist() == [50 * US, 30 * US]
    assert (batches.held.tolist(), batches.places.tolist()) == ([2], [2])
    assert batches.late_ns.tolist() == [0]


def test_a_batch_is_late_from_when_it_was_full_or_had_waited_or_the_server_was_free() -> None:
    batcher = Batcher(2, 100.0)
    timed_samples = samples(
        ([0], 100, 200),
        ([210, 230], 231, 300),  # full at 230
        ([310], 412, 500),  # has waited at 410
        ([420, 430], 503, 600),  # the server is free at 500
    )
    batches = batches_of(timed_samples, batcher)
    assert batches.late_ns.tolist() == [1 * US, 2 * US, 3 * US]
    assert lateness_ns(timed_samples, batcher).tolist() == [1 * US, 2 * US], (
        "the third found it busy"
    )


def test_the_first_batch_is_not_told_since_nothing_is_known_before_it() -> None:
    assert len(batches_of(samples(([0, 1, 2], 10, 20)), Batcher(4, 10.0)).held) == 0
    assert len(batches_of(samples(), Batcher(4, 10.0)).added_ns) == 0


def test_a_server_is_as_busy_as_its_largest_batches_make_it() -> None:
    """A batch of four takes 1 ms: 2,000 requests a second need half of its time."""
    busy = samples(([0], 0, 900), ([10, 20, 30, 40], 900, 1900), ([50], 1900, 2800))
    assert batched_utilisation(busy, Batcher(4, 0.0), 2000.0) == pytest.approx(0.5)
    assert batched_utilisation(samples(([0], 0, 900)), Batcher(4, 0.0), 2000.0) == 0.0
