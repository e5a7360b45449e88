"""The CSV file of verdicts, a line for each check, which a later call continues."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import IO, Literal, Self, get_args

Verdict = Literal["pass", "fail", "not run"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FILE_NAME = "checks.csv"


@dataclass(frozen=True, slots=True)
class Line:
    """`got` is the reason of a check that is not run."""

    runtime: str
    check: str
    options: str
    got: str
    wanted: str
    verdict: Verdict
    seconds: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.runtime, self.check, self.options

    def text(self) -> str:
        name = " ".join(part for part in (self.runtime, self.check, self.options) if part)
        expected_text = f"; wanted {self.wanted}" if self.wanted else ""
        return f"{self.verdict:8}{name}: {self.got}{expected_text}"


COLUMNS = tuple(field.name for field in fields(Line))


class Record:
    """Holds the verdicts in a folder. A pass or a fail of an earlier call stays; a check that was
    not run is made again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self.lines = {line.key: line for line in read(folder) if line.verdict != "not run"}
        partial = self._path.with_suffix(".partial")
        with partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(astuple(line) for line in self.lines.values())
            _flush(file)
        partial.replace(self._path)
        self._file = self._path.open("a", newline="", encoding="utf-8")

    def add(self, line: Line) -> None:
        """Write a line, so that it outlives whatever ends the process next."""
        self.lines[line.key] = line
        csv.writer(self._file).writerow(astuple(line))
        _flush(self._file)

    def counts(self) -> Counter[str]:
        return Counter(line.verdict for line in self.lines.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read(folder: Path) -> Iterable[Line]:
    """The lines of an earlier call; one that was cut off while it was written is left out."""
    path = folder / FILE_NAME
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if len(row) == len(COLUMNS)]
    verdict = COLUMNS.index("verdict")
    return [_line(row) for row in rows if row[verdict] in VERDICTS]


def _line(row: list[str]) -> Line:
    runtime, check, options, actual, expected, verdict, seconds = row
    (known_verdict,) = (name for name in VERDICTS if name == verdict)
    return Line(runtime, check, options, actual, expected, known_verdict, seconds)


def _flush(file: IO[str]) -> None:
    file.flush()
    os.fsync(file.fileno())
