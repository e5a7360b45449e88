"""What a batcher made of the requests of one round: its batches, and the delay that it added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.cases.batcher import Batcher
from runtimes.execution import Samples


@dataclass(frozen=True, slots=True)
class Collected:
    """`held` are the requests of each batch [m], `places` the batch that it was filled up to [m].

    `added_ns` is how long each request [n] waited while the server was free: what the batcher
    itself added, told apart from waiting for a busy server. `late_ns` is how much later than
    by its rule each batch [m] began.
    """

    held: np.ndarray
    places: np.ndarray
    added_ns: np.ndarray
    late_ns: np.ndarray


def collected(samples: Samples, batcher: Batcher) -> Collected:
    """The batches of samples in the order of their start, of one server.

    Requests that started together were sent together. The server is free from the end of the
    batch before; before the first it was free all the time.
    """
    scheduled, started = samples.scheduled_ns, samples.started_ns
    first = np.flatnonzero(np.diff(started, prepend=started[:1] - 1))
    held = np.diff(first, append=len(started))
    last = first + held - 1
    free = np.concatenate([scheduled[:1], samples.finished_ns[last[:-1]]])
    added = started - np.maximum(scheduled, np.repeat(free, held))
    due = scheduled[first] + batcher.wait_ns
    due = np.where(held == batcher.most, np.minimum(due, scheduled[last]), due)
    return Collected(
        held,
        np.array([batcher.size_for(int(count)) for count in held], np.int64),
        added,
        started[first] - np.maximum(due, free),
    )
