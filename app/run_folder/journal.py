"""`journal/<writer>.jsonl`: a line per finished round, on disk before the next; kinds of lines.

Each writer appends to a file of its own, so nothing is ever written after a torn line; `reader`
merges all of them.

A new kind of work adds its line's value to the table of kinds; writers, readers and followers of a
run take it from this table.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from app.cases.case import Case
from app.cases.jobs import AccuracyResult, ColdStart, Peak, Sensitivity
from app.cases.round import RoundResult
from app.run_folder.files import LINE
from exporters.codec import CodecError, from_json, to_json
from exporters.diagnostics import Diagnostic, Parameter
from exporters.types import ExportedModel, Precision
from runtimes.execution import Clock

FOLDER = "journal"
SHARES = "hosts"
_MAXIMUM_NAMED = 50


def share_folders(folder: Path) -> list[Path]:
    """`hosts/NAME/SHARE` of a run that other machines measured; links lead to none."""
    shares = sorted((folder / SHARES).glob("*/*"))
    return [path for path in shares if path.is_dir() and _is_plain(folder, path)]


def journals(folder: Path) -> list[Path]:
    """The journals of a run folder, its own before those of its shares."""
    places = (folder, *share_folders(folder))
    return [path for place in places for path in sorted((place / FOLDER).glob("*.jsonl"))]


def source_of(folder: Path, journal: Path) -> str:
    """What a journal is called among those of a run: its name, below the folder of its share."""
    share = journal.parents[1]
    return journal.name if share == folder else f"{share.relative_to(folder)}/{journal.name}"


def _is_plain(folder: Path, share: Path) -> bool:
    return not any(path.is_symlink() for path in (folder / SHARES, share.parent, share))


class Journal:
    """The writer's side: `append` returns once the line is on disk; `lines` counts them."""

    def __init__(self, folder: Path) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        self.writer = f"{stamp}-{_plain(socket.gethostname())}-{os.getpid()}"
        self.name = f"{self.writer}.jsonl"
        self._path = folder / FOLDER / self.name
        self._file: int | None = None
        self.lines = 0

    def append(self, *lines: Mapping[str, Any]) -> None:
        """Write JSON lines and flush them to the disk together; OSError if that fails."""
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._file = os.open(self._path, flags, 0o644)
            flush_folder(self._path.parent)
        data = journal_text(lines)
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)
        self.lines += len(lines)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def journal_text(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """JSON lines as a journal has them, each with its checksum."""
    return b"".join(line_text(line) + b"\n" for line in lines)


def line_text(line: Mapping[str, Any]) -> bytes:
    """One of them, without its line break."""
    return LINE.sealed(json.dumps(line, separators=(",", ":"), default=str).encode())


def flush_folder(folder: Path) -> None:
    """Make a new directory entry survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _plain(text: str) -> str:
    """As a part of a file's name, of which a file system takes 255 bytes."""
    return "".join(c if c.isalnum() or c in "-." else "_" for c in text[:_MAXIMUM_NAMED]) or "host"


@dataclass(frozen=True, slots=True)
class Writer:
    """The first line of each file: who writes it, on what machine, and of which run; `manifest` is
    the digest of the run's manifest."""

    writer: str
    pid: int
    host: str
    graphlap_version: str
    environment: Mapping[str, Any]
    run_id: str
    manifest: str


@dataclass(frozen=True, slots=True)
class ModelExported:
    """A model's facts under what the cases call it; the last of a pair stands."""

    asked: str
    precision: Precision
    model: ExportedModel


@dataclass(frozen=True, slots=True)
class SearchCase:
    """A case that a search has come to and that the manifest does not have."""

    case: Case


@dataclass(frozen=True, slots=True)
class Operators:
    """The operator times of a case lie in `file`, a path within the run folder.

    Without a file, `reason` says why there are none. `attempt` is that of the case's rounds, of one
    that other machines measure. The rest is `OperatorTimes`'.
    """

    case_id: str
    clock: Clock = "wall"
    runs: int = 0
    reason: str = ""
    file: str = ""
    total_us: float = 0.0
    run_us: float | None = None
    peak: Peak | None = None
    attempt: int = 1
    transient: bool = False
    file_crc32: int | None = None


@dataclass(frozen=True, slots=True)
class DiscardedRound:
    """A round that counts no more, and is measured again: its samples are damaged, or its host was
    lost before the case was done.

    `attempt` is the one that is void, in whichever order lines are read, with those before it; 0
    for the one that stands. Damage of samples is a `diagnostic`, and `reason` is then empty.
    """

    case_id: str
    round: int
    reason: str
    attempt: int = 0
    diagnostic: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """What a writer spent its time on: seconds by what was done and by runtime, which is empty for
    what is of none."""

    seconds: Mapping[str, Mapping[str, float]]


Line = (
    Writer
    | ModelExported
    | RoundResult
    | DiscardedRound
    | AccuracyResult
    | SearchCase
    | Operators
    | ColdStart
    | Sensitivity
    | TimeSpent
)
KINDS: dict[str, type[Line]] = {
    "writer": Writer,
    "model": ModelExported,
    "round": RoundResult,
    "voided": DiscardedRound,
    "accuracy": AccuracyResult,
    "case": SearchCase,
    "operators": Operators,
    "cold_start": ColdStart,
    "sensitivity": Sensitivity,
    "time": TimeSpent,
}
LONGEST_TEXT = 4096
"""Characters of a reason, or of a name in a diagnostic: nobody reads more."""
_MAXIMUM_NAMES = 100
_NAMES = {kind: name for name, kind in KINDS.items()}


def line_values(line: Line) -> dict[str, Any]:
    """The line as JSON values, its kind with it."""
    return {"kind": _NAMES[type(line)], **to_json(line)}


def shorten_line(line: Line) -> Line:
    """The line with each of its texts cut to `LONGEST_TEXT`."""
    values: dict[str, Any] = {}
    reason = getattr(line, "reason", "")
    if len(reason) > LONGEST_TEXT:
        values["reason"] = _cut(reason)
    if isinstance(line, RoundResult) and any(map(_is_long, line.warnings)):
        values["warnings"] = tuple(map(_shorten, line.warnings))
    return replace(line, **values) if values else line


def decode_line(data: Any) -> Line | None:
    """The line of these values; None for a kind that is not known.

    CodecError for one that can't be understood, or that names a file outside the folder.
    """
    if not isinstance(data, dict):
        raise CodecError(f"it is {data!r:.40}, not an object")
    kind = KINDS.get(data.get("kind", ""))
    line: Line | None = None
    if kind is not None:
        line = shorten_line(from_json(kind, data, finite=True))
    match line:
        case RoundResult():
            _reject_path(line.samples, levels=1)
            _reject_negative("round", line.round)
        case Operators():
            _reject_path(line.file, levels=2)
    return line


def parse_line(text: bytes) -> Line | None:
    """`read` of a line as it stands in a journal; CodecError says what is wrong with it."""
    try:
        values = json.loads(text)
        LINE.check(text)
        return decode_line(values)
    except json.JSONDecodeError:
        raise CodecError("it is no JSON") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CodecError(str(error)) from None


def _reject_path(name: str, levels: int) -> None:
    """A folder may come from a stranger, and a reader is to open nothing beside it."""
    parts = PurePath(name).parts
    if len(parts) > levels or name.startswith("/") or ".." in parts or "\0" in name:
        raise CodecError(f"{name!r:.80} lies outside the run folder")


def _reject_negative(name: str, number: int) -> None:
    if number < 0:
        raise CodecError(f"{name} is {number}, not a number from 0")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _is_long(entry: Diagnostic) -> bool:
    return len(repr(entry)) > LONGEST_TEXT


def _shorten(entry: Diagnostic) -> Diagnostic:
    return replace(
        entry,
        subject=_cut(entry.subject),
        parameters={name: _cut_in(value) for name, value in entry.parameters.items()},
    )


def _cut_in(value: Parameter) -> Parameter:
    if isinstance(value, tuple):
        return tuple(map(_cut, value[:_MAXIMUM_NAMES]))
    return _cut(value) if isinstance(value, str) else value
