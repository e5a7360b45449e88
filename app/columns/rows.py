"""Rounds and their samples -> one row for each case, every column of `results.csv`.

Timings are raw in the folder; each figure of a row is computed here, when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context

from app.cases.case import Case
from app.cases.column import Blank, Row
from app.cases.columns import NAMES, percentile_columns
from app.cases.errors import ResultsError
from app.cases.round import RoundResult
from app.columns.environment import mean_clock_mhz
from app.columns.families import COMPARING, CaseData, fill_row
from app.columns.precision import target_rounds
from app.columns.reference_cases import is_multiplied
from app.columns.row_statistics import RowStatistics, statistics_of
from app.comparison.measured_case import MeasuredCase, timed_rounds
from app.machine.placement import usable_cores
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.run_folder.statistics_store import StatisticsStore, shared
from app.stats.summary import Summary

Rounds = tuple[tuple[int, int, int | None], ...]
"""Number, attempt and checksum of the samples of each of a case's timed rounds."""

_ROWS, _STATISTICS = "rows", "statistics"
"""Parts of what is stored of a run."""


@dataclass(slots=True)
class Rows:
    """The rows of a run; a case's samples are read again only after a new round of it."""

    _cache: dict[str, tuple[Rounds, RowStatistics]] = field(default_factory=dict)
    _plans: dict[str, Plan] = field(default_factory=dict)
    _stored_rows: dict[str, Row] = field(default_factory=dict)
    _store: StatisticsStore | None = None
    _has_statistics: bool = True

    def recall(self, run: Run) -> None:
        """Take the rows that are stored of the run, which hold as long as nothing else is
        recorded."""
        if run.store is None or run.store is self._store or run.store.is_new:
            return
        self._store, names = run.store, row_names(run.manifest.requested_plan)
        self._has_statistics = False
        stored_values = run.store.load(_ROWS) or {}
        self._stored_rows = {}
        while stored_values:  # a large run is never held twice
            case_id, values = stored_values.popitem()
            is_full = type(values) is tuple
            self._stored_rows[case_id] = (
                dict(zip(names, values, strict=True)) if is_full else values
            )

    def of(self, run: Run) -> list[Row]:
        """One row for each case, in the plan's order; those that a search tried come after."""
        if _compares_cases(run):
            return [measurement.row for measurement in self.measured(run)]
        rows = list(self.iterate(run))
        self._save(run, rows)
        return rows

    def measured(self, run: Run) -> list[MeasuredCase]:
        """The same with what the rows are made of."""
        self.recall(run)
        plan = run.manifest.requested_plan
        measured_cases = [self._measured_case(run, case) for case in run.cases]
        self._save(run, [measurement.row for measurement in measured_cases])
        for family in COMPARING:
            columns = family.fill(plan, measured_cases)
            for measurement in measured_cases:
                measurement.row.update(columns.get(measurement.case.case_id, {}))
        return measured_cases

    def _save(self, run: Run, rows: Sequence[Row]) -> None:
        """Store these rows of the whole run where nothing of it is stored, without the columns of
        comparisons."""
        if run.store is None or not run.store.is_new:
            return
        count = len(row_names(run.manifest.requested_plan))
        rows_by_id = {
            case.case_id: row if len(row) != count else tuple(map(shared, row.values()))
            for case, row in zip(run.cases, rows, strict=True)
        }
        run.store.put(_STATISTICS, self._cache)
        run.store.put(_ROWS, rows_by_id)
        run.store.save()

    def iterate(self, run: Run) -> Iterator[Row]:
        """The same rows one after the other, so that a large run need not be held whole.

        Where rows are compared with each other, the first comes when all are there.
        """
        if _compares_cases(run):
            yield from self.of(run)
        else:
            self.recall(run)
            for case in run.cases:
                yield self.row(run, case)

    def _measured_case(self, run: Run, case: Case) -> MeasuredCase:
        row, rounds = self.row(run, case), run.rounds_of(case)
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

    def row(self, run: Run, case: Case) -> Row:
        """The case's row; a stored one takes no statistics."""
        if run.store is self._store is not None and case.case_id in self._stored_rows:
            return self._stored_rows[case.case_id]
        rounds, plan = run.rounds_of(case), self._plan(run, case)
        if not rounds:
            return _blank(run, case, plan)
        statistics = self._statistics_of(run, case, rounds)
        summary = statistics.summary
        rule, planned_rounds = plan.stopping, run.planned(case).rounds
        if rule is not None:
            planned_rounds = target_rounds(rule, rounds, summary)
        elif plan.sequence is not None:
            planned_rounds = plan.sequence.look_at(len(rounds))
        row: Row = dict.fromkeys(row_names(plan))
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
        return row

    def _plan(self, run: Run, case: Case) -> Plan:
        """What the case was measured under, with the percentiles of all rows of the run."""
        manifest = run.planned(case)
        if manifest.run_id not in self._plans:
            percentiles = {"percentiles": run.manifest.requested_plan.percentiles}
            self._plans[manifest.run_id] = manifest.requested_plan.model_copy(update=percentiles)
        return self._plans[manifest.run_id]

    def _statistics_of(self, run: Run, case: Case, rounds: Sequence[RoundResult]) -> RowStatistics:
        sampled_rounds = [result for result in rounds if result.samples]
        key = tuple((r.round, r.attempt, r.samples_crc32) for r in sampled_rounds)
        if not self._has_statistics and self._store is not None:
            self._has_statistics = True
            self._cache = (self._store.load(_STATISTICS) or {}) | self._cache
        cache_entry = self._cache.get(case.case_id)
        if cache_entry is None or cache_entry[0] != key:
            plan = self._plan(run, case)
            cache_entry = key, statistics_of(run, case, plan, sampled_rounds)
            self._cache[case.case_id] = cache_entry
        return cache_entry[1]


_MANY, _TOGETHER = 1000, 50
"""Cases that are worth starting processes for, and those that one of these computes at a time."""


def fresh_rows(run: Run) -> list[Row]:
    """All rows with nothing that was computed before, of many cases on all cores.

    Each process is a copy of this one, which has the run without reading it. Where one of them
    fails, this process computes the rows itself, and raises what stands in the way.
    """
    cores, count = len(usable_cores()), len(run.cases)
    if count < _MANY or cores == 1 or _compares_cases(run):
        return Rows().of(run)
    shares = [range(first, min(count, first + _TOGETHER)) for first in range(0, count, _TOGETHER)]
    try:
        with ProcessPoolExecutor(cores, get_context("fork"), _copied.append, (run,)) as copies:
            parts = list(copies.map(_rows_at, shares))
    except BrokenProcessPool:
        return Rows().of(run)
    return Rows().of(run) if None in parts else [row for part in parts for row in part or ()]


_copied: list[Run] = []
"""In a copy of a process its run."""


def _rows_at(places: Sequence[int]) -> list[Row] | None:
    run, rows = _copied[0], Rows()
    try:
        return [rows.row(run, run.cases[place]) for place in places]
    except ResultsError:  # which can't be sent as it is
        return None


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
