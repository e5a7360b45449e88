"""Samples of an open loop taken apart: how late their generator was, how busy the lanes were."""

from __future__ import annotations

import numpy as np

from app.cases.batcher import Batcher
from app.stats.batching import collected
from runtimes.execution import Samples


def lateness_ns(samples: Samples, batcher: Batcher | None = None) -> np.ndarray:
    """How late each run began whose lane was already waiting for it, in ns [m].

    That is the fault of whoever begins runs; a run that came while its lane was at work waits for
    the work. A lane's first run is left out, since nothing says what was before it. With a
    `batcher` it is how late its batches began after they were to be sent.
    """
    if batcher is not None:
        told = collected(samples, batcher)
        return told.late_ns[told.idle]
    run, before_ns = _followers(samples)
    due = samples.scheduled_ns[run]
    late: np.ndarray = (samples.started_ns[run] - due)[before_ns <= due]
    return late


def utilisation(samples: Samples, rate_hz: float, lanes: int) -> float:
    """The share of their time that so many lanes need for so many runs a second.

    The mean time of a run times the rate over the lanes, as queueing theory has it; a run's time
    includes what passes between it and the last one where it had been waiting for that. 0 of none.
    """
    if not len(samples.started_ns):
        return 0.0
    run, before_ns = _followers(samples)
    begun = samples.started_ns[run]
    between = np.where(samples.scheduled_ns[run] < before_ns, begun - before_ns, 0)
    mean_ns = float(samples.service_ns.mean()) + (float(between.mean()) if len(run) else 0.0)
    return mean_ns * 1e-9 * rate_hz / lanes


def _followers(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Runs that have one before them on their lane [m]: which, and when that one had finished."""
    lanes = samples.lanes if samples.lanes is not None else np.zeros(len(samples.started_ns), int)
    order = np.lexsort((samples.started_ns, lanes))
    same = lanes[order][1:] == lanes[order][:-1]
    return order[1:][same], samples.finished_ns[order][:-1][same]
