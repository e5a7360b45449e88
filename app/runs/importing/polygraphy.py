"""The JSON that `polygraphy run --save-outputs` writes: outputs, and what each inference took."""

from __future__ import annotations

import re
import statistics
from typing import Any

from app.runs.importing.foreign_file import (
    Content,
    Damaged,
    Found,
    NoTimings,
    duration,
    laid_out,
    objects,
)

_RUNNER = re.compile(r"(?P<name>.+-runner-N\d+)-\d\d/.*")
"""A runner's name ends with when it was made, which is nothing that sets two cases apart."""


def recognises(content: Content) -> bool:
    """Whether Polygraphy wrote it."""
    return isinstance(content.data, dict) and content.data.get("polygraphy_class") == "RunResults"


def read(content: Content) -> list[Found]:
    """A case for each runner, whose runs are the iterations."""
    runners = content.data.get("lst")
    if not isinstance(runners, list):
        raise Damaged("it has no list of runners")
    found = [_found(one) for one in runners]
    if not found:
        raise NoTimings("no runner ran")
    return found


def _found(runner: Any) -> Found:
    if not (isinstance(runner, list) and len(runner) == 2 and isinstance(runner[0], str)):
        raise Damaged(f"a runner is {runner!r:.40}")
    name, iterations = runner[0], objects(runner[1], "the iterations of a runner")
    took = [one.get("runtime") for one in iterations]
    if not took or None in took:
        raise NoTimings(f"the runner {name} timed nothing")
    seconds = [duration(one) for one in took]
    match = _RUNNER.fullmatch(name)
    return Found(
        "",
        "wall of Polygraphy, time.time",
        "one inference of a runner, from and to host memory",
        figures={
            "latency_mean_us": 1e6 * statistics.fmean(seconds),
            "latency_min_us": 1e6 * min(seconds),
            "latency_p50_us": 1e6 * statistics.median(seconds),
            "latency_max_us": 1e6 * max(seconds),
        },
        rounds=(laid_out(seconds),),
        options={"runner": match["name"] if match else name},
    )
