"""The reader of a followed run: each `poll` reads on and gives a `RunState`.

Knows no Qt and starts no thread. Only the cases that are shown have their samples read, so that a
run of thousands of cases opens as fast as a small one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.analysis.columns.environment import mean_clock_mhz
from app.analysis.columns.status import NOT_REACHED, row_so_far, worst_round
from app.analysis.columns.tables import read_rows
from app.analysis.comparison.measured_case import timed_rounds
from app.analysis.insights.insight import Insight
from app.analysis.insights.rules import find_insights
from app.analysis.plot_data.series import Series, Standing, reference_figures
from app.cases.case import Case
from app.cases.column import Blank, Row
from app.cases.dimensions import GRID
from app.cases.errors import ResultsError
from app.cases.jobs import OperatorTimes, Sensitivity
from app.cases.round import RoundResult
from app.formatting.case_labels import labels, model_names
from app.machine.child import Child
from app.machine.installed_runtimes import clock_of
from app.plan.capabilities import CAPABILITIES, named_parts
from app.run_folder.files import Problem
from app.run_folder.folder import is_being_written, samples_name
from app.run_folder.live_status import Live, read_live
from app.run_folder.manifest import FULL_TABLE
from app.run_folder.run import SAMPLES, Run
from app.runs.following.samples import CaseSamples, TelemetryCache, no_counts
from app.runs.following.state import CaseDetails, RunState, case_operators, details
from app.runs.reader import JournalReader
from app.stats.summary import Summary
from exporters import install_layout
from exporters.codec import from_json

_MODULE = "app.runs.following.summary_worker"


@dataclass(frozen=True, slots=True)
class Answer:
    """The row of one case and, if it has samples, their summary."""

    case_id: str
    row: Row
    summary: Summary | None


class Summaries:
    """Starts the process with the first question; `close` ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child: Child | None = None

    def ask(self, case_ids: Sequence[str]) -> None:
        """Ask for cases; the answers come from `poll`, in the same order."""
        if self._child is None:
            self._child = Child(install_layout.command(_MODULE, str(self._folder)))
        self._child.send(json.dumps(list(case_ids)))

    def poll(self) -> list[Answer]:
        """The answers that have come; a process that died gives none any more."""
        if self._child is None:
            return []
        return [from_json(Answer, json.loads(line)) for line in self._child.lines()]

    @property
    def died(self) -> bool:
        """Whether the process ended by itself, as when the folder is gone."""
        return self._child is not None and self._child.ended()

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


class ResultFiles:
    """As of the last `poll`, by case id: `rows` of the full table, and what capabilities `found`,
    by their settings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamps: dict[str, tuple[int, int]] = {}
        self.rows: Mapping[str, Row] = {}
        self.found: dict[str, Mapping[str, Any]] = {}
        self._case_count = 0

    def poll(self, run: Run) -> set[str]:
        """The cases of which something else is written than before."""
        changed_keys: set[str] = set()
        if self._is_new(FULL_TABLE):
            previous, self.rows = self.rows, read_rows(self._folder / FULL_TABLE)
            changed_keys |= {key for key, row in self.rows.items() if previous.get(key) != row}
        had_cases, self._case_count = self._case_count, len(run.cases)
        for key, target in named_parts("found"):
            name = CAPABILITIES[key].found_file
            if self._is_new(name) or len(run.cases) != had_cases:
                read = install_layout.load(f"app.{target}")
                self.found[key] = read(self._folder / name, run)
                changed_keys |= self.found[key].keys()
        return changed_keys

    def of(self, case_id: str) -> dict[str, Any]:
        """What capabilities found of a case, by their settings."""
        return {key: found[case_id] for key, found in self.found.items() if case_id in found}

    def _is_new(self, name: str) -> bool:
        """Whether the file has been written since this was asked last."""
        try:
            status = (self._folder / name).stat()
        except OSError:
            return False
        stamp = (status.st_mtime_ns, status.st_ino)
        previous, self._stamps[name] = self._stamps.get(name), stamp
        return stamp != previous


class InsightCache:
    """Keeps the rows that were last thought over, and what came of it."""

    def __init__(self) -> None:
        self._rows: list[Mapping[str, Any]] = []
        self._insights: tuple[Insight, ...] = ()

    def of(self, series: Sequence[Series], waits: bool) -> tuple[Insight, ...]:
        """What to look at; while rows are still waited for, what was found before."""
        rows = [item.row for item in series]
        if not waits and rows != self._rows:
            self._rows = rows
            self._insights = tuple(find_insights(item.measured for item in series))
        return self._insights


DEFAULT_VISIBLE = 6
"""So many cases are shown while nobody has chosen any."""


class RunReader:
    """Made for a folder that is no run, or with a damaged manifest, it raises ResultsError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = JournalReader(folder)
        self._cases = {case.case_id: case for case in self._journal.ledger.manifest.cases}
        self._labels = labels(self._journal.ledger.manifest.cases)
        self._model_names = _model_names(self._cases.values())
        self._samples: dict[str, CaseSamples] = {}
        self._result_files = ResultFiles(folder)
        self._answer_cache: dict[str, tuple[int, Row, Summary | None]] = {}
        self._requested_counts: dict[str, int] = {}
        self._operators: dict[str, OperatorTimes] = {}
        self._summaries = Summaries(folder)
        self._telemetry_cache = TelemetryCache()
        self._series: dict[str, Series] = {}
        self._selection: tuple[str, ...] = ()
        self._current: frozenset[str] = frozenset()
        self._reading = False
        self._all_summarised = False
        self._insight_cache = InsightCache()
        self._state = RunState(folder, self._journal.ledger.manifest)

    def choose(self, keys: Sequence[str]) -> None:
        """Show these cases; none means the ones that are measured now or were last."""
        self._selection = tuple(key for key in keys if key in self._cases)

    def summarise_all(self) -> None:
        """Have summaries of every case from now on, and not only of those that are shown."""
        self._all_summarised = True

    def poll(self) -> RunState | None:
        """The new state, or None if nothing moved since the last call."""
        previous = self._state
        try:
            changed_keys = self._journal.poll()
        except ResultsError as error:
            problem = Problem(error.cause, error.remedy)
            self._state = replace(previous, problem=problem, alive=False)
            return self._state if self._state.problem != previous.problem else None
        changed_keys |= self._take_search_cases()
        alive = is_being_written(self.folder)  # first: who ends now tells so in `live` before
        live = read_live(self.folder) or previous.live
        running = live if alive else None
        changed_keys |= (
            self._result_files.poll(self._journal.ledger.run)
            | self._take_answers()
            | self._newly_in_flight(running)
        )
        visible_keys = self._choose_visible(running)
        changed_keys |= set(visible_keys) ^ set(previous.visible_keys)
        first = not self._series
        problems = tuple(Problem(damage.cause, damage.remedy) for damage in self._journal.damaged)
        has_changes = (
            bool(changed_keys) or first or alive != previous.alive or problems != previous.damaged
        )
        self._samples = {
            key: self._samples.get(key) or CaseSamples(self._cases[key].scenario.is_open_loop)
            for key in visible_keys
        }
        updated_keys = {k for k, s in self._samples.items() if s.follow(self._files(k, running))}
        self._reading = bool(updated_keys)
        changed_keys |= updated_keys
        self._ask(visible_keys, alive)
        if first or alive != previous.alive:
            changed_keys = set(self._cases)  # who waits while the run goes on is not run after it
        if not changed_keys and not has_changes and live == previous.live and not previous.problem:
            return None
        for key in changed_keys & self._cases.keys():
            self._series[key] = self._series_of(self._cases[key], running, alive)
        series = tuple(self._series[key] for key in self._cases)
        self._state = RunState(
            folder=self.folder,
            manifest=self._journal.ledger.manifest,
            live=live,
            alive=alive,
            series=series,
            insights=() if alive else self._insight_cache.of(series, self._has_pending_rows()),
            visible_keys=visible_keys,
            revision=previous.revision + has_changes,
            samples_in_flight=self._in_flight(live),
            damaged=problems,
            details=self._details(visible_keys),
            environments=dict(self._journal.ledger.environments),
            models=tuple(self._journal.ledger.run.models.values()),
            sensitivities=self._journal.ledger.run.result_by_subject(Sensitivity),
        )
        return self._state

    @property
    def is_moving(self) -> bool:
        """Whether something new is to be expected soon."""
        waits = len(self._answer_cache) < len(self._requested_counts) and not self._summaries.died
        return self._state.alive or self._reading or waits

    def _has_pending_rows(self) -> bool:
        """Whether results.csv fell behind and the rows that take its place have not come yet."""
        pending_keys = self._requested_counts.keys() - self._answer_cache.keys()
        return not self._summaries.died and any(map(self._row_is_behind, pending_keys))

    def close(self) -> None:
        """End the summary process."""
        self._summaries.close()

    def _take_search_cases(self) -> set[str]:
        """The cases that a search has added; then every label may read differently."""
        cases = self._journal.ledger.run.cases
        if len(cases) == len(self._cases):
            return set()
        self._cases = {case.case_id: case for case in cases}
        self._labels = labels(cases)
        self._model_names = _model_names(cases)
        return set(self._cases)

    def _newly_in_flight(self, live: Live | None) -> set[str]:
        """The cases that are measured now and were not before, or the other way round."""
        previous, self._current = self._current, live.cases if live else frozenset()
        return set(previous ^ self._current)

    def _choose_visible(self, live: Live | None) -> tuple[str, ...]:
        """What was chosen, else the case in flight beside those it is to be compared with."""
        if self._selection or len(self._cases) <= DEFAULT_VISIBLE:
            return self._selection or tuple(self._cases)
        if live and live.case_id in self._cases:
            centre = live.case_id
        elif self._state.visible_keys:
            return self._state.visible_keys
        else:
            measured_keys = (key for key in self._journal.ledger.run.rounds if key in self._cases)
            centre = next(measured_keys, next(iter(self._cases)))
        if centre in self._state.visible_keys:
            return self._state.visible_keys
        nearest = sorted(self._cases, key=lambda key: self._distance(centre, key))
        return tuple(key for key in self._cases if key in nearest[:DEFAULT_VISIBLE])

    def _distance(self, first: str, second: str) -> tuple[bool, bool, bool]:
        """Sorts first what differs from a case in its runtime or settings, not in its work."""
        a, b = self._cases[first], self._cases[second]
        return a.model != b.model, a.axes != b.axes, a.scenario != b.scenario

    def _files(self, key: str, live: Live | None) -> dict[int, Path]:
        """The sample files of a case by round, the one in flight with them."""
        run = self._journal.ledger.run
        rounds = run.rounds.get(key, {})
        files = {
            number: run.samples_path(result) for number, result in rounds.items() if result.samples
        }
        for number in live.numbers_of(key) if live else ():
            if number not in rounds:
                files[number] = self.folder / SAMPLES / samples_name(key, number)
        return files

    def _details(self, visible_keys: Sequence[str]) -> dict[str, CaseDetails]:
        run = self._journal.ledger.run
        for key in visible_keys:
            if key not in self._operators and (operators := case_operators(run, self._cases[key])):
                self._operators[key] = operators
        details_by_key = {
            key: details(run, self._cases[key], self._operators.get(key)) for key in visible_keys
        }
        return {key: found for key, found in details_by_key.items() if found is not None}

    def _timed_rounds(self, key: str) -> list[RoundResult]:
        return [r for r in self._journal.ledger.run.rounds.get(key, {}).values() if r.samples]

    def _ask(self, visible_keys: Sequence[str], alive: bool) -> None:
        """Have summaries made of what is shown, and rows where results.csv fell behind."""
        if self._summaries.died:
            return
        keys = list(visible_keys)
        if self._all_summarised:
            keys += self._journal.ledger.run.rounds
        elif not alive:
            keys += [key for key in self._journal.ledger.run.rounds if self._row_is_behind(key)]
        due = [
            key
            for key in dict.fromkeys(keys)
            if key in self._cases
            and (count := len(self._journal.ledger.run.rounds.get(key, {})))
            and self._requested_counts.get(key) != count
        ]
        for key in due:
            self._requested_counts[key] = len(self._journal.ledger.run.rounds[key])
        if due:
            self._summaries.ask(due)

    def _row_is_behind(self, key: str) -> bool:
        row = self._result_files.rows.get(key)
        return row is None or (row.get("rounds") or 0) != len(self._timed_rounds(key))

    def _take_answers(self) -> set[str]:
        answers = self._summaries.poll()
        for answer in answers:
            count = self._requested_counts.get(answer.case_id, 0)
            self._answer_cache[answer.case_id] = (count, answer.row, answer.summary)
        return {answer.case_id for answer in answers}

    def _in_flight(self, live: Live | None) -> int:
        """Measured samples of the case that is measured now, over all its rounds."""
        if live is None or live.case_id not in self._cases:
            return 0
        results = self._journal.ledger.run.rounds.get(live.case_id, {})
        recorded_runs = sum(result.iterations for result in results.values())
        running = live.iterations if live.round not in results and live.phase == "measure" else 0
        return recorded_runs + running

    def _series_of(self, case: Case, live: Live | None, alive: bool) -> Series:
        key, run = case.case_id, self._journal.ledger.run
        rounds = run.rounds.get(key, {})
        sampled_rounds = self._timed_rounds(key) if rounds else []
        is_measured = live is not None and key in live.cases and _goes_on(live, key, rounds)
        samples = self._samples.get(key)
        count, row, summary = self._answer_cache.get(key, (0, {}, None))
        if count != len(rounds):
            summary = None
        if key in self._result_files.rows and (not row or not self._row_is_behind(key)):
            row = self._result_files.rows[key]
        status, reason = self._status(rounds, is_measured, alive)
        return Series(
            key=key,
            case=case,
            batch_axis=self._batch_axis(case),
            timed=timed_rounds(run, case) if rounds else (),
            cpu_mhz=mean_clock_mhz(run, case) if rounds else None,
            turn=run.turn_of(case),
            label=self._labels[key],
            model=self._model_names[case.model],
            runtime=case.runtime,
            clock=sampled_rounds[0].clock if sampled_rounds else clock_of(case.runtime),
            status=status,
            counts=samples.counts if samples else no_counts(),
            rounds=samples.maps() if samples else (),
            watched=(
                self._telemetry_cache.of(run, key, rounds, samples.numbers) if samples else ()
            ),
            summary=summary,
            published=reference_figures(case),
            found=self._result_files.of(key),
            row=Blank(
                {
                    **_requested_columns(case),
                    **(row_so_far(row) if alive else row),
                    "status": status,
                    "reason": reason or row.get("reason"),
                }
            ),
        )

    def _batch_axis(self, case: Case) -> str:
        model = self._journal.ledger.run.model_of(case)
        return model.batch if model is not None and isinstance(model.batch, str) else "batch"

    def _status(
        self, rounds: Mapping[int, RoundResult], is_measured: bool, alive: bool
    ) -> tuple[Standing, str]:
        if is_measured:
            return "measuring", ""
        decisive = worst_round(rounds.values())
        if decisive is not None:
            return decisive.status, decisive.reason
        if alive:
            return "waiting", ""
        return "not_run", NOT_REACHED


def _goes_on(live: Live, key: str, rounds: Mapping[int, RoundResult]) -> bool:
    """Whether what is in flight is of the case's rounds: what follows them, such as operator times,
    changes nothing of how it ended."""
    return not rounds or any(number not in rounds for number in live.numbers_of(key))


def _model_names(cases: Iterable[Case]) -> dict[str, str]:
    """Each model once: the cases of a large sweep are of few."""
    return model_names({case.model for case in cases})


def _requested_columns(case: Case) -> Row:
    """What is known of a row before anything was measured."""
    return {
        "case_id": case.case_id,
        "suite": case.suite or None,
        "model": case.model,
        "runtime": case.runtime,
        "host": case.host or None,
        "batch_size": case.axes.get("batch"),
        "sequence_length": case.axes.get("sequence"),
        **{name: value for dimension in GRID for name, value in dimension.row(case).items()},
    }
