"""The JSON that `polygraphy run --save-outputs` writes: outputs, and what each inference took."""

from __future__ import annotations

import re
import statistics
from typing import Any

from app.runs.importing.foreign_file import (
    Content,
    Damaged,
    ForeignCase,
    NoTimings,
    consecutive_timings,
    duration,
    objects,
)

_RUNNER = re.compile(r"(?P<name>.+-runner-N\d+)-\d\d/.*")
"""A runner's name ends with when it was made, which is nothing that sets two cases apart."""


def recognises(content: Content) -> bool:
    """Whether Polygraphy wrote it."""
    return isinstance(content.data, dict) and content.data.get("polygraphy_class") == "RunResults"


def read(content: Content) -> list[ForeignCase]:
    """A case for each runner, whose runs are the iterations."""
    runners = content.data.get("lst")
    if not isinstance(runners, list):
        raise Damaged("it has no list of runners")
    cases = [_case_of(runner) for runner in runners]
    if not cases:
        raise NoTimings("no runner ran")
    return cases


def _case_of(runner: Any) -> ForeignCase:
    if not (isinstance(runner, list) and len(runner) == 2 and isinstance(runner[0], str)):
        raise Damaged(f"a runner is {runner!r:.40}")
    name, iterations = runner[0], objects(runner[1], "the iterations of a runner")
    durations = [item.get("runtime") for item in iterations]
    if not durations or None in durations:
        raise NoTimings(f"the runner {name} timed nothing")
    seconds = [duration(item) for item in durations]
    match = _RUNNER.fullmatch(name)
    return ForeignCase(
        "",
        "wall of Polygraphy, time.time",
        "one inference of a runner, from and to host memory",
        figures={
            "latency_mean_us": 1e6 * statistics.fmean(seconds),
            "latency_min_us": 1e6 * min(seconds),
            "latency_p50_us": 1e6 * statistics.median(seconds),
            "latency_max_us": 1e6 * max(seconds),
        },
        rounds=(consecutive_timings(seconds),),
        options={"runner": match["name"] if match else name},
    )
