"""What is known of one case beside its timings: graph, what ran elsewhere in it, operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.operators import OperatorTimes
from app.results.operators import read_operators
from app.results.run import Run
from exporters.types import ExportedModel


@dataclass(frozen=True, slots=True)
class CaseDetails:
    """`elsewhere` maps the nodes that the engine did not take to the providers that did.

    `operators` is None until the run has one of the case's operators.
    """

    case: Case
    model: ExportedModel
    engine: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    operators: OperatorTimes | None = None

    def without_operators(self) -> CaseDetails:
        """All that is known before operator times are, which come last."""
        return replace(self, operators=None)


def details(run: Run, case: Case, operators: OperatorTimes | None = None) -> CaseDetails | None:
    """None until the case's model was exported."""
    model = run.model_of(case)
    if model is None:
        return None
    rounds = run.rounds_of(case)
    if not rounds:
        return CaseDetails(case, model, operators=operators)
    last = rounds[-1]
    elsewhere = {str(node["node"]): str(node["provider"]) for node in last.placement}
    return CaseDetails(case, model, last.execution_provider, elsewhere, operators)


def case_operators(run: Run, case: Case) -> OperatorTimes | None:
    """The case's operators; None if the run has none, a file that can't be read is a reason."""
    line = run.operators.get(case.case_id)
    if line is None:
        return None
    try:
        return read_operators(run.path, line)
    except ResultsError as error:
        return OperatorTimes(case.case_id, reason=str(error))
