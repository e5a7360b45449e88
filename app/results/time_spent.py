"""What a run spent its time on, from its journals, the largest part first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from app.results.run import Run

MEASUREMENT = "measurement"


@dataclass(frozen=True, slots=True)
class Part:
    """Seconds of one activity, by runtime where it is of one."""

    what: str
    seconds: float
    by_runtime: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TimeParts:
    """All of the time of a run's writers: the parts add up to `total_s`."""

    parts: tuple[Part, ...]

    @property
    def total_s(self) -> float:
        return sum(part.seconds for part in self.parts)

    def share(self, part: Part) -> float:
        return part.seconds / self.total_s

    @property
    def runtimes(self) -> tuple[str, ...]:
        named = (runtime for part in self.parts for runtime in part.by_runtime)
        return tuple(dict.fromkeys(sorted(named)))


def time_parts(run: Run) -> TimeParts | None:
    """None for a run that recorded none: it was killed, or written by an earlier version."""
    seconds: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for spent in run.time_spent:
        for what, by_runtime in spent.seconds.items():
            for runtime, value in by_runtime.items():
                seconds[what][runtime] += value
    parts = [
        Part(what, sum(of.values()), {name: value for name, value in of.items() if name})
        for what, of in seconds.items()
    ]
    found = TimeParts(tuple(sorted(parts, key=lambda part: part.seconds, reverse=True)))
    return found if found.total_s > 0 else None
