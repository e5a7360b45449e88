"""What a condition changes of a round before its process starts, and where it has no meaning."""

from __future__ import annotations

from dataclasses import replace

from app.cases.case import Case
from app.cases.condition import Condition
from app.cases.given import Given
from app.cases.neighbour import NeighbourJob
from app.cases.round import Limits
from exporters.request import ExportReply
from runtimes.base import Runtime
from runtimes.options import SESSIONS, Settings


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


def neighbour_case(case: Case) -> Case | None:
    """The neighbour's model at its own sizes, as something to export; None without one."""
    if case.condition.kind != "with":
        return None
    given = Given(custom_ops=case.given.custom_ops)
    return Case(case.condition.model, case.runtime, case.precision, given=given)


def neighbour_job(
    case: Case, settings: Settings, beside: ExportReply | None
) -> NeighbourJob | None:
    """What the neighbour's process is told: as the case is compiled, but in one session."""
    if beside is None or beside.model is None:
        return None
    options = {name: value for name, value in settings.options.items() if name != SESSIONS.name}
    return NeighbourJob(beside.model.at({}), case.runtime, replace(settings, options=options))
