"""Queueing of an open loop: arrival times, batches, utilisation, steady state.

The requests of the start, before the steady state, are not counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from app.cases.scenario import Batcher, Scenario
from runtimes.execution import Samples


def arrivals_ns(scenario: Scenario, duration_s: float, seed: int) -> np.ndarray:
    """All arrivals of so long, int64 nanoseconds [n] from its beginning, ascending.

    Even ones begin one gap after it, drawn ones (exponential gaps, so a Poisson process) and
    bursts likewise. ValueError for a scenario that is no open loop.
    """
    if not scenario.is_open_loop:
        raise ValueError(f"{scenario} has no arrivals that are fixed beforehand")
    if scenario.form.due == "at random":
        return _poisson_times(scenario.rate_hz, duration_s, seed)
    at_once = max(scenario.count, 1)
    gap_ns = at_once * 1e9 / scenario.arrivals_hz
    times = np.rint(np.arange(1, int(duration_s * 1e9 / gap_ns) + 1) * gap_ns).astype(np.int64)
    return np.repeat(times, at_once)


def _poisson_times(rate_hz: float, duration_s: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    expected = rate_hz * duration_s
    # Enough but for once in 10^15 times; then some more.
    count = int(expected + 8 * expected**0.5) + 16
    times_s = np.cumsum(rng.exponential(1 / rate_hz, count))
    while times_s[-1] < duration_s:
        extra = times_s[-1] + np.cumsum(rng.exponential(1 / rate_hz, count))
        times_s = np.concatenate([times_s, extra])
    return np.rint(times_s[times_s < duration_s] * 1e9).astype(np.int64)


def schedule_sha256(arrivals: np.ndarray) -> str:
    """64 hex digits that name these arrivals: of their int64 values, little-endian."""
    return hashlib.sha256(np.ascontiguousarray(arrivals, "<i8").tobytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Batches:
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


def batches_of(samples: Samples, batcher: Batcher) -> Batches:
    """The batches of samples in the order of their start, of one server.

    Requests that started together were sent together. The server is free from the end of the
    batch before, so that the first is left out: nothing says what was before it, and requests
    that were sent with these may not be among the samples.
    """
    scheduled_ns, starts_ns = samples.scheduled_ns, samples.started_ns
    first = np.flatnonzero(np.diff(starts_ns)) + 1
    sizes = np.diff(first, append=len(starts_ns))
    last = first + sizes - 1
    free_ns = samples.finished_ns[first - 1]
    rest = slice(first[0], None) if len(first) else slice(0)
    added_ns = starts_ns[rest] - np.maximum(scheduled_ns[rest], np.repeat(free_ns, sizes))
    due = scheduled_ns[first] + batcher.wait_ns
    due = np.where(sizes == batcher.most, np.minimum(due, scheduled_ns[last]), due)
    return Batches(
        sizes,
        np.array([batcher.size_for(int(count)) for count in sizes], np.int64),
        added_ns,
        starts_ns[first] - np.maximum(due, free_ns),
        free_ns <= due,
        samples.service_ns[first],
    )


def batched_utilisation(samples: Samples, batcher: Batcher, rate_hz: float) -> float:
    """The share of its time that the server needs for so many requests a second.

    In the largest batches that were sent, since these are what is sent once requests queue. What
    the dispatcher takes for one is typically part of their time; a batch that was sent much too
    late has become large by that. 0 where too few were sent to tell.
    """
    batches = batches_of(samples, batcher)
    largest = int(batches.held.max(initial=0))
    if not largest:
        return 0.0
    batch_ns = float(
        batches.service_ns[batches.held == largest].mean() + np.median(batches.late_ns)
    )
    return batch_ns * 1e-9 * rate_hz / largest


def lateness_ns(samples: Samples, batcher: Batcher | None = None) -> np.ndarray:
    """How much later each run began than if its lane had begun every one in time, in ns [m].

    The latter is Lindley's recursion over the runs of a lane: a run begins when it is due, or
    when the one before it has ended, and the typical time between two runs has passed. So what a
    late start made later runs wait counts too. A lane's first run is left out, since nothing says
    what was before it. With a `batcher` it is how late its batches began after they were to be
    sent.
    """
    if batcher is not None:
        batches = batches_of(samples, batcher)
        return batches.late_ns[batches.idle]
    lanes, between_ns = _lanes(samples), _gaps_ns(samples)
    typical_ns = int(np.median(between_ns)) if len(between_ns) else 0
    late = [np.empty(0, np.int64)]
    for lane in np.unique(lanes):
        indices = np.flatnonzero(lanes == lane)
        indices = indices[np.argsort(samples.started_ns[indices], kind="stable")]
        starts_ns, due = samples.started_ns[indices], samples.scheduled_ns[indices].copy()
        due[0] = starts_ns[0]
        waited_for = np.append(due[1:] < samples.finished_ns[indices][:-1], False)
        durations = samples.service_ns[indices] + typical_ns * waited_for
        prior_service = np.cumsum(durations) - durations
        in_time = prior_service + np.maximum.accumulate(due - prior_service)
        late.append(np.maximum(starts_ns - in_time, 0)[1:])
    return np.concatenate(late)


def utilisation(samples: Samples, rate_hz: float, lanes: int) -> float:
    """The share of their time that so many lanes need for so many runs a second.

    The mean time of a run times the rate over the lanes, as queueing theory has it; a run's time
    includes what passes between it and the last one where it had been waiting for that. 0 of none.
    """
    if not len(samples.started_ns):
        return 0.0
    between_ns = _gaps_ns(samples).sum() / max(len(samples.started_ns) - 1, 1)
    return float(samples.service_ns.mean() + between_ns) * 1e-9 * rate_hz / lanes


def _gaps_ns(samples: Samples) -> np.ndarray:
    """What passed between two runs of a lane of which the second was due before, in ns [k]."""
    lanes = _lanes(samples)
    order = np.lexsort((samples.started_ns, lanes))
    is_same_lane = lanes[order][1:] == lanes[order][:-1]
    run, before_ns = order[1:][is_same_lane], samples.finished_ns[order][:-1][is_same_lane]
    gaps_ns: np.ndarray = samples.started_ns[run] - before_ns
    return gaps_ns[samples.scheduled_ns[run] < before_ns]


def _lanes(samples: Samples) -> np.ndarray:
    """The number of each run's lane [n]."""
    return np.zeros(len(samples.started_ns), int) if samples.lanes is None else samples.lanes


RELAXATIONS = 3.0
"""The start is so many relaxation times of the queue. From an empty beginning the share of waits
beyond the stationary p99 is 0.5 % after one, 0.9 % after two and 0.97 % after three."""
_MAXIMUM_BUSY = 0.99
"""The relaxation time of a queue without spare capacity is infinite."""


def settling_s(rate_hz: float, capacity_hz: float, is_random: bool) -> float:
    """Seconds until a queue that begins empty has its stationary waits, by its rates alone.

    `capacity_hz` is how many requests a second are served when there is always one waiting.
    In heavy traffic the backlog is a reflected Brownian motion with drift -d and variance s^2 for
    each service, d being 1 - utilisation; its relaxation time is 2 s^2 / d^2 services (J. Abate and
    W. Whitt, Adv. Appl. Prob. 19, 1987). s^2 is the sum of the squared coefficients of variation of
    the gaps and of the services. The latter is taken as 1, that of exponential services; that of
    the gaps is 1 if they are `drawn` and 0 if they are even. 0 where requests come faster than they
    can be served: there is no steady state.
    """
    if capacity_hz <= 0.0 or rate_hz >= capacity_hz:
        return 0.0
    spare = 1.0 - min(rate_hz / capacity_hz, _MAXIMUM_BUSY)
    variance = 2.0 if is_random else 1.0
    return RELAXATIONS * 2.0 * variance / spare**2 / capacity_hz


def knee(curve: Iterable[tuple[float, float]]) -> float | None:
    """Of rates with their latencies the rate of the greatest rate per latency, a queue's power
    (L. Kleinrock, ICC 1979): beyond it waiting grows faster than what is served."""
    return max(curve, key=lambda point: point[0] / point[1], default=(None, 0.0))[0]
