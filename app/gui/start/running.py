"""Sweeps that are being measured on this machine now, for somebody who opens a window."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from app.run_folder.folder import is_being_written

_NEWEST = 30
"""So many folders of a runs folder are looked at, the newest first."""


def running_sweeps(runs_folder: Path, others: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Run folders that some process writes: of the runs folder, then among `others`."""
    try:
        inside = [path for path in runs_folder.iterdir() if path.is_dir()]
    except OSError:
        inside = []
    newest = islice(sorted(inside, key=lambda path: path.name, reverse=True), _NEWEST)
    candidates = dict.fromkeys(path.resolve() for path in (*newest, *others))
    return tuple(path for path in candidates if is_being_written(path))
