"""What a batcher made of the requests of one round: its batches, and the delay that it added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.cases.batcher import Batcher
from runtimes.execution import Samples


@dataclass(frozen=True, slots=True)
class Collected:
    """`held` are the requests of each batch [m], `places` what it was filled up to [m].

    `added_ns` is how long each request [n] waited while the server was free: what the batcher
    itself added, told apart from waiting for a busy server. `late_ns` is how much later than
    by its rule each batch [m] began, `idle` whether the server was free by then, `service_ns`
    how long it ran.
    """

    held: np.ndarray
    places: np.ndarray
    added_ns: np.ndarray
    late_ns: np.ndarray
    idle: np.ndarray
    service_ns: np.ndarray


def collected(samples: Samples, batcher: Batcher) -> Collected:
    """The batches of samples in the order of their start, of one server.

    Requests that started together were sent together. The server is free from the end of the
    batch before, so that the first is left out: nothing says what was before it, and requests
    that were sent with these may not be among the samples.
    """
    scheduled, started = samples.scheduled_ns, samples.started_ns
    first = np.flatnonzero(np.diff(started)) + 1
    held = np.diff(first, append=len(started))
    last = first + held - 1
    free = samples.finished_ns[first - 1]
    behind = slice(first[0], None) if len(first) else slice(0)
    added = started[behind] - np.maximum(scheduled[behind], np.repeat(free, held))
    due = scheduled[first] + batcher.wait_ns
    due = np.where(held == batcher.most, np.minimum(due, scheduled[last]), due)
    return Collected(
        held,
        np.array([batcher.size_for(int(count)) for count in held], np.int64),
        added,
        started[first] - np.maximum(due, free),
        free <= due,
        samples.service_ns[first],
    )


def batched_utilisation(samples: Samples, batcher: Batcher, rate_hz: float) -> float:
    """The share of its time that the server needs for so many requests a second.

    In the largest batches that were sent, since these are what is sent once requests queue. What
    the dispatcher takes for one is typically part of their time; a batch that was sent much too
    late has become large by that. 0 where too few were sent to tell.
    """
    told = collected(samples, batcher)
    largest = int(told.held.max(initial=0))
    if not largest:
        return 0.0
    batch_ns = float(told.service_ns[told.held == largest].mean() + np.median(told.late_ns))
    return batch_ns * 1e-9 * rate_hz / largest
