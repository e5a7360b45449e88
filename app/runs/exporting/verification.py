"""What is kept of a table that an export replaces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from app.run_folder.folder import RESULTS
from app.run_folder.journal import FOLDER
from app.run_folder.manifest import FULL_TABLE
from app.run_folder.run import Run
from app.run_folder.table import read_rounds
from app.runs.verify import count_missing_rounds


def back_up_fuller_table(run: Run) -> str:
    """Rename the full table if it has more rounds than the run, and say so; "" otherwise.

    Where that table is gone, the one for people is kept likewise.
    """
    for name in (FULL_TABLE, RESULTS):
        table = run.path / name
        missing = count_missing_rounds(read_rounds(table), run)
        if missing:
            backup = next(path for path in _names(run.path / RESULTS) if not path.exists())
            table.rename(backup)
            return f"{table} held {missing:,} rounds that {FOLDER}/ lacks: it is now {backup}"
    return ""


def _names(table: Path) -> Iterator[Path]:
    for number in count(1):
        place = f".{number}" if number > 1 else ""
        yield table.with_name(f"{table.stem}.earlier{place}{table.suffix}")
