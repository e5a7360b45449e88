"""`python -m tests.gpu.page`: what has run on which GPU, written into docs/gpu.md.

The table is made of the folders below tests/gpu/results: each is the DIR of a call of
`python -m tests.gpu` on a GPU, with its checks.csv and machine.json. It is never filled by hand.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.checkout import ROOT
from tests.gpu.parent import START
from tests.gpu.record import VERDICTS, Line, read

PAGE = ROOT / "docs" / "gpu.md"
RESULTS = ROOT / "tests" / "gpu" / "results"
MACHINE_FILE = "machine.json"
BEGIN, END = "<!-- checks: begin -->", "<!-- checks: end -->"
EMPTY = "No check has run on a GPU yet."
HEAD = "| date | GPU | driver's CUDA | Python | runtime | pass | fail | not run |"


def main(arguments: Sequence[str]) -> int:
    page, results = map(Path, arguments) if arguments else (PAGE, RESULTS)
    page.write_text(written(page.read_text("utf-8"), results), encoding="utf-8")
    return 0


def written(text: str, results: Path) -> str:
    """The page with the table of the folders in `results` between its two marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table(results)}\n{END}{tail}"


def table(results: Path) -> str:
    """A row for each runtime that started on a device, and every check that failed."""
    folders = sorted(path.parent for path in results.glob(f"*/{MACHINE_FILE}"))
    parts = [_rows(folder) for folder in folders]
    rows = [row for lines, _ in parts for row in lines]
    failures = [line for _, lines in parts for line in lines]
    if not rows:
        return EMPTY
    return "\n".join([HEAD, "| --- " * HEAD.count("| ") + "|", *rows, *_failure_lines(failures)])


def _rows(folder: Path) -> tuple[list[str], list[str]]:
    machine = json.loads((folder / MACHINE_FILE).read_text("utf-8"))
    if machine["stand_in"]:
        sys.exit(f"{folder}: checks of a stand-in (got {machine['stand_in']}). Remove the folder.")
    by_runtime: dict[str, list[Line]] = {}
    for line in read(folder):
        by_runtime.setdefault(line.runtime, []).append(line)
    rows, failures = [], []
    for runtime, lines in by_runtime.items():
        start = next((line for line in lines if line.check == START), None)
        if start is None or start.verdict != "pass":
            continue
        counts = Counter(line.verdict for line in lines)
        failures += [f"- {line.text()}" for line in lines if line.verdict == "fail"]
        version = start.got.partition(" on ")[0]
        cells = [
            machine["begun"][:10],
            machine["device"],
            machine.get("driver_cuda", ""),
            machine["python"],
            f"{runtime}, {version}",
            *(str(counts[verdict]) for verdict in VERDICTS),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows, failures


def _failure_lines(failures: Sequence[str]) -> list[str]:
    return ["", "Failed:", "", *failures] if failures else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
