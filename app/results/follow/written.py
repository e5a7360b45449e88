"""The files of a run that are written whole, again and again: read only when they are others.

Its rows, what searches for a rate and over options have found, and what goes on now.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.cases.column import Row
from app.results.folder import LIVE
from app.results.live import Live
from app.results.rates_found import ANSWERS, RateAnswer, read_answers
from app.results.regular import read_json
from app.results.table import read_rows
from app.results.tune_answer import TuneAnswer
from app.results.tune_files import ANSWERS as LADDERS
from app.results.tune_files import read_answers as read_ladders
from exporters.codec import from_json


class Written:
    """As of the last `poll`, by case id: `rows` of the full table, the ends of searches for a rate
    in `sought`, and the `ladders` of those over options by the case of their defaults."""

    def __init__(self, folder: Path, full_table: str) -> None:
        self._folder = folder
        self._full_table = full_table
        self._stamps: dict[str, tuple[int, int]] = {}
        self.rows: Mapping[str, Row] = {}
        self.sought: Mapping[str, RateAnswer] = {}
        self.ladders: Mapping[str, TuneAnswer] = {}

    def poll(self) -> set[str]:
        """The cases of which something else is written than before."""
        changed: set[str] = set()
        if self._is_new(self._full_table):
            before, self.rows = self.rows, read_rows(self._folder / self._full_table)
            changed |= {key for key, row in self.rows.items() if before.get(key) != row}
        if self._is_new(ANSWERS):
            self.sought = read_answers(self._folder / ANSWERS)
            changed |= self.sought.keys()
        if self._is_new(LADDERS):
            found = read_ladders(self._folder / LADDERS)
            self.ladders = {answer.rungs[0].case_id: answer for answer in found if answer.rungs}
            changed |= self.ladders.keys()
        return changed

    def _is_new(self, name: str) -> bool:
        """Whether the file has been written since this was asked last."""
        try:
            status = (self._folder / name).stat()
        except OSError:
            return False
        stamp = (status.st_mtime_ns, status.st_ino)
        before, self._stamps[name] = self._stamps.get(name), stamp
        return stamp != before


def read_live(folder: Path) -> Live | None:
    """What the batch parent says of this moment; None where nothing of it can be read, as while it
    is replaced."""
    try:
        return from_json(Live, read_json(folder / LIVE))
    except (OSError, ValueError):
        return None
