"""What a condition changes of a round before its process starts, and where it has no meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.cases.case import Case
from app.cases.condition import Condition
from app.cases.given import Given
from app.cases.neighbour import NeighbourJob
from app.cases.round import Limits
from exporters.request import ExportReply
from exporters.types import ExportedModel
from runtimes.base import Runtime
from runtimes.faults import Unsupported
from runtimes.options import SESSIONS, Settings


def why_not(condition: Condition, runtime: Runtime, device: str = "") -> str:
    """Why no round of the runtime can be under the condition, in one sentence; empty if it can."""
    if condition.kind == "with" and len(runtime.devices_in(device)) > 1:
        return f"a neighbour is one session on one device, and {runtime.name}:{device} is several"
    if condition.kind == "none" or runtime.clock != "simulated":
        return ""
    if condition.kind == "shapes":
        return f"{runtime.name} is compiled for one shape: remove --condition"
    return f"a simulated card is as fast under {condition}: remove --condition"


def shapes_of(case: Case, model: ExportedModel, sessions: int) -> tuple[Mapping[str, int], ...]:
    """All axes of each shape that one session of the case serves; () where it has one shape.

    Unsupported for a model that can't be in one session at several shapes, and for several lanes.
    """
    points, told = case.condition.points, str(case.condition)
    if not points:
        return ()
    if model.fixed:
        raise Unsupported(
            f"{case.model} could only be exported for each size by itself, and {told} needs one "
            "graph for all",
            "remove --condition",
        )
    if model.states:
        raise Unsupported(
            f"{case.model} hands its state from run to run, and under {told} the next run has "
            "another shape",
            "remove --condition",
        )
    if sessions != 1 or case.options.get("streams", 1) != 1:
        raise Unsupported(
            f"{told} is served by one session, one run at a time", "use one session and one stream"
        )
    return tuple(model.at({**case.axes, **point}).axes for point in points)


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
