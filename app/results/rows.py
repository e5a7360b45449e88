"""Rounds and their samples -> one row for each case, every column of `results.csv`.

Timings are raw in the folder; each figure of a row is computed here, when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.cases.case import Case
from app.cases.chosen_columns import chosen_names
from app.cases.column import Blank, Row
from app.cases.columns import NAMES
from app.cases.round import RoundResult
from app.plan.plan import Plan
from app.results.batching import batcher_columns
from app.results.clock import mean_clock_mhz
from app.results.families import COMPARING, CaseData, SampleColumns, fill_row
from app.results.imported import as_told
from app.results.interference import interference_columns, outlier_counts, outlier_warnings
from app.results.late import late_columns
from app.results.measured import Measured, timed_rounds
from app.results.round_times import round_starts_s
from app.results.run import Run
from app.results.scaling import is_multiplied
from app.results.shapes import shape_columns
from app.results.stopping import rounds_wanted
from app.results.sustained import sustained_columns
from app.results.telemetry import device_columns
from app.results.throughput import block_rate, rates_by_round
from app.stats.quantiles import CONFIDENCE
from app.stats.summary import Summary, summarise
from app.stats.throughput import Rate
from exporters.diagnostics.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class _Summed:
    """What a case's timed rounds give: the statistics, columns of the samples, diagnostics of
    these, and how much each of them did in a second."""

    summary: Summary | None
    blocks: Rate | None
    columns: SampleColumns
    disturbed: list[Diagnostic]
    rates: tuple[float, ...]


@dataclass(slots=True)
class Rows:
    """The rows of a run; a case's samples are read again only after a new round of it."""

    _summaries: dict[str, tuple[int, _Summed]] = field(default_factory=dict)
    _plans: dict[str, Plan] = field(default_factory=dict)

    def of(self, run: Run) -> list[Row]:
        """One row for each case, in the plan's order; those that a search tried come after."""
        return [one.row for one in self.measured(run)]

    def measured(self, run: Run) -> list[Measured]:
        """The same with what the rows are made of."""
        asked = run.manifest.asked
        found = [self._measured(run, case) for case in run.cases]
        for family in COMPARING:
            columns = family.fill(asked, found)
            for measured in found:
                measured.row.update(columns.get(measured.case.case_id, {}))
        return found

    def each(self, run: Run) -> Iterator[Row]:
        """The same rows one after the other, so that a large run need not be held whole.

        Where rows are compared with each other, the first comes when all are there.
        """
        asked = run.manifest.asked
        if asked.baseline or asked.null or any(is_multiplied(case) for case in run.cases):
            yield from self.of(run)
        else:
            yield from (self._made(run, case)[0] for case in run.cases)

    def _measured(self, run: Run, case: Case) -> Measured:
        row, summed = self._made(run, case)
        if summed is None or len(run.graphs_of(case)) > 1:
            return Measured(case, row, None)
        numbers, rates = timed_rounds(run, case), summed.rates
        return Measured(
            case,
            row,
            summed.summary,
            numbers,
            mean_clock_mhz(run, case),
            run.turn_of(case),
            dict(zip(numbers, rates, strict=True)) if len(numbers) == len(rates) else {},
        )

    def summary(self, run: Run, case: Case) -> Summary | None:
        """The statistics that the case's row is made of; None where nothing was timed."""
        return self._summed(run, case, run.rounds_of(case), self._plan(run, case)).summary

    def _plan(self, run: Run, case: Case) -> Plan:
        """What the case was measured under, with the percentiles that all rows of the run tell."""
        planned = run.planned(case)
        if planned.run_id not in self._plans:
            told = {"percentiles": run.manifest.asked.percentiles}
            self._plans[planned.run_id] = planned.asked.model_copy(update=told)
        return self._plans[planned.run_id]

    def _made(self, run: Run, case: Case) -> tuple[Row, _Summed | None]:
        """The case's row and what it is made of; None where it came to no round."""
        rounds, asked = run.rounds_of(case), self._plan(run, case)
        if not rounds:
            return _blank(run, case, asked), None
        summed = self._summed(run, case, rounds, asked)
        summary = summed.summary
        rule, planned = asked.stopping, run.planned(case).rounds
        if rule is not None:
            planned = rounds_wanted(rule, rounds, summary)
        row: Row = dict.fromkeys(row_names(asked))
        data = CaseData(
            run,
            case,
            asked,
            rounds,
            planned,
            summary,
            summed.blocks,
            summed.disturbed,
            summed.columns,
        )
        fill_row(data, row)
        return row, summed

    def _summed(self, run: Run, case: Case, rounds: Sequence[RoundResult], asked: Plan) -> _Summed:
        timed = [result for result in rounds if result.samples]
        known = self._summaries.get(case.case_id)
        if known is None or known[0] != len(timed):
            rule = asked.stopping
            samples = [run.samples_of(result) for result in timed]
            confidence = CONFIDENCE if rule is None else rule.confidence
            counts = outlier_counts(timed, samples)
            has_latency = case.scenario.kind != "ahead"
            columns = SampleColumns(
                device_columns(run.path, timed),
                interference_columns(timed, counts),
                late_columns(asked.deadline_us, samples, confidence) if has_latency else {},
                batcher_columns(case, samples),
                sustained_columns(case, run.path, timed, samples),
                shape_columns(run, case, timed),
            )
            starts_s = round_starts_s(timed)
            blocks = block_rate(case, samples, starts_s)
            disturbed = outlier_warnings(counts, sum(len(one.started_ns) for one in samples))
            summary = summarise(samples, asked.quantiles, confidence, case.batcher, starts_s)
            summary = as_told(summary, timed)
            rates = rates_by_round(case, blocks, summary, timed[-1].concurrency if timed else 0)
            known = len(timed), _Summed(summary, blocks, columns, disturbed, rates)
            self._summaries[case.case_id] = known
        return known[1]


def row_names(asked: Plan) -> tuple[str, ...]:
    """The columns that each row of a run of this plan has."""
    return (*NAMES, *chosen_names(asked.percentiles))


def _blank(run: Run, case: Case, asked: Plan) -> Row:
    """The row of a case that came to no round; its cold starts and accuracy may be another's, of
    which it is told too."""
    row = Blank()
    fill_row(CaseData(run, case, asked), row)
    return Blank({name: value for name, value in row.items() if value is not None})
