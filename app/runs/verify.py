"""The verification of a run folder: every file against the journal, and what is lost.

Files that are gone leave nothing to check. What they held is known from elsewhere: `live.json`
counts the lines of each journal, the plan says how many rounds a finished case has, and
exported
tables name the rounds that they were made of.

Unlike a reader, which stops at the first line that it can't understand, the verification goes
on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.cases.case import Case
from app.cases.column import Row, same
from app.cases.column_names import columns_with_values
from app.cases.errors import FileError
from app.cases.round import RoundResult
from app.cases.status import ENDED
from app.columns.rounds import mixed_graphs
from app.columns.rows import Rows
from app.run_folder import journal as lines
from app.run_folder.files import DOCUMENT, LINE, Finding, read_json
from app.run_folder.folder import LIVE, RESULTS, TELEMETRY, is_being_written
from app.run_folder.journal import FOLDER
from app.run_folder.ledger import Ledger
from app.run_folder.live_status import Live
from app.run_folder.manifest import MANIFEST, DamagedManifest, read_manifest
from app.run_folder.operators import read_operators
from app.run_folder.run import SAMPLES, Run
from app.run_folder.table import read_rounds, read_table, rows_of, to_csv
from app.run_folder.telemetry import damaged_readings
from app.runs.reader import sound
from exporters.codec import CodecError, from_json
from exporters.file_access import open_file, read_file

_RESTORE = f"restore {FOLDER}/ and samples/ from a copy"


def read_end(folder: Path) -> Live:
    """How a run ended, as `live.json` says; nothing where it can't be read."""
    try:
        return from_json(Live, read_json(folder / LIVE))
    except (OSError, ValueError):
        return Live()


def lost_lines(live: Live, counts: Mapping[str, int]) -> Iterator[Finding]:
    """Journals with fewer lines than the writer had written; `counts` are by their names."""
    for name, written in live.journal_lines.items():
        there = counts.get(name, 0)
        if there < written:
            yield Finding(
                f"{FOLDER}/{name}",
                f"has {there:,} of the {written:,} lines that were written",
                f"{_RESTORE}, or resume the run: that measures again what they held",
            )


def lost_rounds(live: Live, run: Run) -> Iterator[Finding]:
    """Of a run that measured all of its plan, each case without all of its rounds."""
    manifest, asked = run.manifest, run.manifest.asked
    complete = live.state == "finished" and live.rounds_done == live.rounds_total > 0
    if not complete or manifest.merged or asked.is_search or asked.stopping is not None:
        return
    for case in run.cases:
        known = run.rounds.get(case.case_id, {})
        there = len(known) + len(run.damaged.get(case.case_id, ()))
        ended = any(result.status in ENDED for result in known.values())
        if not ended and there < manifest.rounds:
            yield Finding(
                FOLDER,
                f"has {there} of the {manifest.rounds} rounds of case {case.case_id}, which "
                f"{LIVE} records as measured",
                f"{_RESTORE}, or resume the run: that measures them again",
            )


def impossible_rounds(run: Run) -> Iterator[Finding]:
    """Rounds that the plan can't have: of other cases, or beyond the last number."""
    cases: dict[str, Case] = {case.case_id: case for case in run.cases}
    for case_id, known in run.rounds.items():
        case = cases.get(case_id)
        if case is None:
            yield Finding(
                FOLDER,
                f"has {len(known)} rounds of case {case_id:.40}, which the run does not have",
                "move the journal of another run out of the folder",
            )
            continue
        planned = run.planned(case)
        beyond = [number for number in known if number >= planned.rounds]
        if beyond and not planned.asked.is_search:
            yield Finding(
                FOLDER,
                f"has round {max(beyond) + 1} of case {case_id}, and the plan has "
                f"{planned.rounds} rounds",
                _RESTORE,
            )


def rounds_lost(stored: Mapping[str, int], run: Run, voided: Collection[str] = ()) -> int:
    """How many timed rounds a table has that the journals lack; `stored` are its numbers by case.
    Rounds of the cases that are `voided` are about to be measured again."""
    lost = 0
    for case_id, rounds in stored.items():
        if case_id not in voided and case_id not in run.void:
            known = run.rounds.get(case_id, {}).values()
            there = sum(bool(result.samples) for result in known)
            lost += max(0, rounds - there - len(run.damaged.get(case_id, ())))
    return lost


def fuller_table(name: str, lost: int) -> Iterator[Finding]:
    """The finding of a table that has so many rounds more than the journals."""
    if lost:
        yield Finding(
            name,
            f"holds {lost:,} rounds that {FOLDER}/ lacks",
            f"{_RESTORE}, and keep {name}: it has the only figures of these rounds",
        )


_RESUME = "resume the run"


@dataclass(frozen=True, slots=True)
class Verified:
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
class Whole:
    """A run without the rounds that are damaged, of so many whole journal `lines`; `files` are the
    samples that these tell of, and `findings` say what is left out. `counts` has the lines of each
    journal, damaged ones too, and `voided` the cases of which rounds were declared void. `unsealed`
    has the numbers of the lines without a checksum in each journal."""

    run: Run
    lines: int
    files: frozenset[str]
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    voided: frozenset[str]
    unsealed: Mapping[str, tuple[int, ...]]

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence for each thing that is damaged."""
        told = (finding for finding in self.findings if not finding.harmless)
        return tuple(f"damaged and left out: {f.file} {f.what}; {f.remedy}" for f in told)

    def rounds(self) -> Iterator[RoundResult]:
        for known in self.run.rounds.values():
            yield from known.values()


Tables = Callable[[Path, str, Mapping[str, Row]], Iterable[Finding]]
"""What looks at exported tables, given the folder, its id and its rows by case id."""


def verify(folder: Path, tables: Tables = lambda *_: ()) -> Verified:
    """Look at all of it and change nothing; ResultsError for a folder that is no run."""
    live = is_being_written(folder)
    try:
        found = read_whole(folder)
    except DamagedManifest as error:
        return Verified(0, 0, 0, (Finding(MANIFEST, error.fault, "restore it from a copy"),), live)
    end = read_end(folder)
    findings, rounds = list(found.findings), list(found.rounds())
    findings += _unsealed(folder, found)
    if not live:
        # Where a line is damaged, it is known whose samples these are.
        findings += _left_over(folder, found.files, not findings and end.state == "finished")
        findings += _lost(found, end)
    findings += [*_kept(found.run), *_telemetry(found.run)]
    if not live and all(finding.harmless for finding in findings):
        rows = Rows(stores=False).of(found.run)
        findings += _rows(found.run, rows)
        by_id = {str(row["case_id"]): row for row in rows}
        findings += tables(folder, found.run.manifest.run_id, by_id)
    samples = sum(result.iterations for result in rounds)
    return Verified(found.lines, len(rounds), samples, tuple(findings), live)


def read_whole(folder: Path) -> Whole:
    """What is left of a run where some of it is damaged; ResultsError for a folder that is none."""
    ledger = Ledger(folder, read_manifest(folder))
    findings: list[Finding] = []
    files, voided, understood = set[str](), set[str](), 0
    journals = [_Journal(path) for path in sorted((folder / FOLDER).glob("*.jsonl"))]
    for journal in journals:
        path = journal.path
        for text, line in journal.read(ledger.manifest.schema_version):
            if isinstance(line, Finding):
                findings.append(line)
                continue
            if isinstance(line, lines.Writer) and not ledger.manifest.owns(line.run_id):
                remedy = "move it out of the folder"
                name = f"{FOLDER}/{path.name}"
                findings.append(Finding(name, "belongs to another run", remedy))
                break
            understood += 1
            if line is not None:
                ledger.take(path.name, line, text)
            match line:
                case RoundResult():
                    files.add(line.samples)
                case lines.Voided():
                    voided.add(line.case_id)
    run = ledger.run
    whole = sound(run)
    for case_id, damaged in whole.damaged.items():
        for number, what in damaged.items():
            name = run.rounds[case_id][number].samples
            findings.append(Finding(f"{SAMPLES}/{name}", what, f"{_RESUME} measures it again"))
    broken = dict(_operators(whole))
    findings += broken.values()
    told = {case_id: line for case_id, line in whole.operators.items() if case_id not in broken}
    whole = replace(whole, operators=told)
    return Whole(
        whole,
        understood,
        frozenset(files),
        tuple(findings),
        {journal.path.name: journal.count for journal in journals},
        frozenset(voided),
        {journal.path.name: journal.unsealed for journal in journals},
    )


@dataclass(slots=True)
class _Journal:
    """A file of a journal; once it was read, `count` is that of its whole lines and `unsealed` has
    the numbers of those without a checksum."""

    path: Path
    count: int = 0
    unsealed: tuple[int, ...] = ()

    def read(self, schema: int) -> Iterator[tuple[bytes, lines.Line | Finding | None]]:
        """The text of each line with what it says, or what is wrong with it; None for a kind that
        is not known."""
        name = f"{FOLDER}/{self.path.name}"
        try:
            *whole, torn = read_file(self.path).split(b"\n")
        except OSError as error:
            yield b"", Finding(name, f"can't be read ({error.strerror})", "restore it from a copy")
            return
        self.count = len(whole)
        self.unsealed = tuple(n for n, text in enumerate(whole, 1) if not LINE.has_key(text))
        for number, text in enumerate(whole, 1):
            try:
                yield text, lines.parsed(text, schema)
            except CodecError as error:
                what = f"line {number} is damaged ({error})"
                remedy = f"remove that line, then {_RESUME} measures its round again"
                yield text, Finding(name, what, remedy)
        if torn:
            what = "the last line is torn and does not count"
            yield torn, Finding(name, what, f"none, or {_RESUME}", harmless=True)


def _unsealed(folder: Path, found: Whole) -> Iterator[Finding]:
    """Texts without a checksum where others of their writer have one: the key itself is damaged."""
    for name, numbers in found.unsealed.items():
        if len(numbers) < found.counts[name]:
            for number in numbers:
                what = f"line {number} has no checksum, and others of the file have one"
                yield Finding(f"{FOLDER}/{name}", what, "restore it from a copy")
    sealed = bool(found.counts) and not any(found.unsealed.values())
    if sealed and not DOCUMENT.has_key(read_file(folder / MANIFEST)):
        what = "has no checksum, and the journals have them"
        yield Finding(MANIFEST, what, "restore it from a copy")


def _lost(found: Whole, end: Live) -> Iterator[Finding]:
    """What is gone without a trace in the journals, by the other files of the folder."""
    run = found.run
    yield from lost_lines(end, found.counts)
    yield from impossible_rounds(run)
    yield from mixed_graphs(run)
    if not found.findings:
        yield from lost_rounds(end, run)
        for name in dict.fromkeys((run.manifest.full_table, RESULTS)):
            stored = read_rounds(run.path / name)
            yield from fuller_table(name, rounds_lost(stored, run, found.voided))


def _left_over(folder: Path, told: Collection[str], ended: bool) -> Iterator[Finding]:
    """Samples of which no line tells, as a kill leaves them; in a run that has `ended` nobody
    leaves any, so that their lines are lost."""
    for path in sorted((folder / SAMPLES).glob("*")):
        if path.name in told:
            continue
        if ended:
            yield Finding(
                f"{SAMPLES}/{path.name}",
                "was measured, but no journal line records it",
                f"restore {FOLDER}/ from a copy, or {_RESUME} measures it again",
            )
        else:
            yield Finding(
                f"{SAMPLES}/{path.name}",
                "belongs to a round that did not end",
                f"none, or {_RESUME} writes it anew",
                harmless=True,
            )


def _kept(run: Run) -> Iterator[Finding]:
    """The copies of the user's own files."""
    for file in run.manifest.files:
        if not file.kept:
            continue
        try:
            with open_file(run.path / file.kept) as copy:
                same = hashlib.file_digest(copy, "sha256").hexdigest() == file.sha256
        except OSError as error:
            what = f"the copy of {file.path} can't be read ({error.strerror})"
            yield Finding(file.kept, what, "restore it from a copy")
            continue
        if not same:
            yield Finding(
                file.kept, f"is not {file.path} as it was measured", "restore it from a copy"
            )


def _operators(run: Run) -> Iterator[tuple[str, Finding]]:
    """By case id what is wrong with its table of operators: gone, cut or changed."""
    for line in run.operators.values():
        if not line.file:
            continue
        remedy = f"remove the line of {line.case_id} of the kind operators, then {_RESUME}"
        if not (run.path / line.file).is_file():
            yield line.case_id, Finding(line.file, "is not there", remedy)
            continue
        try:
            total_us = read_operators(run.path, line).total_us
        except FileError as error:
            yield line.case_id, Finding(line.file, error.fault, remedy)
            continue
        if line.total_us and not math.isclose(total_us, line.total_us):
            what = f"holds {total_us:.6g} µs of operators, and {line.total_us:.6g} were measured"
            yield line.case_id, Finding(line.file, what, remedy)


def _telemetry(run: Run) -> Iterator[Finding]:
    """What the devices told, without which a round stands."""
    for path in sorted((run.path / TELEMETRY).glob("*")):
        if lines_lost := damaged_readings(path):
            what = f"has {lines_lost:,} damaged line{'s' * (lines_lost > 1)}, which do not count"
            yield Finding(f"{TELEMETRY}/{path.name}", what, "restore it from a copy", harmless=True)


def _rows(run: Run, rows: Sequence[Row]) -> Iterator[Finding]:
    """Whether the tables have what journal and samples amount to."""
    names = dict.fromkeys((run.manifest.full_table, RESULTS))
    is_there = any((run.path / name).is_file() for name in names)
    computed = rows_of(to_csv(rows).decode()) if is_there else {}
    for name in names:
        if what := _table_fault(run.path / name, computed, len(rows)):
            yield Finding(name, what, "make it again: graphlap export -f csv", harmless=True)


def _table_fault(path: Path, computed: Mapping[str, Row], cases: int) -> str:
    """What a table lacks of the rows or has of others, by the columns that it has; "" if nothing.

    One for people may be without the ids of the cases: it has a line for each in their order.
    """
    if not path.is_file():
        return "is not there"
    names, stored = read_table(path)
    filled = columns_with_values(stored).intersection(names)
    ids = [str(row["case_id"]) for row in stored] if "case_id" in names else list(computed)
    by_id = dict(zip(ids, stored, strict=False)) if names else {}
    differs = sorted(
        name
        for name in filled
        if any(
            not same(row.get(name), by_id.get(case_id, {}).get(name))
            for case_id, row in computed.items()
        )
    )
    if not differs and by_id.keys() == computed.keys() and len(stored) == cases:
        return ""
    return f"is not what journal and samples amount to ({', '.join(differs[:3]) or 'its rows'})"
