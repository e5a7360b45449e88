"""Rounds and their samples -> one row for each case, every column of `results.csv`.

Timings are raw in the folder; each figure of a row is computed here, when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.cases.case import Case
from app.cases.column import Blank, Row
from app.cases.column_names import percentile_columns
from app.cases.columns import NAMES
from app.cases.round import RoundResult
from app.columns.environment import mean_clock_mhz
from app.columns.families import COMPARING, CaseData, fill_row
from app.columns.precision import target_rounds
from app.columns.reference_cases import is_multiplied
from app.columns.row_statistics import RowStatistics, Statistics, StoredRows, store_statistics
from app.comparison.measured_case import MeasuredCase, timed_rounds
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.stats.summary import Summary

_COMPARISON_COLUMNS = frozenset(name for family in COMPARING for name in family.columns)
"""Columns that come from other cases of the run."""


@dataclass(slots=True)
class Rows:
    """The rows of a run; a case's samples are read again only after a new round of it.

    `stores`: what had to be computed is stored in the run folder.
    """

    stores: bool = True
    _cache: dict[str, tuple[int, RowStatistics]] = field(default_factory=dict)
    _statistics: Statistics = field(default_factory=Statistics)

    def of(self, run: Run) -> list[Row]:
        """One row for each case, in the plan's order; those that a search tried come after."""
        if _compares_cases(run):
            return [measurement.row for measurement in self.measured(run)]
        rows = list(self.iterate(run))
        if self.stores and run.store is not None:
            run.store.save()
        return rows

    def measured(self, run: Run) -> list[MeasuredCase]:
        """The same with what the rows are made of."""
        plan, stored_rows = run.manifest.requested_plan, StoredRows.of(run)
        measured_cases = [self._measured_case(run, case, stored_rows) for case in run.cases]
        for family in COMPARING:
            columns = family.fill(plan, measured_cases)
            for measurement in measured_cases:
                measurement.row.update(columns.get(measurement.case.case_id, {}))
        if self.stores and run.store is not None:
            run.store.save()
        return measured_cases

    def store(self, run: Run, rows: Sequence[Row]) -> None:
        """Store these rows of a run whose samples were found to be sound, and the statistics that
        they were made of."""
        stored_rows, by_id = StoredRows.of(run), {str(row["case_id"]): row for row in rows}
        for case in run.cases:
            sampled_rounds = [result for result in run.rounds_of(case) if result.samples]
            count, statistics = self._cache.get(case.case_id, (0, None))
            if statistics is not None and count == len(sampled_rounds):
                store_statistics(run, case, sampled_rounds, statistics)
                row = by_id[case.case_id]
                stored_rows.put(
                    case, {name: row[name] for name in row if name not in _COMPARISON_COLUMNS}
                )
        if run.store is not None:
            run.store.save()

    def iterate(self, run: Run) -> Iterator[Row]:
        """The same rows one after the other, so that a large run need not be held whole.

        Where rows are compared with each other, the first comes when all are there.
        """
        if _compares_cases(run):
            yield from self.of(run)
        else:
            stored_rows = StoredRows.of(run)
            yield from (self._build(run, case, stored_rows) for case in run.cases)

    def _measured_case(self, run: Run, case: Case, stored: StoredRows) -> MeasuredCase:
        row, rounds = self._build(run, case, stored), run.rounds_of(case)
        if not rounds or len(run.graphs_of(case)) > 1:
            return MeasuredCase(case, row, None)
        summed = self._statistics_of(run, case, rounds)
        numbers, rates = timed_rounds(run, case), summed.rates
        return MeasuredCase(
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
        return self._statistics_of(run, case, run.rounds_of(case)).summary

    def _build(self, run: Run, case: Case, stored_rows: StoredRows) -> Row:
        """The case's row; a stored one takes no statistics."""
        rounds, plan = run.rounds_of(case), self._statistics.plan(run, case)
        if not rounds:
            return _blank(run, case, plan)
        names = row_names(plan)
        stored_row = stored_rows.get(case, names)
        if stored_row is not None:
            return stored_row
        statistics = self._statistics_of(run, case, rounds)
        summary = statistics.summary
        rule, planned_rounds = plan.stopping, run.planned(case).rounds
        if rule is not None:
            planned_rounds = target_rounds(rule, rounds, summary)
        elif plan.sequence is not None:
            planned_rounds = plan.sequence.look_at(len(rounds))
        row: Row = dict.fromkeys(names)
        data = CaseData(
            run,
            case,
            plan,
            rounds,
            planned_rounds,
            summary,
            statistics.blocks,
            statistics.disturbed,
            statistics.columns,
        )
        fill_row(data, row)
        stored_rows.put(case, row)
        return row

    def _statistics_of(self, run: Run, case: Case, rounds: Sequence[RoundResult]) -> RowStatistics:
        sampled_rounds = [result for result in rounds if result.samples]
        cache_entry = self._cache.get(case.case_id)
        if cache_entry is None or cache_entry[0] != len(sampled_rounds):
            cache_entry = len(sampled_rounds), self._statistics.of(run, case, sampled_rounds)
            self._cache[case.case_id] = cache_entry
        return cache_entry[1]


def _compares_cases(run: Run) -> bool:
    """Whether columns of a row come from other cases of the run."""
    plan = run.manifest.requested_plan
    return bool(plan.baseline or plan.null) or any(is_multiplied(case) for case in run.cases)


def row_names(plan: Plan) -> tuple[str, ...]:
    """The columns that each row of a run of this plan has."""
    return (*NAMES, *percentile_columns(plan.percentiles))


def _blank(run: Run, case: Case, plan: Plan) -> Row:
    """The row of a case that came to no round; its cold starts and accuracy may be another's, of
    which it is told too."""
    row = Blank()
    fill_row(CaseData(run, case, plan), row)
    return Blank({name: value for name, value in row.items() if value is not None})
