"""What a run is so far: the one place that takes journal lines, for all who know a run.

The batch parent gives it each line that it writes, readers and followers each that they read,
so that all of them see the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.jobs import RESULTS, AccuracyResult, ColdStart, Sensitivity
from app.cases.round import RoundResult
from app.cases.status import FAILED
from app.run_folder.journal import (
    DiscardedRound,
    Line,
    ModelExported,
    Operators,
    SearchCase,
    TimeSpent,
    Writer,
)
from app.run_folder.manifest import Manifest
from app.run_folder.run import Run
from app.run_folder.statistics_store import StatisticsStore
from exporters.types import ExportedModel

NO_RESULTS = (Writer, TimeSpent)
"""Lines on which no row depends."""


@dataclass(slots=True)
class Ledger:
    """`take` is told where each line comes from: the lines of one writer are of one host.

    `recorded` is how many rounds there are, `failed` the cases of which one failed, `cases` are
    those of the plan and of its searches by their ids. `store` has what was read and computed of
    these lines before, until another is taken that a row may depend on.
    """

    path: Path
    manifest: Manifest
    environments: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    recorded: int = 0
    failed: set[str] = field(default_factory=set)
    cases: dict[str, Case] = field(init=False)
    store: StatisticsStore | None = None
    _writers: dict[str, Writer] = field(default_factory=dict)
    _rounds: dict[str, dict[int, RoundResult]] = field(default_factory=dict)
    _writers_by_round: dict[str, dict[int, Writer]] = field(default_factory=dict)
    _voided_attempts: dict[tuple[str, int], int] = field(default_factory=dict)
    _void_cases: dict[str, int] = field(default_factory=dict)
    _models: dict[tuple[str, str], ExportedModel] = field(default_factory=dict)
    _models_there: dict[tuple[str, str, str], ExportedModel] = field(default_factory=dict)
    _results: dict[type, dict[str, dict[int, Any]]] = field(
        default_factory=lambda: {kind: {} for kind in RESULTS}
    )
    _tried_cases: dict[str, Case] = field(default_factory=dict)
    _operators: dict[str, Operators] = field(default_factory=dict)
    _time_spent: list[TimeSpent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cases = {case.case_id: case for case in self.manifest.cases}

    def take(self, source: str, line: Line, folder: Path | None = None) -> str:
        """Know one line more; gives the id of the case that it is about, '' if of no one. `folder`
        is that of its files where it is not the run's own.

        What is recorded twice counts once: the first line stands, but for models and for what
        circumstances made fail, or is void, which is done again. Writers of several
        hosts are read in any order, so that of the attempts at a case the last one stands.
        """
        if not isinstance(line, NO_RESULTS):
            self.store = None
        match line:
            case Writer():
                self._writers[source] = line
                self.environments.setdefault(line.host, line.environment)
                if folder is not None:
                    self.folders[line.writer] = folder
            case ModelExported():
                self._models[line.asked, line.precision] = line.model
                if source in self._writers:
                    key = (self._writers[source].writer, line.asked, line.precision)
                    self._models_there[key] = line.model
            case RoundResult():
                self._take_round(source, line)
                return line.case_id
            case DiscardedRound():
                self._void(line)
                return line.case_id
            case AccuracyResult() | ColdStart() | Sensitivity():
                self._take_result(line)
            case SearchCase():
                self._tried_cases.setdefault(line.case.case_id, line.case)
                self.cases.setdefault(line.case.case_id, line.case)
                return line.case.case_id
            case Operators():
                if folder is not None and line.file:
                    line = replace(line, file=str(folder / line.file))
                self._take_operators(line)
                return line.case_id
            case TimeSpent() if folder is None:  # hosts are at work beside each other
                self._time_spent.append(line)
        return ""

    def _take_round(self, source: str, line: RoundResult) -> None:
        rounds = self._rounds.setdefault(line.case_id, {})
        previous = rounds.get(line.round)
        void = self._voided_attempts.get((line.case_id, line.round), 0)
        later = previous is None or previous.is_tried_again or previous.attempt < line.attempt
        if line.attempt <= void or not later:
            return
        self.recorded += previous is None
        rounds[line.round] = line
        if line.status in FAILED:
            self.failed.add(line.case_id)
        elif previous is not None:
            self._forget_failure(line.case_id)
        writers = self._writers_by_round.setdefault(line.case_id, {})
        writers.pop(line.round, None)
        if source in self._writers:
            writers[line.round] = self._writers[source]

    def _take_result(self, line: AccuracyResult | ColdStart | Sensitivity) -> None:
        """One that prepares the others and was tried again is recorded by their answers."""
        own = self._results[type(line)].setdefault(line.subject, {})
        previous = own.get(line.number)
        if previous is None or previous.transient:
            own[line.number] = line
        for number in [n for n in own if n < 0 <= line.number and own[n].transient]:
            del own[number]

    def _take_operators(self, line: Operators) -> None:
        """They stand and fall with the rounds of their attempt."""
        previous = self._operators.get(line.case_id)
        later = previous is None or previous.transient or previous.attempt < line.attempt
        if later and line.attempt > self._void_cases.get(line.case_id, 0):
            self._operators[line.case_id] = line

    def _void(self, line: DiscardedRound) -> None:
        rounds = self._rounds.get(line.case_id, {})
        previous = rounds.get(line.round)
        if line.attempt:
            place = line.case_id, line.round
            self._voided_attempts[place] = max(line.attempt, self._voided_attempts.get(place, 0))
            self._void_case(line.case_id, line.attempt)
            if previous is None or previous.attempt > line.attempt:
                return
        self.recorded -= rounds.pop(line.round, None) is not None
        self._writers_by_round.get(line.case_id, {}).pop(line.round, None)
        self._forget_failure(line.case_id)

    def _forget_failure(self, case_id: str) -> None:
        """Unless another round of the case failed."""
        results = self._rounds.get(case_id, {}).values()
        if not any(result.status in FAILED for result in results):
            self.failed.discard(case_id)

    def _void_case(self, case_id: str, attempt: int) -> None:
        self._void_cases[case_id] = max(attempt, self._void_cases.get(case_id, 0))
        operators = self._operators.get(case_id)
        if operators is not None and operators.attempt <= attempt:
            del self._operators[case_id]

    @property
    def run(self) -> Run:
        """The run as it stands; what is taken later shows in it."""
        return Run(
            self.path,
            self.manifest,
            self._rounds,
            self._writers_by_round,
            self._models,
            self._results,
            tuple(self._tried_cases.values()),
            self._operators,
            models_there=self._models_there,
            environments=self.environments,
            void=self._void_cases,
            time_spent=self._time_spent,
            store=self.store,
            folders=self.folders,
        )
