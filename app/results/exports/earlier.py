"""A table that has rounds which the journals lost: moved aside before another takes its place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from app.results.folder import RESULTS
from app.results.journal import FOLDER
from app.results.lost import rounds_lost
from app.results.run import Run
from app.results.table import read_rounds


def keep_fuller(run: Run) -> str:
    """Rename the full table if it has more rounds than the run, and say so; "" otherwise.

    Where that table is gone, the one for people is kept likewise.
    """
    for name in dict.fromkeys((run.manifest.full_table, RESULTS)):
        table = run.path / name
        lost = rounds_lost(read_rounds(table), run)
        if lost:
            kept = next(path for path in _names(run.path / RESULTS) if not path.exists())
            table.rename(kept)
            return f"{table} held {lost:,} rounds that {FOLDER}/ lacks: it is now {kept}"
    return ""


def _names(table: Path) -> Iterator[Path]:
    for number in count(1):
        place = f".{number}" if number > 1 else ""
        yield table.with_name(f"{table.stem}.earlier{place}{table.suffix}")
