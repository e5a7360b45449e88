"""A running sweep: results of its work are recorded in the run folder as they arrive."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

from app.analysis.columns.rows import Rows, row_names
from app.analysis.columns.table import main_columns
from app.analysis.columns.tables import write_tables
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import ResultsError
from app.cases.round import RoundResult
from app.cases.status import INCOMPLETE
from app.machine.environment import MACHINE
from app.machine.telemetry import Telemetry
from app.run_folder.folder import RESULTS, RunFolder
from app.run_folder.journal import (
    DiscardedRound,
    Line,
    ModelExported,
    Operators,
    TimeSpent,
    shorten_line,
)
from app.run_folder.live_status import Live, LiveFile, State
from app.run_folder.manifest import FULL_TABLE
from app.run_folder.run import Run
from app.run_folder.table import csv_line, line_of
from app.runs.exporting.tables import back_up_fuller_table
from app.runs.reader import JournalReader, drop_damaged_rounds
from app.runs.verify import read_intact
from app.stats.summary import Summary
from app.sweep.engine import (
    Completed,
    Dropped,
    Engine,
    Event,
    Finished,
    Paused,
    ProgressReported,
    Started,
)
from app.sweep.resumption import reject_changed, reject_lost_engines, reject_unknown_cases
from app.sweep.scheduling.follow_up import FOLLOW_UP_S
from app.sweep.scheduling.run_scheduler import build_scheduler
from app.sweep.scheduling.shares import Cluster, clock_warning
from app.sweep.work.base import Work
from app.sweep.work.export import MAXIMUM_EXPORTERS, ExportWork
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import RoundWork, SettledRound
from app.sweep.work.share import ShareWork, read_bundle
from runtimes.registry import environment_of

REFRESH_S = 2.0
REFRESH_SHARE = 0.02
"""It may take this share of the sweep's time."""
AT_ONCE_S = 0.1
"""So long between two rounds."""


class Refresher:
    """Told that the run `is_stale`, it begins anew once its time has come.

    `told` are the rows, by the ids of their cases, as the file has them; those of cases that were
    not begun are left out. `columns` are those of the full table, `words` those of `--columns`.
    """

    def __init__(
        self, folder: RunFolder, columns: Sequence[str], words: Sequence[str] = ()
    ) -> None:
        self.rows: dict[str, Row] = {}
        self.is_stale = False
        self._folder, self._columns, self._words = folder, columns, words
        self._due_s = time.monotonic() + REFRESH_S
        self._work: Iterator[None] | None = None
        self._spent_s = 0.0

    def go_on(self, rows: Iterator[Row]) -> None:
        """Work for a moment; `rows` are the run's as it stands, taken if a new file is begun."""
        start_s = time.monotonic()
        if self._work is None:
            if not self.is_stale or start_s < self._due_s:
                return
            self._work, self.is_stale = self._renew_rows(rows), False
        is_done = all(time.monotonic() < start_s + AT_ONCE_S for _ in self._work)
        self._spent_s += time.monotonic() - start_s
        if is_done:
            self._work = None
            self._due_s = time.monotonic() + max(REFRESH_S, self._spent_s / REFRESH_SHARE)
            self._spent_s = 0.0

    def _renew_rows(self, rows: Iterator[Row]) -> Iterator[None]:
        """Write both tables, in steps of a row."""
        rows_by_id: dict[str, Row] = {}
        finished_rows: list[Row] = []
        full, line = [csv_line(self._columns)], line_of(self._columns)
        for row in rows:
            full.append(line(row))
            finished_rows.append(row)
            if row["status"] not in INCOMPLETE:
                rows_by_id[str(row["case_id"])] = row
            yield
        names = main_columns(self._words, self._columns)
        short, line = [csv_line(names)], line_of(names)
        for row in finished_rows:
            short.append(line(row))
            yield
        self._write(FULL_TABLE, full)
        self._write(RESULTS, short)
        self.rows = rows_by_id

    def _write(self, name: str, lines: Sequence[str]) -> None:
        self._folder.write(name, "".join(lines).encode(), durable=False)


START, BETWEEN_ROUNDS, EXPORT = "start", "between rounds", "export and references"
PHASES = {
    "start": "process start",
    "import": "import of the engine",
    "compile": "compile",
    "first_inference": "first inference",
    "warmup": "warm-up",
    "measure": "measurement",
    "correctness": "output checks",
    "teardown": "process end",
}
"""What each phase of a round is called."""


class TimeSpending:
    """Begins at `start_s` (monotonic seconds) with the start of the program; `pass_to` names what
    follows, and is told everything that changes."""

    def __init__(self, start_s: float) -> None:
        self._since_s = start_s
        self._current = START, ""
        self._seconds: defaultdict[str, defaultdict[str, float]] = defaultdict(
            lambda: defaultdict(float)
        )

    def pass_to(self, in_flight: tuple[Work, ...]) -> None:
        """Count the time until now for what was in flight, and go on with this."""
        now_s = time.monotonic()
        phase, runtime = self._current
        self._seconds[phase][runtime] += now_s - self._since_s
        self._since_s, self._current = now_s, _doing(in_flight)

    @property
    def line(self) -> TimeSpent:
        """What the journal is to have of it."""
        return TimeSpent({phase: dict(parts) for phase, parts in self._seconds.items()})


def _doing(in_flight: tuple[Work, ...]) -> tuple[str, str]:
    """What the time is spent on, and the runtime that it is of, empty for none."""
    if any(isinstance(work, ExportWork) for work in in_flight):
        return EXPORT, ""
    if not in_flight:
        return BETWEEN_ROUNDS, ""
    work = in_flight[-1]
    if isinstance(work, RoundWork):
        return PHASES.get(work.phase, work.phase), work.case.runtime
    return work.kind, ""


EXPORT_S = 3.0
"""A first guess of what an export takes, the import of torch shared by several."""


class SweepRun:
    """Runs what a folder still lacks. A context manager: leaving it ends all that it started."""

    def __init__(
        self,
        folder: RunFolder,
        environment: Mapping[str, Any],
        *,
        place: ThisMachine | None = None,
        cluster: Cluster | None = None,
        columns: Sequence[str] = (),
        start_s: float | None = None,
    ) -> None:
        self._time = TimeSpending(time.monotonic() if start_s is None else start_s)
        self.folder = folder
        self._columns = columns
        self.stopped = False
        self.kept_table = ""
        reader = JournalReader(folder.path, folder.manifest)
        known = read_intact(folder.path, manifest=folder.manifest) if reader.has_journals else None
        self._is_whole = known is not None and not known.findings
        self._ledger = known.ledger if known and self._is_whole else reader.read_all()
        self._existing_lines = dict(
            known.counts if known and self._is_whole else reader.journal_lines
        )
        if self._existing_lines:
            reject_changed(self.run, copies=False)
            reject_unknown_cases(self.run)
            if not cluster:
                reject_lost_engines(self.run)
            self.kept_table = back_up_fuller_table(self.run)
        self._rows = Rows()
        if self._is_whole:  # what is measured now changes no other row
            self._rows.of(self.run)
        plan = folder.manifest.requested_plan
        uses_own_interpreter = any(
            not environment_of(case.runtime) for case in folder.manifest.cases
        )
        self._is_hosted = cluster is not None
        self._prepares = uses_own_interpreter and not plan.check and not cluster
        bundle = self._bundle = read_bundle(folder.path)
        if bundle is not None:
            environment = {**environment, "host": bundle.host, MACHINE: bundle.machine}
        exports = dict(bundle.exported) if bundle is not None else {}
        self._ledger.take(folder.writer, folder.begin(environment))
        self.voided = tuple(self._void_damaged())
        self._place = place or ThisMachine(
            Telemetry.of_this_machine(),
            cores=() if cluster else plan.chosen_cores,
            environments=plan.environments,
            huge_pages=plan.asks_huge_pages,
        )
        self.warnings = tuple(
            chain.from_iterable(map(clock_warning, cluster.hosts if cluster else ()))
        )
        scheduler = build_scheduler(folder, self.run, self._rows, cluster, start_s, exports)
        self._rounds, self._follow_ups = scheduler.rounds, scheduler.follow_ups
        self.is_open = plan.has_open_end
        """Whether what is measured decides how many rounds there will be."""
        self._engine = Engine(scheduler, self._place)
        self._seconds: defaultdict[str, Mean] = defaultdict(Mean)
        self._refresher = Refresher(folder, row_names(plan), columns)
        self._live_file = LiveFile(folder)
        self.live = Live(
            pid=os.getpid(),
            cases_total=len(self._ledger.cases),
            exports_total=self._rounds.exports_left,
        )
        self._record([ModelExported(*key, r.model) for key, r in exports.items() if r.model])
        self._count()
        self._write_live(always=True)
        self._time.pass_to(())

    @property
    def finished(self) -> bool:
        return self._engine.finished

    @property
    def run(self) -> Run:
        """What is recorded so far, as a reader of the folder would see it."""
        return self._ledger.run

    @property
    def cases(self) -> Mapping[str, Case]:
        """The cases by their ids; a search adds to them."""
        return self._ledger.cases

    def rows(self) -> list[Row]:
        """The rows as they stand."""
        return self._rows.of(self.run)

    def measured(self) -> list[MeasuredCase]:
        """The cases with their rows and what these are made of."""
        return self._rows.measured(self.run)

    def row_of(self, case_id: str) -> Row:
        """The case's row as `results.csv` has it by now; empty before it is there."""
        return self._refresher.rows.get(case_id, {})

    def planned_rounds(self, case: Case) -> int:
        """How many rounds the case is to have, as far as is known now."""
        return self._rounds.planned_rounds(case)

    def summary(self, case: Case) -> Summary | None:
        """The statistics of the case's rounds so far; None where nothing was timed."""
        return self._rows.summary(self.run, case)

    def look(self, case: Case) -> str:
        """What was found, if figures or verdicts were looked at after the case's last round."""
        return self._rounds.look(case)

    @property
    def hosts_left_out(self) -> Sequence[str]:
        """Of which hosts nothing more is asked, a sentence each."""
        return self._rounds.left_out

    def step(self, timeout_s: float) -> list[Event]:
        """Poll the engine, record what ended, tell the followers; DiskError ends the sweep."""
        events = self._engine.poll(timeout_s)
        self._time.pass_to(self._engine.in_flight)
        lines: list[Line] = []
        try:
            for event in events:
                lines.extend(self._take(event))
        finally:  # what has ended is kept, even if what follows says that the disk is full
            self._record(lines)
        for event in list(events):
            match event:
                case ProgressReported(ShareWork() as work) | Completed(ShareWork() as work):
                    events += self._take_share(work)
        self._prepare(events)
        if any(isinstance(event, Completed | Finished) for event in events):
            self._count()
            if not self._engine.quiet_matters and not self.finished:
                self._refresher.go_on(self._rows.iterate(self.run))
        self._write_live(always=self.finished)
        return events

    def _prepare(self, events: Sequence[Event]) -> None:
        """Have the next round's process start while models are exported, results are recorded,
        tables are renewed and, on another core, those that will take turns get ready."""
        if not self._prepares or self.finished or self.live.state in ("paused", "stopping"):
            return
        begun_count = sum(isinstance(work, RoundWork) for work in self._engine.in_flight)
        if self._rounds.all_rounds_left() <= begun_count:
            return
        started = [event.work for event in events if isinstance(event, Started)]
        gets_ready = any(isinstance(work, RoundWork) and work.job.seat for work in started)
        is_idle = not self._engine.quiet_matters and any(
            isinstance(event, Started | Completed) for event in events
        )
        if is_idle or (gets_ready and self._place.has_other_core):
            self._place.prepare(RoundWork.kind)

    def pause(self) -> None:
        """Start nothing more until `resume`."""
        self._engine.pause()

    def resume(self) -> None:
        self._engine.resume()
        if self.live.state == "paused":
            self.live.state = "measuring"

    def stop(self, now: bool = False) -> None:
        """End after the block in flight, or at once."""
        self.live.state = "stopping"
        self._engine.stop(now)

    def close(self, exit_code: int, rows: Sequence[Row] | None = None) -> None:
        """End all that was started, and leave the final tables and `live.json`.

        `rows` are the run's where somebody has them.
        """
        self._engine.close()
        self._time.pass_to(())
        if not self._is_hosted:  # several hosts are at work at once
            self._record((self._time.line,))
        rows = self.rows() if rows is None else rows
        write_tables(self.folder, rows, self._columns)
        complete = self.finished and not self.stopped
        state: State = "finished" if complete else "stopped"
        self.live = replace(self.live, state=state, eta_s=None, exit_code=exit_code)
        self._write_live(always=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def _write_live(self, always: bool) -> None:
        self.live.journal_lines = self._existing_lines | self.folder.journal_lines
        self._live_file.write(self.live, always=always)

    def _void_damaged(self) -> Iterator[DiscardedRound]:
        """What an earlier writer measured and somebody has damaged since is measured again."""
        damaged = {} if self._is_whole else drop_damaged_rounds(self.run).damaged
        for case_id, damage_by_round in damaged.items():
            for number, damage in damage_by_round.items():
                line = DiscardedRound(case_id, number, "", diagnostic=damage)
                self.folder.record(line)
                self._ledger.take(self.folder.writer, line)
                yield line

    def _take(self, event: Event) -> Iterable[Line]:
        """The lines that the journal is to have of it."""
        match event:
            case Started(work):
                if isinstance(work, RoundWork):
                    self.live.begin(work.job.case.case_id, work.job.round)
                return work.on_start(self.folder, self.live)
            case ProgressReported(work):
                work.on_progress(self.folder, self.live)
            case Completed(work, seconds):
                self._seconds[work.kind].add(seconds)
                self._land(work)
                return work.on_finish(self.folder, self.live)
            case Dropped(work):
                work.on_abort(self.folder)
                self._land(work)
            case Paused():
                self.live.state = "paused"
            case Finished(was_stopped):
                self.stopped = was_stopped
        return ()

    def _land(self, work: Work) -> None:
        if isinstance(work, RoundWork) and work.over:
            self.live.end(work.job.case.case_id, work.job.round)

    def _record(self, lines: Sequence[Line]) -> None:
        """Keep what one step came to: the disk is waited for once."""
        if not lines:
            return
        lines = tuple(self._of_share(shorten_line(line)) for line in lines)
        self.folder.record(*lines)
        self._refresher.is_stale = True
        for line in lines:
            self._ledger.take(self.folder.writer, line)
            if isinstance(line, RoundResult):
                self._rounds.take(line)

    def _of_share(self, line: Line) -> Line:
        """A line of a share names it, and what each of its rounds is to tell."""
        bundle = self._bundle
        if bundle is not None and isinstance(line, RoundResult):
            warnings = (*bundle.warnings, *line.warnings)
            return replace(line, attempt=bundle.attempt, warnings=warnings)
        if bundle is not None and isinstance(line, Operators):
            return replace(line, attempt=bundle.attempt)
        return line

    def _take_share(self, work: ShareWork) -> Iterator[Event]:
        """Know what a host has measured since, and tell of it."""
        for line in work.arrived:
            self._ledger.take(work.source, line, work.folder)
            self._existing_lines[work.source] = self._existing_lines.get(work.source, 0) + 1
            self._refresher.is_stale = True
            if isinstance(line, RoundResult):
                self._rounds.take(line)
                case = self._ledger.cases[line.case_id]
                yield Completed(SettledRound(case, line, host=work.host.name), 0.0)
        for news in work.news:
            yield Completed(news, 0.0)
        work.arrived.clear()
        work.news.clear()

    def _count(self) -> None:
        live = self.live
        remaining = self._rounds.all_rounds_left()
        live.cases_total = len(self._ledger.cases)
        live.rounds_total = self._rounds.rounds_total(self._ledger.recorded)
        live.rounds_done = live.rounds_total - remaining
        live.cases_failed = len(self._ledger.failed)
        live.exports_eta_s = self._exports_left_s()
        rounds = self._rounds
        round_s = self._usual_s(rounds.kind, rounds.guess_s)
        rounds_s = max(remaining * round_s / rounds.at_once, rounds.spread_left_s)
        after_s = sum(p.remaining * self._usual_s(p.kind, FOLLOW_UP_S) for p in self._follow_ups)
        live.eta_s = min(live.exports_eta_s + rounds_s + after_s, rounds.schedule.budget.left_s)

    def _exports_left_s(self) -> float:
        """How long the exports that are left are likely to take, so many at a time."""
        remaining = max(0, self.live.exports_total - self.live.exports_done)
        return remaining * self._usual_s("export", EXPORT_S) / MAXIMUM_EXPORTERS

    def _usual_s(self, kind: str, guess_s: float) -> float:
        """What work of this kind has taken in this run, start and compilation included."""
        return self._seconds[kind].value(guess_s)


@dataclass(slots=True)
class Mean:
    """Of what was added so far; what took no time was known beforehand and does not count."""

    sum: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        if seconds:
            self.sum += seconds
            self.count += 1

    def value(self, guess: float) -> float:
        """The mean; the guess where nothing counted yet."""
        return self.sum / self.count if self.count else guess


def close_quietly(run: SweepRun, exit_code: int, error: ResultsError) -> None:
    """Close a run whose folder can't be written or read as far as that is possible."""
    run.live.disk_error = error.cause
    with contextlib.suppress(ResultsError):
        run.close(exit_code)
