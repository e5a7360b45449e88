"""When the requests of one round of an open loop come: all of them, drawn before the first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.cases.batcher import Batcher
from app.cases.open_loop import OpenLoop
from app.cases.round import Limits
from app.cases.scenario import Scenario
from app.stats.arrivals import arrivals_ns, schedule_sha256
from app.stats.batching import batched_utilisation
from app.stats.load import utilisation
from app.stats.steady_state import settling_s
from runtimes.execution import Samples
from runtimes.faults import Unsupported

MOST_ARRIVALS = 1 << 22
"""A round draws no more: at rates from a million a second on it is shorter, and fits in memory."""
_WARM_SHARE, _WARM_COUNT = 0.1, 20
"""So much beyond the least number of samples, since first runs do not count."""


@dataclass(frozen=True, slots=True)
class RoundSchedule:
    """Requests at `offsets_ns` [n] of a round that is `seconds` long, `rate_hz` on average.

    A `batcher` sends several of them together. Those of the first `start_s` bring the queue into
    its steady state and are not counted.
    """

    offsets_ns: np.ndarray
    seconds: float
    rate_hz: float
    batcher: Batcher | None = None
    start_s: float = 0.0

    @property
    def counted_from_ns(self) -> int:
        """Requests due earlier than so long after the beginning are not counted."""
        return round(self.start_s * 1e9)

    @property
    def start_requests(self) -> int:
        """How many are due before that."""
        return int(np.searchsorted(self.offsets_ns, self.counted_from_ns))

    @property
    def patience_s(self) -> float:
        """What waits when the schedule is over is still served for so long, if lanes keep up."""
        return self.seconds + (self.batcher.wait_us * 1e-6 if self.batcher else 0.0)

    def became(self, served: Samples, lanes: int, begun_ns: int = 0) -> OpenLoop:
        """What became of its requests: the runs that were served, by so many lanes."""
        seconds = float(served.finished_ns.max(initial=begun_ns) - begun_ns) * 1e-9
        return OpenLoop(
            schedule_sha256=schedule_sha256(self.offsets_ns),
            due=len(self.offsets_ns),
            left=len(self.offsets_ns) - len(served.finished_ns),
            seconds=max(seconds, self.seconds),
            utilisation=self.utilisation(served, lanes),
            start_requests=self.start_requests,
            start_s=self.start_s,
        )

    def utilisation(self, served: Samples, lanes: int) -> float:
        """The share of their time that so many lanes need for requests at this rate."""
        if self.batcher is not None:
            return batched_utilisation(served, self.batcher, self.rate_hz)
        return utilisation(served, self.rate_hz, lanes)


def schedule_s(scenario: Scenario, limits: Limits) -> float:
    """How long the counted part of a round is: for `min_s` and `min_samples`, at most `max_s`."""
    rate_hz = scenario.arrivals_hz
    enough_s = (limits.min_samples * (1 + _WARM_SHARE) + _WARM_COUNT) / rate_hz
    return min(max(limits.min_s, enough_s), limits.max_s, MOST_ARRIVALS / rate_hz)


def timed_schedule(
    scenario: Scenario,
    limits: Limits,
    seed: int,
    batcher: Batcher | None = None,
    capacity_hz: float = 0.0,
) -> RoundSchedule:
    """The requests of a timed round; Unsupported where none comes in its time.

    `capacity_hz` is how many requests a second are served when there is always one waiting, 0 where
    it is unknown. The start is at most as long as the counted part.
    """
    counted_s = schedule_s(scenario, limits)
    start_s = min(settling_s(scenario.arrivals_hz, capacity_hz, _drawn(scenario)), counted_s)
    seconds = start_s + counted_s
    offsets_ns = arrivals_ns(scenario, seconds, seed)
    if not len(offsets_ns) or offsets_ns[-1] < start_s * 1e9:
        raise Unsupported(
            f"{scenario} brought no request within the {seconds:g} s of a round",
            "use a higher rate, or a longer --profile",
        )
    return RoundSchedule(offsets_ns, seconds, scenario.arrivals_hz, batcher, start_s)


def simulated_schedule(
    scenario: Scenario, count: int, seed: int, capacity_hz: float = 0.0
) -> RoundSchedule:
    """The start, and as many requests after it as a simulated round has runs."""
    rate_hz = scenario.arrivals_hz
    enough_s = (count + 8 * math.sqrt(count) + max(scenario.count, 16)) / rate_hz
    start_s = min(settling_s(rate_hz, capacity_hz, _drawn(scenario)), enough_s)
    offsets_ns = arrivals_ns(scenario, start_s + enough_s, seed)
    offsets_ns = offsets_ns[: int(np.searchsorted(offsets_ns, round(start_s * 1e9))) + count]
    return RoundSchedule(offsets_ns, float(offsets_ns[-1]) * 1e-9, rate_hz, start_s=start_s)


def _drawn(scenario: Scenario) -> bool:
    return scenario.kind == "poisson"
