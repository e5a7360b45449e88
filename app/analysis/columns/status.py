"""The status of a case: how its rounds ended, and all diagnostics of its row in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.analysis.columns.environment import engine_warnings, gap_warnings, gpu_warnings
from app.analysis.columns.load import load_warnings, sustained_warnings
from app.analysis.columns.precision import shortfalls
from app.analysis.columns.rounds import graph_warnings
from app.cases.case import Case
from app.cases.column import Blank, Row
from app.cases.jobs import AccuracyResult
from app.cases.round import RoundResult
from app.cases.status import WORST_FIRST
from app.formatting.text import one_line
from app.run_folder.diagnostics import diagnostic_columns, diagnostics_of, text, text_by_code
from app.run_folder.operators import operator_warnings
from app.run_folder.run import Run
from app.stats.summary import Summary
from exporters.diagnostics import Diagnostic, diagnostic

MISSING = "rounds_missing"
"""No fault while a run goes on."""
NOT_REACHED = "no round was measured: resume the run once it has ended"


def worst_round(rounds: Iterable[RoundResult]) -> RoundResult | None:
    """The round whose status decides the row's; None without rounds."""
    return min(rounds, key=lambda result: WORST_FIRST.index(result.status), default=None)


def status_columns(rounds: Sequence[RoundResult], damage_by_round: Mapping[int, Diagnostic]) -> Row:
    """Status and reason; a case without a round was not run.

    `damage_by_round` says of some rounds by number what became of their samples.
    """
    decisive = worst_round(rounds)
    if decisive is None:
        reason = " ".join(map(text, damage_by_round.values())) or NOT_REACHED
        return {"status": "not_run", "reason": one_line(reason)}
    timed_rounds = [result for result in rounds if result.samples]
    return {
        "status": decisive.status,
        "valid": all(result.valid for result in timed_rounds) if timed_rounds else None,
        "reason": one_line(decisive.reason) or None,
    }


def row_so_far(row: Row) -> Row:
    """The row of a run that goes on: that rounds are still to come is nothing to warn of."""
    diagnostics = [entry for entry in diagnostics_of(row) if entry.code != MISSING]
    reason = None if row.get("reason") == NOT_REACHED else row.get("reason")
    return Blank({**row, "reason": reason, **diagnostic_columns(diagnostics)})


def round_warnings(
    rounds: Sequence[RoundResult], planned_rounds: int, damage_by_round: Mapping[int, Diagnostic]
) -> Iterator[Diagnostic]:
    """What the rounds of a case recorded, and which of the `planned_rounds` are missing."""
    yield from damage_by_round.values()
    for result in rounds:
        yield from result.warnings
    decisive = worst_round(rounds)
    if (
        decisive is not None
        and decisive.status in ("ok", "partial")
        and len(rounds) < planned_rounds
    ):
        yield diagnostic(MISSING, measured=len(rounds), planned=planned_rounds)


def row_diagnostics(
    run: Run,
    case: Case,
    rounds: Sequence[RoundResult],
    planned_rounds: int,
    summary: Summary | None,
    disturbances: Sequence[Diagnostic],
    row: Row,
) -> Iterator[Diagnostic]:
    """Of a case with rounds, of which so many were `planned_rounds`; `row` has the figures,
    `disturbances` is what outliers coincide with."""
    model, rule = run.model_of(case), run.manifest.requested_plan.stopping
    if model is not None:
        yield from model.warnings
    yield from round_warnings(rounds, planned_rounds, run.damaged.get(case.case_id, {}))
    yield from accuracy_warnings(run, case)
    if summary is not None:
        yield from summary.warnings
        yield from gap_warnings(case, row)
        yield from engine_warnings(rounds)
        yield from disturbances
        yield from sustained_warnings(case, rounds)
        yield from gpu_warnings(case, row)
        yield from operator_warnings(run.operators.get(case.case_id), row)
        yield from host_warnings(run, case)
        if rule is not None:
            yield from shortfalls(rule, rounds, summary)
    yield from load_warnings(case, rounds, row)
    yield from graph_warnings(run, case)


def diagnosed_columns(diagnostics: Sequence[Diagnostic], row: Row) -> Row:
    """The columns of these; a row with an error among them is not valid, and says why."""
    columns = diagnostic_columns(diagnostics)
    errors = [entry for entry in diagnostics if entry.severity == "error"]
    if not errors:
        return columns
    return columns | {"valid": False, "reason": row["reason"] or text_by_code(errors)}


def accuracy_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Why the accuracy of the case is missing; also of a case without rounds."""
    accuracy = run.result_of(AccuracyResult, case)
    if accuracy is not None and accuracy.reason:
        yield diagnostic("accuracy_unavailable", error=accuracy.reason)


def host_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Rounds of several machines, as when a run was resumed on another one."""
    hosts = dict.fromkeys(writer.host for writer in run.writers.get(case.case_id, {}).values())
    if len(hosts) > 1:
        yield diagnostic("several_hosts", hosts=tuple(hosts))
