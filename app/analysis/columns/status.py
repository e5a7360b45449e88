"""The status of a case: how its rounds ended, and all diagnostics of its row in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.analysis.columns.environment import (
    engine_warnings,
    fault_warnings,
    gap_warnings,
    gpu_warnings,
)
from app.analysis.columns.family import CaseData, Family, Flag, Higher, Text
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
from exporters.diagnostics import Diagnostic, diagnostic

MISSING = "rounds_missing"
"""No fault while a run goes on."""
NOT_REACHED = "no round was measured: resume the run once it has ended"


def worst_round(rounds: Iterable[RoundResult]) -> RoundResult | None:
    """The round whose status decides the row's; None without rounds."""
    return min(rounds, key=lambda result: WORST_FIRST.index(result.status), default=None)


class Ending(Family, heading="Outcome"):
    """How the rounds ended; a case without one was not run."""

    status = Text(group="verdict")
    """How the case ended; only ok is compared with other rows."""
    valid = Flag(group="verdict")
    """Whether the measurement kept its own protocol."""
    reason = Text(group="verdict")
    """Why the case failed or could not run, or is not valid."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        decisive = worst_round(data.rounds)
        if decisive is None:
            damage = data.run.damaged.get(data.case.case_id, {})
            reason = " ".join(map(text, damage.values())) or NOT_REACHED
            return {"status": "not_run", "reason": one_line(reason)}
        timed_rounds = [result for result in data.rounds if result.samples]
        return {
            "status": decisive.status,
            "valid": all(result.valid for result in timed_rounds) if timed_rounds else None,
            "reason": one_line(decisive.reason) or None,
        }


class Accuracy(Family, heading="Accuracy"):
    accuracy_top1 = Higher("Top-1", "verdict")
    """The share of labelled images that are answered rightly."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        accuracy = data.run.result_of(AccuracyResult, data.case)
        return {} if accuracy is None else {"accuracy_top1": accuracy.top1}


class Diagnosed(Family, heading="Diagnostics"):
    warnings = Text(group="verdict")
    """Diagnostics of the case, as text: docs/diagnostics.md."""
    warning_codes = Text(group="verdict")
    """Their codes, joined by semicolons."""
    diagnostics = Text()
    """The same as JSON: codes, subjects and figures."""

    unmeasured = True

    @staticmethod
    def fill(data: CaseData, row: Row) -> Row:
        """A row with an error among them is not valid, and says why."""
        if not data.rounds:
            return diagnostic_columns(accuracy_warnings(data.run, data.case))
        diagnostics = tuple(row_diagnostics(data, row))
        columns = diagnostic_columns(diagnostics)
        errors = [entry for entry in diagnostics if entry.severity == "error"]
        if not errors:
            return columns
        return columns | {"valid": False, "reason": row["reason"] or text_by_code(errors)}


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


def row_diagnostics(data: CaseData, row: Row) -> Iterator[Diagnostic]:
    """Of a case with rounds; `row` has the figures."""
    run, case, rounds, summary = data.run, data.case, data.rounds, data.summary
    model, rule = run.model_of(case), run.manifest.requested_plan.stopping
    if model is not None:
        yield from model.warnings
    yield from round_warnings(rounds, data.planned, run.damaged.get(case.case_id, {}))
    yield from accuracy_warnings(run, case)
    if summary is not None:
        yield from summary.warnings
        yield from gap_warnings(case, row)
        yield from engine_warnings(rounds)
        yield from fault_warnings(row)
        yield from data.disturbed
        yield from sustained_warnings(case, rounds)
        yield from gpu_warnings(case, row)
        yield from operator_warnings(run.operators.get(case.case_id), row)
        yield from host_warnings(run, case)
        if rule is not None:
            yield from shortfalls(rule, rounds, summary)
    yield from load_warnings(case, rounds, row)
    yield from graph_warnings(run, case)


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
