"""Files of a run folder: atomic replacement, safe reading, checksums, faults found in them.

A checksum is the CRC-32 of the bytes before it, so that a reader checks it without writing the
values again. Its key comes last and has a fixed length.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from app.cases.errors import ResultsError
from exporters.file_access import read_file

LOCK = "lock"
_DRAFT = re.compile(r"\..+\.\d+")


def is_path(value: object) -> bool:
    """Whether it can name a file."""
    return isinstance(value, str | Path) and "\0" not in str(value)


def write_atomically(path: Path, data: bytes, durable: bool = True) -> None:
    """Write beside `path` and move into place; OSError leaves the old file as it was."""
    with replacing(path, durable) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, durable: bool = True) -> Iterator[BinaryIO]:
    """A new file for writing, which takes the place of `path` when the block ends well.

    A link at `path` is replaced, never followed. Any exception leaves what was there, and nothing
    of the new file.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # of a process that was killed, or a link in its place
    try:
        with cast(BinaryIO, draft.open("xb")) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def own_subfolder(folder: Path, name: str) -> Path:
    """The folder `name` in `folder`, made if it is not there; ResultsError for a link or a file."""
    path = folder / name
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        kind = "a link" if path.is_symlink() else "a file"
        raise ResultsError(
            f"{path} is {kind}, not a folder of the run", "remove it, then try again"
        )
    path.mkdir(exist_ok=True)
    return path


def remove_drafts(folder: Path) -> None:
    """Remove what a writer of the folder left behind that was killed while it wrote; there must be
    none now."""
    for path in folder.iterdir():
        if _DRAFT.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def read_json(path: Path) -> Any:
    """The value in it; OSError, ValueError also for one that is nested deeper than any of ours."""
    return json_of(read_file(path))


def json_of(text: bytes) -> Any:
    """The value of a file's text; ValueError likewise."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def lies_within(folder: Path, path: Path) -> bool:
    """Whether a file is there and in the folder: a link that leads out of it is none of its own."""
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())


_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_LAST_DIGITS = 1e-12
"""By which a sum may differ on another processor, relative to it."""


def agree(first: bytes, second: bytes) -> bool:
    """Whether two texts are the same but for the last digits of numbers with a fraction."""
    if first == second:
        return True
    if _NUMBER.split(first) != _NUMBER.split(second):
        return False
    numbers = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True)
    differing = ((number, other) for number, other in numbers if number != other)
    return all(
        not number.isdigit()
        and math.isclose(float(number), float(other), rel_tol=_LAST_DIGITS, abs_tol=_LAST_DIGITS)
        for number, other in differing
    )


KEY = "crc32"
_VALUE = f'"{KEY}":"00000000"'


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the key stands in an object: what comes before it, and the end of the object."""

    prefix: bytes
    end: bytes

    def sealed(self, text: bytes) -> bytes:
        """The object with the checksum as its last key."""
        body = text.removesuffix(self.end)
        return body + self._ending(body)

    def is_sealed(self, text: bytes) -> bool:
        """Whether the text ends as `sealed` writes it, with the checksum that belongs to it."""
        length = len(self.prefix) + len(_VALUE) + len(self.end)
        return text[-length:] == self._ending(text[:-length])

    def check(self, text: bytes) -> None:
        """ValueError for a text that `sealed` has not written."""
        if not self.is_sealed(text):
            raise ValueError("its checksum is not that of its content")

    def _ending(self, body: bytes) -> bytes:
        return self.prefix + f'"{KEY}":"{zlib.crc32(body):08x}"'.encode() + self.end


def text_digest(text: bytes) -> str:
    """By which a text is told apart from any other, also where somebody means it to be the same."""
    return new_digest(text).hexdigest()


def new_digest(text: bytes = b"") -> hashlib.blake2b:
    """The same of a text that is still being added to."""
    return hashlib.blake2b(text, digest_size=16)


LINE = Layout(b",", b"}")
"""Of a line of a journal, without its line break."""
DOCUMENT = Layout(b",\n ", b"\n}\n")
"""Of a manifest."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as a value: `cause` is why, `remedy` what to do about it."""

    cause: str
    remedy: str

    @property
    def error(self) -> ResultsError:
        """For who shows errors."""
        return ResultsError(self.cause, self.remedy)


FindingCode = Literal[
    "copy_changed",
    "foreign_case",
    "foreign_journal",
    "graphs_mixed",
    "line_damaged",
    "line_torn",
    "lines_missing",
    "manifest_damaged",
    "operators_damaged",
    "operators_missing",
    "round_beyond_plan",
    "rounds_missing",
    "run_unreadable",
    "samples_cut",
    "samples_damaged",
    "samples_unfinished",
    "samples_unreadable",
    "samples_unrecorded",
    "table_differs",
    "table_has_more_rounds",
    "telemetry_damaged",
    "unreadable",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about one file, a path within the folder, and what to do. `code` is what a program
    knows it by. What is `harmless` loses nothing that was measured."""

    code: FindingCode
    file: str
    problem: str
    remedy: str
    harmless: bool = False
