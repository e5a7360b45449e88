"""When the requests of one round of an open loop come: all of them, drawn before the first."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
_START_SEED = 1 << 63
"""Beyond all seeds of 63 bits: the start has gaps of its own."""


@dataclass(frozen=True, slots=True)
class RoundSchedule:
    """Requests at `offsets_ns` [n] of a round that is `seconds` long, `rate_hz` on average.

    A `batcher` sends several of them together. The first `start_requests`, of `start_s`, bring the
    queue into its steady state and are not counted.
    """

    offsets_ns: np.ndarray
    seconds: float
    rate_hz: float
    batcher: Batcher | None = None
    start_requests: int = 0
    start_s: float = 0.0

    @property
    def counted_from_ns(self) -> int:
        """When the first request that is counted is due."""
        return int(self.offsets_ns[self.start_requests])

    @property
    def sha256(self) -> str:
        """Names the requests that are counted, by their times from the end of the start."""
        return schedule_sha256(self.offsets_ns[self.start_requests :] - round(self.start_s * 1e9))

    @property
    def patience_s(self) -> float:
        """What waits when the schedule is over is still served for so long, if lanes keep up."""
        return self.seconds + (self.batcher.wait_us * 1e-6 if self.batcher else 0.0)

    def became(self, served: Samples, lanes: int, begun_ns: int = 0) -> OpenLoop:
        """What became of its requests: the runs that were served, by so many lanes."""
        seconds = float(served.finished_ns.max(initial=begun_ns) - begun_ns) * 1e-9
        return OpenLoop(
            schedule_sha256=self.sha256,
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
    it is unknown. Whatever it is, the requests that are counted are the same.
    """
    seconds = schedule_s(scenario, limits)
    offsets_ns = arrivals_ns(scenario, seconds, seed)
    if not len(offsets_ns):
        raise Unsupported(
            f"{scenario} brought no request within the {seconds:g} s of a round",
            "use a higher rate, or a longer --preset",
        )
    counted = RoundSchedule(offsets_ns, seconds, scenario.arrivals_hz, batcher)
    return _with_start(counted, scenario, capacity_hz, seed)


def simulated_schedule(
    scenario: Scenario, count: int, seed: int, capacity_hz: float = 0.0
) -> RoundSchedule:
    """As many requests as a simulated round has runs, after its start."""
    rate_hz = scenario.arrivals_hz
    enough_s = (count + 8 * math.sqrt(count) + max(scenario.count, 16)) / rate_hz
    offsets_ns = arrivals_ns(scenario, enough_s, seed)[:count]
    counted = RoundSchedule(offsets_ns, float(offsets_ns[-1]) * 1e-9, rate_hz)
    return _with_start(counted, scenario, capacity_hz, seed)


def _with_start(
    counted: RoundSchedule, scenario: Scenario, capacity_hz: float, seed: int
) -> RoundSchedule:
    """The same after the start that its queue takes, at most as long as what is counted."""
    rate_hz = scenario.arrivals_hz
    wanted_s = settling_s(rate_hz, capacity_hz, drawn=scenario.kind == "poisson")
    at_most_s = min(counted.seconds, MOST_ARRIVALS / rate_hz - counted.seconds)
    # Whole gaps, so that even requests stay even.
    gap_s = max(scenario.count, 1) / rate_hz
    start_s = math.floor(min(wanted_s, at_most_s) / gap_s) * gap_s
    if start_s <= 0.0:
        return counted
    start_ns = arrivals_ns(scenario, start_s, seed + _START_SEED)
    return replace(
        counted,
        offsets_ns=np.concatenate([start_ns, round(start_s * 1e9) + counted.offsets_ns]),
        seconds=start_s + counted.seconds,
        start_requests=len(start_ns),
        start_s=start_s,
    )
