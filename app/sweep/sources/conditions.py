"""What a condition changes of a round before its process starts, and where it has no meaning."""

from __future__ import annotations

from dataclasses import replace

from app.cases.condition import Condition
from app.cases.round import Limits
from runtimes.base import Runtime


def why_not(condition: Condition, runtime: Runtime) -> str:
    """Why no round of the runtime can be under the condition, in one sentence; empty if it can."""
    if condition.kind == "none" or runtime.clock != "simulated":
        return ""
    return f"a simulated card is as fast under {condition}: leave --condition out"


def limits_under(condition: Condition, limits: Limits) -> Limits:
    """A sustained round ends with its time, however many samples it has by then."""
    if condition.kind != "sustained":
        return limits
    return replace(limits, min_s=condition.seconds, max_s=condition.seconds, min_samples=1)
