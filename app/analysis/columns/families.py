"""The families of columns that a row is made of: the function that fills each, and from what.

A column is declared with its family (`app.cases.columns`), and one computation fills all columns of
a family: most come from one pass over samples or one reading of rounds, so that a function for
each column would repeat it. A family that replaces values of earlier ones, as of a row that another
program measured, declares them as revised. A test holds the declarations against what the families
return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from app.analysis.columns.environment import gap_columns, gpu_columns, inputs_fed, placement_columns
from app.analysis.columns.identity import identity_columns, imported_columns
from app.analysis.columns.latency import (
    block_columns,
    inputs_per_run,
    latency_columns,
    throughput_columns,
)
from app.analysis.columns.load import load_columns
from app.analysis.columns.overhead import cold_columns, null_columns
from app.analysis.columns.precision import sequential_stop_reason
from app.analysis.columns.precision import stop_reason as ended_by
from app.analysis.columns.reference_cases import baseline_columns, scaling_columns
from app.analysis.columns.rounds import (
    fact_columns,
    join_values,
    round_columns,
    round_fact_columns,
    without_intervals,
)
from app.analysis.columns.status import (
    accuracy_warnings,
    diagnosed_columns,
    row_diagnostics,
    status_columns,
)
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import Row
from app.cases.columns import NAMES, columns_of
from app.cases.jobs import AccuracyResult
from app.cases.round import RoundResult
from app.plan.plan import Plan
from app.run_folder.diagnostics import diagnostic_columns
from app.run_folder.run import Run
from app.stats.required_rounds import LOOKED
from app.stats.summary import Rate, Summary
from exporters.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class CaseData:
    """What the columns of one case are computed from.

    `rounds` may be none; so many are `planned`. `summary` and `blocks` are statistics of the timed
    rounds, None where there are none of the kind, `disturbed` what their outliers coincide with,
    `of_samples` the values of `OF_SAMPLES` by their names.
    """

    run: Run
    case: Case
    plan: Plan
    rounds: Sequence[RoundResult] = ()
    planned: int = 0
    summary: Summary | None = None
    blocks: Rate | None = None
    disturbed: Sequence[Diagnostic] = ()
    of_samples: Mapping[str, Row] = field(default_factory=dict)


Fill = Callable[[CaseData, Row], Row]
"""The values of a family from the case and the row so far."""


@dataclass(frozen=True, slots=True)
class Family:
    """`fill` gives the columns declared with this name; `revises` are those of others that it may
    replace. `unmeasured`: it has columns for a case without rounds too.
    """

    name: str
    fill: Fill
    revises: frozenset[str] = frozenset()
    unmeasured: bool = False

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(columns_of(self.name))


@dataclass(frozen=True, slots=True)
class Comparing:
    """A family that compares cases of a run: `fill` gives its columns by case id."""

    name: str
    fill: Callable[[Plan, Sequence[MeasuredCase]], Mapping[str, Row]]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(columns_of(self.name))


def fill_row(data: CaseData, row: Row) -> None:
    """Give a row the values of all families; of a case without rounds those that it has."""
    for family in FAMILIES:
        if data.rounds or family.unmeasured:
            row.update(family.fill(data, row))


def _throughput(data: CaseData, row: Row) -> Row:
    inputs_of_run = inputs_per_run(data.run.model_of(data.case), row["batch_size"])
    if data.blocks is not None:
        return block_columns(data.blocks, inputs_of_run)
    if data.summary is None:
        return {}
    return throughput_columns(data.case, data.summary, row, inputs_of_run)


def _stopping(data: CaseData, row: Row) -> Row:
    """Of a plan that adds rounds until intervals are narrow, or verdicts decided."""
    rule, sequence = data.plan.stopping, data.plan.sequence
    if data.summary is None:
        return {}
    if sequence is not None:
        ending = sequential_stop_reason(sequence, len(data.rounds))
    elif rule is not None:
        ending = ended_by(rule, data.rounds, data.summary)
    else:
        return {}
    reasons = (*(result.stop_reason for result in data.rounds), ending)
    return {"stop_reason": join_values(reasons), "ci_method": LOOKED if row["ci_method"] else None}


def _accuracy(data: CaseData, _: Row) -> Row:
    accuracy = data.run.result_of(AccuracyResult, data.case)
    return {} if accuracy is None else {"accuracy_top1": accuracy.top1}


def _input_sets(data: CaseData, _: Row) -> Row:
    if data.summary is None:
        return {}
    model = data.run.model_of(data.case)
    return {"input_sets": inputs_fed(data.case, model, data.rounds[-1].clock)}


def _diagnostics(data: CaseData, row: Row) -> Row:
    run, case, rounds = data.run, data.case, data.rounds
    if not rounds:
        return diagnostic_columns(accuracy_warnings(run, case))
    diagnostics = row_diagnostics(
        run,
        case,
        rounds,
        data.planned,
        data.summary,
        data.disturbed,
        row,
    )
    return diagnosed_columns(tuple(diagnostics), row)


def _mixed_graphs(data: CaseData, row: Row) -> Row:
    return without_intervals(row) if len(data.run.graphs_of(data.case)) > 1 else {}


OF_SAMPLES = (*("devices", "interference", "deadline", "batcher", "sustained", "shapes", "levels"),)
"""The families that take reading the samples of all timed rounds."""


def _of_samples(name: str, data: CaseData, _: Row) -> Row:
    return data.of_samples.get(name, {})


_INTERVALS = frozenset(name for name in NAMES if "_ci_" in name or name == "ci_method")
FAMILIES: tuple[Family, ...] = (
    Family(
        "identity",
        lambda data, _: identity_columns(data.run, data.case, data.rounds, data.plan),
        unmeasured=True,
    ),
    Family(
        "ending",
        lambda data, _: status_columns(data.rounds, data.run.damaged.get(data.case.case_id, {})),
        unmeasured=True,
    ),
    Family("cold_start", lambda data, _: cold_columns(data.run, data.case), unmeasured=True),
    Family("accuracy", _accuracy, unmeasured=True),
    Family("rounds", lambda data, _: round_columns(data.rounds)),
    Family("facts", lambda data, _: fact_columns(data.rounds)),
    Family("round_facts", lambda data, _: round_fact_columns(data.rounds)),
    *(Family(name, partial(_of_samples, name)) for name in OF_SAMPLES),
    Family("load", lambda data, _: load_columns(data.rounds, data.summary)),
    Family("placement", lambda data, _: placement_columns(data.rounds)),
    Family("gpu_settings", lambda data, _: gpu_columns(data.rounds)),
    Family(
        "latency",
        lambda data, _: latency_columns(data.case, data.summary) if data.summary else {},
    ),
    Family("throughput", _throughput),
    Family("pauses", lambda data, _: gap_columns(data.case, data.summary) if data.summary else {}),
    Family("inputs", _input_sets),
    Family("stopping", _stopping, frozenset({"stop_reason", "ci_method"})),
    Family("diagnostics", _diagnostics, frozenset({"valid", "reason"}), unmeasured=True),
    Family(
        "imported",
        lambda data, row: imported_columns(data.rounds, row),
        frozenset(NAMES),  # another program's file may state any figure
    ),
    Family("mixed_graphs", _mixed_graphs, _INTERVALS),
)
"""In the order in which they fill a row. Those in `COMPARING` follow."""
COMPARING = (
    Comparing("baseline", baseline_columns),
    Comparing("overhead", null_columns),
    Comparing("scaling", lambda _, measured: scaling_columns(measured)),
)
