"""Samples of an open loop taken apart: how late their generator was, how busy the lanes were."""

from __future__ import annotations

import numpy as np

from app.cases.batcher import Batcher
from app.stats.batching import collected
from runtimes.execution import Samples


def lateness_ns(samples: Samples, batcher: Batcher | None = None) -> np.ndarray:
    """How much later each run began than if its lane had begun every one in time, in ns [m].

    The latter is Lindley's recursion over the runs of a lane: a run begins when it is due, or
    when the one before it has ended, and the typical time between two runs has passed. So what a
    late start made later runs wait counts too. A lane's first run is left out, since nothing says
    what was before it. With a `batcher` it is how late its batches began after they were to be
    sent.
    """
    if batcher is not None:
        told = collected(samples, batcher)
        return told.late_ns[told.idle]
    lanes, between_ns = _lanes(samples), _between_ns(samples)
    typical_ns = int(np.median(between_ns)) if len(between_ns) else 0
    late = [np.empty(0, np.int64)]
    for lane in np.unique(lanes):
        own = np.flatnonzero(lanes == lane)
        own = own[np.argsort(samples.started_ns[own], kind="stable")]
        started, due = samples.started_ns[own], samples.scheduled_ns[own].copy()
        due[0] = started[0]
        took = samples.service_ns[own] + typical_ns
        before = np.cumsum(took) - took
        in_time = before + np.maximum.accumulate(due - before)
        late.append(np.maximum(started - in_time, 0)[1:])
    return np.concatenate(late)


def utilisation(samples: Samples, rate_hz: float, lanes: int) -> float:
    """The share of their time that so many lanes need for so many runs a second.

    The mean time of a run times the rate over the lanes, as queueing theory has it; a run's time
    includes what passes between it and the last one where it had been waiting for that. 0 of none.
    """
    if not len(samples.started_ns):
        return 0.0
    between_ns = _between_ns(samples).sum() / max(len(samples.started_ns) - 1, 1)
    return float(samples.service_ns.mean() + between_ns) * 1e-9 * rate_hz / lanes


def _between_ns(samples: Samples) -> np.ndarray:
    """What passed between two runs of a lane of which the second was due before, in ns [k]."""
    lanes = _lanes(samples)
    order = np.lexsort((samples.started_ns, lanes))
    same = lanes[order][1:] == lanes[order][:-1]
    run, before_ns = order[1:][same], samples.finished_ns[order][:-1][same]
    between: np.ndarray = samples.started_ns[run] - before_ns
    return between[samples.scheduled_ns[run] < before_ns]


def _lanes(samples: Samples) -> np.ndarray:
    """The number of each run's lane [n]."""
    return np.zeros(len(samples.started_ns), int) if samples.lanes is None else samples.lanes
