"""Verdicts of checks: the CSV file that a later call continues, and their table in docs/gpu.md.

`python -m tests.gpu.results` writes the table of the folders below tests/gpu/results: each is the
DIR of a call of `python -m tests.gpu` on a GPU. It is never filled by hand.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from app.present.document import Block, Paragraph, Points, names, table
from app.present.terminal import as_markdown
from tests.checkout import ROOT

VERDICTS = ("pass", "fail", "not run")
FILE_NAME, MACHINE_FILE = "checks.csv", "machine.json"
START = "start"
"""The check that the runtime is there and its engine loads."""
PAGE = ROOT / "docs" / "gpu.md"
RESULTS = ROOT / "tests" / "gpu" / "results"
BEGIN, END = "<!-- checks: begin -->", "<!-- checks: end -->"
EMPTY = "No check has run on a GPU yet."


@dataclass(frozen=True, slots=True)
class Line:
    """`got` is the reason of a check that is not run."""

    runtime: str
    check: str
    options: str
    got: str
    wanted: str
    verdict: str
    seconds: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.runtime, self.check, self.options

    @property
    def finding(self) -> str:
        name = " ".join(part for part in self.key if part)
        return f"{name}: {self.got}" + (f"; wanted {self.wanted}" if self.wanted else "")


COLUMNS = tuple(field.name for field in fields(Line))


class Record:
    """Holds the verdicts in a folder. A pass or a fail of an earlier call stays; a check that was
    not run is made again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self.lines = {line.key: line for line in read(folder)}

    def has_verdict(self, key: tuple[str, str, str]) -> bool:
        return key in self.lines and self.lines[key].verdict != "not run"

    def add(self, line: Line) -> None:
        """Write the file with a line more, so that it outlives whatever ends the process next."""
        self.lines[line.key] = line
        partial = self._path.with_suffix(".partial")
        with partial.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS, *map(astuple, self.lines.values())])
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._path)


def read(folder: Path) -> Iterator[Line]:
    """The lines of an earlier call."""
    if (path := folder / FILE_NAME).exists():
        with path.open(newline="", encoding="utf-8") as file:
            yield from (Line(**row) for row in csv.DictReader(file))


def main(arguments: Sequence[str]) -> int:
    page, results = map(Path, arguments) if arguments else (PAGE, RESULTS)
    page.write_text(written(page.read_text("utf-8"), results), encoding="utf-8")
    return 0


def written(text: str, results: Path) -> str:
    """The page with what the folders in `results` say between its two marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{as_markdown(_blocks(results))}{END}{tail}"


def _blocks(results: Path) -> Iterator[Block]:
    """A row for each runtime that started on a device, and every check that failed."""
    folders = sorted(path.parent for path in results.glob(f"*/{MACHINE_FILE}"))
    parts = [part for folder in folders for part in _started(folder)]
    if not parts:
        yield Paragraph(EMPTY)
        return
    columns = names("date", "GPU", "driver's CUDA", "Python", "runtime", *VERDICTS)
    yield table(columns, (cells for cells, _ in parts))
    failed = tuple(finding for _, findings in parts for finding in findings)
    if failed:
        yield Paragraph("Failed:")
        yield Points(failed)


def _started(folder: Path) -> Iterator[tuple[list[str], list[str]]]:
    """The cells of each runtime that started, and the findings of its checks that failed."""
    machine = json.loads((folder / MACHINE_FILE).read_text("utf-8"))
    if machine["stand_in"]:
        sys.exit(f"{folder}: checks of a stand-in (got {machine['stand_in']}). Remove the folder.")
    by_runtime: dict[str, list[Line]] = {}
    for line in read(folder):
        by_runtime.setdefault(line.runtime, []).append(line)
    facts = [machine["begun"][:10], machine["device"], machine.get("driver_cuda", "")]
    for runtime, lines in by_runtime.items():
        starts = [line.got for line in lines if (line.check, line.verdict) == (START, "pass")]
        if starts:
            counts = Counter(line.verdict for line in lines)
            version = starts[0].partition(" on ")[0]
            cells = [*facts, machine["python"], f"{runtime}, {version}"]
            failed = [line.finding for line in lines if line.verdict == "fail"]
            yield [*cells, *(str(counts[verdict]) for verdict in VERDICTS)], failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
