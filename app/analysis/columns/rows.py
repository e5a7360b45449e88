"""Rounds and their samples -> one row for each case, every column of `results.csv`.

Timings are raw in the folder; each figure of a row is computed when it is read. Rows and the
statistics that they are made of are a function of the samples and readings of the case's timed
rounds, of these rounds' journal lines, of the case, of settings of the plan and of the program,
which is known by a digest of its source files, which no one can forget to raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np

from app.analysis.columns.environment import (
    is_contended,
    mean_clock_mhz,
    outlier_counts,
    outlier_warnings,
)
from app.analysis.columns.families import COMPARING, FAMILIES, fill_row
from app.analysis.columns.family import CaseData, OfSamples, SampledCase
from app.analysis.columns.identity import as_imported
from app.analysis.columns.latency import Levels, block_rate, core_rounds, rates_by_round
from app.analysis.columns.precision import target_rounds
from app.analysis.columns.reference_cases import is_multiplied
from app.analysis.columns.table import NAMES, percentile_columns
from app.analysis.comparison.measured_case import MeasuredCase, Turns, timed_rounds
from app.cases.case import Case
from app.cases.column import Blank, Row
from app.cases.round import MEASURED, RoundResult, latency_ns
from app.cases.turns import TURN_EVERY, TURN_SET
from app.machine.environment import graphlap_version
from app.plan.plan import Plan
from app.run_folder.copies import Copies
from app.run_folder.files import new_digest
from app.run_folder.run import Run, read_records
from app.run_folder.statistics_store import StatisticsStore, shared
from app.stats.core_state import TypicalClock, at_typical_clock
from app.stats.levels import turn_medians
from app.stats.summary import Rate, Summary, summarise
from exporters.diagnostics import Diagnostic


def round_starts_s(rounds: Sequence[RoundResult]) -> tuple[float, ...]:
    """Seconds since 1970 of each round; empty where the start of one is not recorded."""
    starts = [epoch_s(result.started_at_utc) for result in rounds]
    present = tuple(start for start in starts if start is not None)
    return present if len(present) == len(starts) else ()


def epoch_s(utc: str) -> float | None:
    """Of a time as the journal has it; None for one that is missing or damaged."""
    try:
        moment = datetime.fromisoformat(utc)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_PROGRAM = (
    *("app/analysis/columns", "app/analysis/comparison", "app/cases", "app/formatting"),
    *("app/machine", "app/plan", "app/run_folder", "app/runs", "app/stats"),
    *("exporters", "runtimes"),
)
"""What runs are read and rows computed by, from the folder that our packages lie in."""


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """What a case's timed rounds give: the statistics, columns by family, diagnostics of
    these, how much each of them did in a second, its turns, and the p50 at one clock."""

    summary: Summary | None
    blocks: Rate | None
    columns: Mapping[str, Row]
    disturbed: tuple[Diagnostic, ...]
    rates: tuple[float, ...]
    turns: tuple[Turns | None, ...]
    at_clock: TypicalClock | None


@cache
def program() -> str:
    """By what rows are computed: the versions and source files of what takes part."""
    versions = f"{graphlap_version()} {np.__version__} "
    return versions + program_digest(Path(__file__).parents[3], _PROGRAM)


def store_of(folder: Path) -> StatisticsStore | None:
    """What is stored of a run for this program; None for a folder that can't be read."""
    try:
        return StatisticsStore(folder, program())
    except OSError:
        return None


def program_digest(root: Path, places: Sequence[str]) -> str:
    """A digest of the names and texts of these source files, and of those in these folders."""
    digest = new_digest()
    for place in (root / name for name in places):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def statistics_of(
    run: Run, case: Case, plan: Plan, timed_rounds: Sequence[RoundResult]
) -> RowStatistics:
    """Of these timed rounds of a case, whose samples are read."""
    samples = [run.samples_of(result) for result in timed_rounds]
    counts = outlier_counts(timed_rounds, samples)
    starts_s = round_starts_s(timed_rounds)
    sampled = SampledCase(run, case, plan, timed_rounds, samples, counts, starts_s)
    columns = {f.__name__: f.of(sampled) for f in FAMILIES if issubclass(f, OfSamples)}
    has_contention = is_contended(timed_rounds)
    blocks = block_rate(case, samples, starts_s, has_contention)
    disturbances = outlier_warnings(counts, sum(len(s.started_ns) for s in samples))
    summary = summarise(
        samples, plan.quantiles, sampled.confidence, case.batcher, starts_s, has_contention
    )
    summary = as_imported(summary, timed_rounds)
    rates = rates_by_round(
        case, blocks, summary, timed_rounds[-1].concurrency if timed_rounds else 0
    )
    turns = tuple(turns_of(run, result) for result in timed_rounds)
    at_clock = None
    if columns[Levels.__name__].get("typical_clock_mhz"):
        at_clock = at_typical_clock(core_rounds(sampled), starts_s, sampled.confidence)
    return RowStatistics(summary, blocks, columns, tuple(disturbances), rates, turns, at_clock)


def turns_of(run: Run, result: RoundResult) -> Turns | None:
    """None for a round that had its processor for itself."""
    turn_set = result.facts.get(TURN_SET)
    if turn_set is None:
        return None
    records = read_records(run.samples_path(result))
    medians = turn_medians(latency_ns(records) / 1e3, records["phase"] == MEASURED)
    by_cycle = np.zeros(len(medians) * int(result.facts.get(TURN_EVERY, 1)))
    by_cycle[:: int(result.facts.get(TURN_EVERY, 1))] = medians
    return str(turn_set), tuple(by_cycle.tolist())


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
            {n: turns for n, turns in zip(numbers, summed.turns, strict=False) if turns},
            summed.at_clock,
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


_TOGETHER = 50
"""Cases that a copy of the process computes at a time."""


def fresh_rows(copies: Copies) -> list[Row]:
    """All rows with nothing that was computed before."""
    run, count = copies.run, len(copies.run.cases)
    if _compares_cases(run):
        return Rows().of(run)
    shares = [range(first, min(count, first + _TOGETHER)) for first in range(0, count, _TOGETHER)]
    answers = [copies.begin(_rows_at, share) for share in shares]
    return [row for answer in answers for row in answer()]


def _rows_at(run: Run, places: Sequence[int]) -> list[Row]:
    rows = Rows()
    return [rows.row(run, run.cases[place]) for place in places]


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
