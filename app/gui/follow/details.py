"""What is known of one case beside its timings: its graph, and what ran elsewhere in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.results.reader import Run
from app.sweep.case import Case
from exporters.types import ExportedModel


@dataclass(frozen=True, slots=True)
class CaseDetails:
    """`elsewhere` maps the nodes that the engine did not take to the providers that did."""

    case: Case
    model: ExportedModel
    engine: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)


def details(run: Run, case: Case) -> CaseDetails | None:
    """None until the case's model was exported."""
    model = run.models.get((case.model, case.precision))
    if model is None:
        return None
    rounds = run.rounds_of(case)
    if not rounds:
        return CaseDetails(case, model)
    last = rounds[-1]
    elsewhere = {str(node["node"]): str(node["provider"]) for node in last.placement}
    return CaseDetails(case, model, last.execution_provider, elsewhere)
