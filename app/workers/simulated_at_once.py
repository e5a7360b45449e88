"""Several requests at once on a simulated card, whose transfers and computing overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.cases.scenario import Scenario
from runtimes.base import Session
from runtimes.execution import Queries, Samples

MOST_RUNS = 1_000_000
"""So many are simulated in one go: a sample of a multistream holds many runs."""


def simulate_at_once(
    session: Session, scenario: Scenario, count: int, rng: np.random.Generator
) -> Samples:
    """So many samples of `multistream:N`, each a query of N runs, or of `offline`, each a run of
    one block."""
    if scenario.kind == "offline":
        runs = session.simulate(Queries(1, count), rng)
        due = np.full_like(runs.started_ns, runs.started_ns[0])
        return Samples(due, runs.started_ns, runs.finished_ns, runs.clock)
    parts = list(_queries(session, scenario.count, count, rng))
    started, finished = (np.concatenate(times) for times in zip(*parts, strict=True))
    return Samples(started, started, finished, "simulated")


def _queries(
    session: Session, of: int, count: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """When queries of so many runs begin and end; each begins when the last is answered."""
    at_a_time, now_ns = max(MOST_RUNS // of, 1), 0
    for first in range(0, count, at_a_time):
        runs = session.simulate(Queries(min(at_a_time, count - first), of), rng)
        answered_ns = runs.finished_ns.reshape(-1, of).max(axis=1)
        yield now_ns + runs.started_ns[::of], now_ns + answered_ns
        now_ns += int(answered_ns[-1])
