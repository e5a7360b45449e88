"""All diagnostics of a case's row, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import RoundResult
from app.results.cells import joined
from app.results.conditions import gap_warnings
from app.results.diagnostic_columns import diagnostic_columns, text
from app.results.ended import round_warnings
from app.results.engine import engine_warnings
from app.results.gpu import gpu_warnings
from app.results.graphs import graph_warnings
from app.results.hosts import host_warnings
from app.results.load import load_warnings
from app.results.operators import operator_warnings
from app.results.run import Run
from app.results.stopping import shortfalls
from app.results.sustained import sustained_warnings
from app.stats.precise import Precise
from app.stats.summary import Summary
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic


def row_diagnostics(
    run: Run,
    case: Case,
    rounds: Sequence[RoundResult],
    planned: int,
    summary: Summary | None,
    disturbed: Sequence[Diagnostic],
    rule: Precise | None,
    row: Row,
) -> Iterator[Diagnostic]:
    """Of a case with rounds, of which so many were `planned`; `row` has the figures, `disturbed`
    is what outliers coincide with, `rule` that of a plan for precise intervals."""
    model = run.model_of(case)
    if model is not None:
        yield from model.warnings
    yield from round_warnings(rounds, planned, run.damaged.get(case.case_id, {}))
    yield from accuracy_warnings(run, case)
    if summary is not None:
        yield from summary.warnings
        yield from gap_warnings(case, row)
        yield from engine_warnings(rounds)
        yield from disturbed
        yield from sustained_warnings(case, rounds)
        yield from gpu_warnings(case, row)
        yield from operator_warnings(run.operators.get(case.case_id), row)
        yield from host_warnings(run, case)
        if rule is not None:
            yield from shortfalls(rule, rounds, summary)
    yield from load_warnings(case, rounds, row)
    yield from graph_warnings(run, case)


def warned_columns(diagnostics: Sequence[Diagnostic], row: Row) -> Row:
    """The columns of these; a row with an error among them is not valid, and says why."""
    columns = diagnostic_columns(diagnostics)
    errors = [one for one in diagnostics if one.severity == "error"]
    if not errors:
        return columns
    return columns | {"valid": False, "reason": row["reason"] or joined(map(text, errors))}


def accuracy_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Why the accuracy of the case is missing; also of a case without rounds."""
    accuracy = run.accuracy_of(case)
    if accuracy is not None and accuracy.reason:
        yield diagnostic("accuracy_unavailable", error=accuracy.reason)
