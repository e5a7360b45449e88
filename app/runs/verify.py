"""The verification of a run folder: every file against the journal, and what is lost.

Files that are gone leave nothing to check. What they held is known from elsewhere: `live.json`
counts the lines of each journal, the plan says how many rounds a finished case has, and exported
tables name the rounds that they were made of.

Unlike a reader, which stops at the first line that it can't understand, the verification goes
on.
"""

from __future__ import annotations

import csv
import hashlib
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast
from zlib import crc32

from app.analysis.columns.rounds import mixed_graphs
from app.analysis.columns.rows import fresh_rows, store_of
from app.analysis.columns.table import all_names
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import FileError
from app.cases.round import RoundResult
from app.cases.status import TERMINAL
from app.machine.environment import graphlap_version
from app.run_folder import journal as lines
from app.run_folder.copies import Copies, copies_of
from app.run_folder.files import Finding, FindingCode, agree, text_digest
from app.run_folder.folder import LIVE, RESULTS, TELEMETRY, is_being_written
from app.run_folder.journal import FOLDER, share_folders, source_of
from app.run_folder.journal import journals as journal_files
from app.run_folder.ledger import NO_RESULTS, Ledger
from app.run_folder.live_status import Live, read_live
from app.run_folder.manifest import (
    FULL_TABLE,
    MANIFEST,
    DamagedManifest,
    Manifest,
    read_manifest,
)
from app.run_folder.operators import read_operators
from app.run_folder.run import SAMPLES, Run
from app.run_folder.statistics_store import StatisticsStore
from app.run_folder.table import read_rounds, to_csv
from app.run_folder.telemetry import damaged_readings, readings_path
from app.runs.reader import MAXIMUM_NAMED, drop_damaged_rounds
from exporters import diagnostics as catalogue
from exporters.codec import CodecError
from exporters.file_access import open_file, read_file

_RESTORE = f"restore {FOLDER}/ and samples/ from a copy"


def missing_lines(live: Live, counts: Mapping[str, int]) -> Iterator[Finding]:
    """Journals with fewer lines than the writer had written; `counts` are by their names."""
    for name, expected_count in live.journal_lines.items():
        count = counts.get(name, 0)
        if count < expected_count:
            yield Finding(
                "lines_missing",
                f"{FOLDER}/{name}",
                f"has {count:,} of the {expected_count:,} lines that were written",
                f"{_RESTORE}, or resume the run: that measures again what they held",
            )


def missing_rounds(live: Live, run: Run) -> Iterator[Finding]:
    """Of a run that measured all of its plan, each case without all of its rounds."""
    manifest, plan = run.manifest, run.manifest.requested_plan
    complete = live.state == "finished" and live.rounds_done == live.rounds_total > 0
    if not complete or plan.has_open_end:
        return
    for case in run.cases:
        results = run.rounds.get(case.case_id, {})
        count = len(results) + len(run.damaged.get(case.case_id, ()))
        has_ended = any(result.status in TERMINAL for result in results.values())
        if not has_ended and count < manifest.rounds:
            yield Finding(
                "rounds_missing",
                FOLDER,
                f"has {count} of the {manifest.rounds} rounds of case {case.case_id}, which "
                f"{LIVE} records as measured",
                f"{_RESTORE}, or resume the run: that measures them again",
            )


def impossible_rounds(run: Run) -> Iterator[Finding]:
    """Rounds that the plan can't have: of other cases, or beyond the last number."""
    cases: dict[str, Case] = {case.case_id: case for case in run.cases}
    for case_id, results in run.rounds.items():
        case = cases.get(case_id)
        if case is None:
            yield Finding(
                "foreign_case",
                FOLDER,
                f"has {len(results)} rounds of case {case_id:.40}, which the run does not have",
                "move the journal of another run out of the folder",
            )
            continue
        plan = run.planned(case)
        excess_numbers = [number for number in results if number >= plan.rounds]
        if excess_numbers and not plan.requested_plan.is_search:
            yield Finding(
                "round_beyond_plan",
                FOLDER,
                f"has round {max(excess_numbers) + 1} of case {case_id}, and the plan has "
                f"{plan.rounds} rounds",
                _RESTORE,
            )


def count_missing_rounds(
    stored_counts: Mapping[str, int], run: Run, voided_ids: Collection[str] = ()
) -> int:
    """How many timed rounds a table has that the journals lack; `stored_counts` are its numbers by
    case. Rounds of the cases that are `voided_ids` are about to be measured again."""
    missing = 0
    for case_id, rounds in stored_counts.items():
        if case_id not in voided_ids and case_id not in run.void:
            results = run.rounds.get(case_id, {}).values()
            timed_count = sum(bool(result.samples) for result in results)
            missing += max(0, rounds - timed_count - len(run.damaged.get(case_id, ())))
    return missing


def fuller_table(name: str, missing: int) -> Iterator[Finding]:
    """The finding of a table that has so many rounds more than the journals."""
    if missing:
        yield Finding(
            "table_has_more_rounds",
            name,
            f"holds {missing:,} rounds that {FOLDER}/ lacks",
            f"{_RESTORE}, and keep {name}: it has the only figures of these rounds",
        )


_RESUME = "resume the run"


@dataclass(frozen=True, slots=True)
class Verification:
    """How many `lines`, `rounds` and measured `samples` are whole; `live`: it is being written."""

    lines: int
    rounds: int
    samples: int
    findings: tuple[Finding, ...]
    live: bool

    @property
    def damaged(self) -> bool:
        return any(not finding.harmless for finding in self.findings)


@dataclass(frozen=True, slots=True)
class IntactRun:
    """A run without the rounds that are damaged, of so many whole journal `lines`; `files` are the
    samples that these tell of, and `findings` say what is left out. `counts` has the lines of each
    journal, damaged ones too, and `voided` the cases of which rounds were declared void. `ledger`
    took all of them."""

    run: Run
    ledger: Ledger
    lines: int
    files: frozenset[str]
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    voided: frozenset[str]

    @property
    def damage_texts(self) -> tuple[str, ...]:
        """A sentence for each thing that is damaged."""
        damage = (finding for finding in self.findings if not finding.harmless)
        return tuple(f"damaged and left out: {f.file} {f.problem}; {f.remedy}" for f in damage)

    def rounds(self) -> Iterator[RoundResult]:
        for results in self.run.rounds.values():
            yield from results.values()


FileChecks = Callable[[Copies], Callable[[Sequence[Row]], Iterable[Finding]]]
"""What looks at the other files that are made of a run: it begins with those that are made without
its rows."""


def verify(folder: Path, file_checks: FileChecks = lambda _: lambda _: ()) -> Verification:
    """Look at all of it and change nothing; ResultsError for a folder that is no run."""
    live = is_being_written(folder)
    try:
        intact = read_intact(folder, from_cache=False)
    except DamagedManifest as error:
        finding = Finding("manifest_damaged", MANIFEST, error.fault, "restore it from a copy")
        return Verification(0, 0, 0, (finding,), live)
    end = read_live(folder) or Live()
    findings, rounds = list(intact.findings), list(intact.rounds())
    findings += _manifests(folder, intact.run)
    if not live:
        # Where a line is damaged, it is known whose samples these are.
        findings += _orphan_samples(folder, intact.files, not findings and end.state == "finished")
        findings += _missing_records(intact, end)
    findings += [*_archived_files(intact.run), *_telemetry(intact.run)]
    if not live and all(finding.harmless for finding in findings):
        has_ended = end.state in ("finished", "stopped") or not (folder / LIVE).is_file()
        with copies_of(intact.run) as copies:
            files_of_rows = file_checks(copies)
            rows = fresh_rows(copies)
            findings += _tables(intact.run, rows, has_ended)
            findings += files_of_rows(rows)
    samples = sum(result.iterations for result in rounds)
    return Verification(intact.lines, len(rounds), samples, tuple(findings), live)


_INTACT = "intact"


def read_intact(
    folder: Path, from_cache: bool = True, manifest: Manifest | None = None
) -> IntactRun:
    """What is left of a run where some of it is damaged; ResultsError for a folder that is none.

    Unless `from_cache`, nothing that was read or computed before is believed. `manifest` is the
    folder's where it has been read: that of a large sweep takes a second.
    """
    store = store_of(folder) if from_cache else None
    intact = _stored(folder, store) if store is not None else None
    if store is None or intact is not None:
        return intact or _read_whole(folder, manifest)
    intact = _read_whole(folder, manifest)
    store.put(_INTACT, intact)
    ledger = copy(intact.ledger)
    ledger.store = store
    return replace(intact, run=replace(intact.run, store=store), ledger=ledger)


def _stored(folder: Path, store: StatisticsStore) -> IntactRun | None:
    """What was read before, with the journals that have come since; None where one of them has a
    result, so that all has to be read again."""
    intact = store.load(_INTACT)
    if not isinstance(intact, IntactRun):
        return None
    ledger, counts = intact.ledger, dict(intact.counts)
    for writer, place in ledger.folders.items():
        ledger.folders[writer] = folder / place.relative_to(ledger.path)
    ledger.path = folder
    for name in store.later_journals:
        journal = _Journal(folder / name, folder)
        for line in journal.read():
            if not isinstance(line, NO_RESULTS) or not _is_own(line, ledger):
                return None
            ledger.take(source_of(folder, journal.path), line)
        counts[source_of(folder, journal.path)] = journal.count
    ledger.store = store
    return replace(intact, run=replace(intact.run, path=folder, store=store), counts=counts)


def _is_own(line: lines.Line | None, ledger: Ledger) -> bool:
    """Whether it is no first line of a journal of another run."""
    return not isinstance(line, lines.Writer) or line.run_id == ledger.manifest.run_id


def _read_whole(folder: Path, manifest: Manifest | None) -> IntactRun:
    """All of it, file by file."""
    ledger = Ledger(folder, manifest or read_manifest(folder))
    findings: list[Finding] = []
    files, voided_ids, line_count = set[str](), set[str](), 0
    journals = [_Journal(path, folder) for path in journal_files(folder)]
    for journal in journals:
        path = journal.path
        place, source = path.parents[1], source_of(folder, path)
        elsewhere = place if place != folder else None
        samples = (place / SAMPLES).relative_to(folder)
        for line in journal.read():
            if isinstance(line, Finding):
                findings.append(line)
                continue
            if not _is_own(line, ledger):
                remedy = "move it out of the folder"
                name = str(path.relative_to(folder))
                findings.append(Finding("foreign_journal", name, "belongs to another run", remedy))
                break
            line_count += 1
            if line is not None:
                ledger.take(source, line, elsewhere)
            match line:
                case RoundResult():
                    files.add(f"{samples}/{line.samples}")
                case lines.DiscardedRound():
                    voided_ids.add(line.case_id)
    run = ledger.run
    intact = drop_damaged_rounds(run)
    for case_id, damage_by_round in intact.damaged.items():
        for number, damage in damage_by_round.items():
            path = run.samples_path(run.rounds[case_id][number])
            file = str(path.relative_to(folder))
            problem = f"is damaged. {catalogue.message(damage)}"
            code = cast("FindingCode", damage.code)
            remedy = f"{_RESUME} measures it again"
            findings.append(Finding(code, file, problem, remedy))
    faults_by_id = dict(_operators(intact))
    findings += faults_by_id.values()
    operators = {
        case_id: line for case_id, line in intact.operators.items() if case_id not in faults_by_id
    }
    intact = replace(intact, operators=operators)
    return IntactRun(
        intact,
        ledger,
        line_count,
        frozenset(files),
        tuple(findings),
        {source_of(folder, journal.path): journal.count for journal in journals},
        frozenset(voided_ids),
    )


@dataclass(slots=True)
class _Journal:
    """A file of a journal; once it was read, `count` is that of its whole lines."""

    path: Path
    folder: Path
    count: int = 0

    def read(self) -> Iterator[lines.Line | Finding | None]:
        """What each line says, or what is wrong with it; None for a kind that is not known."""
        name = str(self.path.relative_to(self.folder))
        try:
            *complete, torn_line = read_file(self.path).split(b"\n")
        except OSError as error:
            problem = f"can't be read ({error.strerror})"
            yield Finding("unreadable", name, problem, "restore it from a copy")
            return
        self.count = len(complete)
        damaged_count = 0
        for number, text in enumerate(complete, 1):
            try:
                yield lines.parse_line(text)
            except CodecError as error:
                damaged_count += 1
                if damaged_count <= MAXIMUM_NAMED:
                    problem = f"line {number} is damaged ({error})"
                    remedy = f"remove that line, then {_RESUME} measures its round again"
                    yield Finding("line_damaged", name, problem, remedy)
        if damaged_count > MAXIMUM_NAMED:
            problem = f"has {damaged_count - MAXIMUM_NAMED:,} more damaged lines"
            yield Finding("line_damaged", name, problem, _RESTORE)
        if torn_line:
            problem = "the last line is torn and does not count"
            yield Finding("line_torn", name, problem, f"none, or {_RESUME}", harmless=True)


def _manifests(folder: Path, run: Run) -> Iterator[Finding]:
    """Manifests that are not those with which the writers of the journals began."""
    digests: dict[Path, set[str]] = {folder: set()}
    for writers in run.writers.values():
        for writer in writers.values():
            if writer.run_id == run.manifest.run_id:
                home = run.folders.get(writer.writer, folder)
                digests.setdefault(home, set()).add(writer.manifest)
    for home, manifests in digests.items():
        file = str((home / MANIFEST).relative_to(folder))
        try:
            manifest = read_file(home / MANIFEST)
        except OSError as error:
            problem = f"can't be read ({error.strerror})"
            yield Finding("unreadable", file, problem, "restore it from a copy")
            continue
        if manifests - {text_digest(manifest)}:
            problem = "is not what the run was begun with"
            yield Finding("manifest_damaged", file, problem, "restore it from a copy")


def _missing_records(intact: IntactRun, end: Live) -> Iterator[Finding]:
    """What is gone without a trace in the journals, by the other files of the folder."""
    run = intact.run
    yield from missing_lines(end, intact.counts)
    yield from impossible_rounds(run)
    yield from mixed_graphs(run)
    if not intact.findings:
        yield from missing_rounds(end, run)
        for name in (FULL_TABLE, RESULTS):
            stored_rounds = read_rounds(run.path / name)
            yield from fuller_table(name, count_missing_rounds(stored_rounds, run, intact.voided))


def _orphan_samples(folder: Path, names: Collection[str], is_finished: bool) -> Iterator[Finding]:
    """Samples of which no line tells, as a kill leaves them; in a run that has `ended` nobody
    leaves any, so that their lines are lost."""
    for name in _names_in(folder, SAMPLES):
        if name in names:
            continue
        if is_finished:
            yield Finding(
                "samples_unrecorded",
                name,
                "was measured, but no journal line records it",
                f"restore {FOLDER}/ from a copy, or {_RESUME} measures it again",
            )
        else:
            yield Finding(
                "samples_unfinished",
                name,
                "belongs to a round that did not end",
                f"none, or {_RESUME} writes it anew",
                harmless=True,
            )


def _names_in(folder: Path, kind: str) -> list[str]:
    """What lies in these folders of a run and of its shares, from the run's folder."""
    names = []
    for place in (folder, *share_folders(folder)):
        home = (place / kind).relative_to(folder)
        names += sorted(f"{home}/{path.name}" for path in (place / kind).glob("*"))
    return names


def _archived_files(run: Run) -> Iterator[Finding]:
    """The copies of the user's own files."""
    for file in run.manifest.files:
        if not file.kept:
            continue
        try:
            with open_file(run.path / file.kept) as copy:
                is_unchanged = hashlib.file_digest(copy, "sha256").hexdigest() == file.sha256
        except OSError as error:
            problem = f"the copy of {file.path} can't be read ({error.strerror})"
            yield Finding("unreadable", file.kept, problem, "restore it from a copy")
            continue
        if not is_unchanged:
            problem = f"is not {file.path} as it was measured"
            yield Finding("copy_changed", file.kept, problem, "restore it from a copy")


def _operators(run: Run) -> Iterator[tuple[str, Finding]]:
    """By case id what is wrong with its table of operators: gone, cut or changed."""
    for line in run.operators.values():
        if not line.file:
            continue
        remedy = f"remove the line of {line.case_id} of the kind operators, then {_RESUME}"
        if not (run.path / line.file).is_file():
            yield line.case_id, Finding("operators_missing", line.file, "is not there", remedy)
            continue
        try:
            read_operators(run.path, line)
            checksum = crc32(read_file(run.path / line.file))
        except FileError as error:
            yield line.case_id, Finding("operators_damaged", line.file, error.fault, remedy)
            continue
        if line.file_crc32 != checksum:
            problem = "is not the table that was written"
            yield line.case_id, Finding("operators_damaged", line.file, problem, remedy)


def _telemetry(run: Run) -> Iterator[Finding]:
    """What the devices told, without which a round stands."""
    files = _names_in(run.path, TELEMETRY)
    checksums = {
        readings_path(run, result): result.readings_crc32
        for rounds in run.rounds.values()
        for result in rounds.values()
        if files
    }
    for file in files:
        path, remedy = run.path / file, "restore it from a copy"
        if lines_lost := damaged_readings(path):
            problem = f"has {lines_lost:,} damaged line{'s' * (lines_lost > 1)}, which do not count"
            yield Finding("telemetry_damaged", file, problem, remedy, harmless=True)
        elif checksums.get(path) not in (None, crc32(read_file(path))):
            yield Finding(
                "telemetry_damaged", file, "differs from the readings of the devices", remedy
            )


def _tables(run: Run, rows: Sequence[Row], has_ended: bool) -> Iterator[Finding]:
    """Whether the tables have what journal and samples amount to."""
    for name in (FULL_TABLE, RESULTS):
        path = run.path / name
        if not path.is_file():
            problem = "is not there"
        else:
            problem = _table_fault(rows, path, name == FULL_TABLE)
        if problem:
            yield differing_file(run, name, "csv", has_ended and path.is_file(), problem)


DIFFERS = "is not what journal and samples amount to"


def differing_file(
    run: Run, name: str, made_by: str, has_ended: bool = True, problem: str = DIFFERS
) -> Finding:
    """The finding of a derived file that `graphlap export` makes again in this format, "" for one
    that it does not make. No damage is what another release made of its own method, and what a
    kill leaves of a run that has not ended."""
    place = shlex.quote(str(run.path))
    remedy = f"make it again: graphlap export {place} -f {made_by}" if made_by else "remove it"
    is_ours = run.manifest.graphlap_version == graphlap_version()
    return Finding("table_differs", name, problem, remedy, not (has_ended and is_ours))


def _table_fault(rows: Sequence[Row], path: Path, has_all: bool) -> str:
    """How a file differs from the table of these rows with the columns that it names, or with
    every column; "" if it does not."""
    try:
        text = read_file(path)
    except OSError as error:
        return f"can't be read ({error.strerror})"
    names = _lines(text)[0]
    expected = to_csv(rows, all_names(rows) if has_all else names)
    if agree(text, expected):
        return ""
    columns = [zip(*_lines(part), strict=False) for part in (text, expected)]
    differing = [str(new[0]) for old, new in zip(*columns, strict=False) if old != new]
    return f"{DIFFERS} ({', '.join(differing[:3]) or 'its columns'})"


def _lines(text: bytes) -> list[list[str]]:
    """The cells of each line of a table, whatever it is."""
    lines = text.decode(errors="replace").replace("\0", "").splitlines(keepends=True)
    return list(csv.reader(lines)) or [[]]
