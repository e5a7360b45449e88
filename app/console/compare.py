"""`graphlap --compare A B`: two run folders as a table or Markdown, and what a job fails by.

The exit code is 3 where something is slower and the caller asked to fail on that, 1 where a
case that the first run measured was not measured by the second.
"""

from __future__ import annotations

from pathlib import Path

from app.cases.errors import PlanError
from app.console.verdicts import Wanted, as_markdown, as_text, code, files, write
from app.results.compare import compare_runs, side_of
from app.results.reader import read_run


def compare(first: str, second: str, *, band: float, wanted: Wanted) -> tuple[str, int]:
    """What to print and the exit code; ResultsError for a folder that is none."""
    found = compare_runs(side_of(read_run(Path(first))), side_of(read_run(Path(second))), band)
    if not found.cases and not found.lost:
        raise PlanError(
            f"{first} and {second} have no case in common",
            "compare runs of the same models, runtimes and settings",
        )
    write(files(found, wanted))
    lines = as_markdown(found) if wanted.markdown else as_text(found)
    return "\n".join(lines) + "\n", code(found, wanted.fail_on_slower)
