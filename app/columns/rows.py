"""Rounds and their samples -> one row for each case, every column of `results.csv`.

Timings are raw in the folder; each figure of a row is computed here, when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.cases.case import Case
from app.cases.column import Blank, Row
from app.cases.column_names import chosen_names
from app.cases.columns import NAMES
from app.cases.round import RoundResult
from app.columns.environment import mean_clock_mhz
from app.columns.families import COMPARING, CaseData, fill_row
from app.columns.precision import rounds_wanted
from app.columns.reference_cases import is_multiplied
from app.columns.row_statistics import RowStatistics, Statistics, StoredRows, keep
from app.comparison.measured_case import Measured, timed_rounds
from app.plan.plan import Plan
from app.run_folder.run import Run
from app.stats.summary import Summary


@dataclass(slots=True)
class Rows:
    """The rows of a run; a case's samples are read again only after a new round of it.

    `stores`: what had to be computed is stored in the run folder.
    """

    stores: bool = True
    _known: dict[str, tuple[int, RowStatistics]] = field(default_factory=dict)
    _statistics: Statistics = field(default_factory=Statistics)

    def of(self, run: Run) -> list[Row]:
        """One row for each case, in the plan's order; those that a search tried come after."""
        return [one.row for one in self.measured(run)]

    def measured(self, run: Run) -> list[Measured]:
        """The same with what the rows are made of."""
        asked, stored = run.manifest.asked, StoredRows.of(run)
        found = [self._measured(run, case, stored) for case in run.cases]
        for family in COMPARING:
            columns = family.fill(asked, found)
            for measured in found:
                measured.row.update(columns.get(measured.case.case_id, {}))
        if self.stores and run.store is not None:
            run.store.save()
        return found

    def store(self, run: Run) -> None:
        """Store the statistics that are known of a run whose samples were found to be sound."""
        stored = StoredRows.of(run)
        for case in run.cases:
            timed = [result for result in run.rounds_of(case) if result.samples]
            count, known = self._known.get(case.case_id, (0, None))
            if known is not None and count == len(timed):
                keep(run, case, timed, known)
                self._made(run, case, stored)
        if run.store is not None:
            run.store.save()

    def each(self, run: Run) -> Iterator[Row]:
        """The same rows one after the other, so that a large run need not be held whole.

        Where rows are compared with each other, the first comes when all are there.
        """
        asked = run.manifest.asked
        if asked.baseline or asked.null or any(is_multiplied(case) for case in run.cases):
            yield from self.of(run)
        else:
            stored = StoredRows.of(run)
            yield from (self._made(run, case, stored)[0] for case in run.cases)

    def _measured(self, run: Run, case: Case, stored: StoredRows) -> Measured:
        row, summed = self._made(run, case, stored)
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
        return self._statistics_of(run, case, run.rounds_of(case)).summary

    def _made(self, run: Run, case: Case, stored: StoredRows) -> tuple[Row, RowStatistics | None]:
        """The case's row and what it is made of; None where it came to no round."""
        rounds, asked = run.rounds_of(case), self._statistics.plan(run, case)
        if not rounds:
            return _blank(run, case, asked), None
        summed = self._statistics_of(run, case, rounds)
        names = row_names(asked)
        known = stored.get(case, names)
        if known is not None:
            return known, summed
        summary = summed.summary
        rule, planned = asked.stopping, run.planned(case).rounds
        if rule is not None:
            planned = rounds_wanted(rule, rounds, summary)
        row: Row = dict.fromkeys(names)
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
        stored.put(case, row)
        return row, summed

    def _statistics_of(self, run: Run, case: Case, rounds: Sequence[RoundResult]) -> RowStatistics:
        timed = [result for result in rounds if result.samples]
        known = self._known.get(case.case_id)
        if known is None or known[0] != len(timed):
            known = len(timed), self._statistics.of(run, case, timed)
            self._known[case.case_id] = known
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
