"""What held while a case was measured, beside what was asked for: its pauses, how it was fed."""

from __future__ import annotations

from app.cases.case import Case
from app.cases.column import Row
from app.stats.summary import Summary
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import ExportedModel, axes_key
from runtimes.execution import Clock

GAP_SHARE_OFF, GAP_OFF_US = 0.1, 1.0
"""A pause that is off by more than both at its median is not the one that was asked for."""


def gap_columns(case: Case, summary: Summary) -> Row:
    """The pauses that were had in microseconds, from a run's end to the next one's start.

    A run is due `gap_us` after the last one of its lane has ended, so they are as much longer
    as it began late.
    """
    late = {"p50": summary.start_lateness_p50_us, "p99": summary.start_lateness_p99_us}
    if case.scenario.kind != "paced":
        return {}
    return {
        f"achieved_gap_{name}_us": None if late_us is None else case.scenario.gap_us + late_us
        for name, late_us in late.items()
    }


def gap_warnings(case: Case, row: Row) -> list[Diagnostic]:
    """Whether the median of the pauses is longer than was asked for."""
    asked, had = case.scenario.gap_us, row["achieved_gap_p50_us"]
    if row["clock"] == "simulated" or not isinstance(had, float):
        return []
    if had - asked <= max(GAP_OFF_US, GAP_SHARE_OFF * asked):
        return []
    policy = case.wait_policy
    return [diagnostic("pause_not_met", actual_us=had, requested_us=asked, wait_policy=policy)]


def inputs_fed(case: Case, model: ExportedModel | None, clock: Clock) -> str | None:
    """Whether every run found the inputs of the last one, likely in a cache; None on a card."""
    if model is None or clock == "simulated":
        return None
    if case.condition.points:
        return "one set for each shape"
    further = model.rotation.get(axes_key(model.at(case.axes).axes), ())
    return f"{1 + len(further)} sets in turn" if further else "one set, cache-hot"
