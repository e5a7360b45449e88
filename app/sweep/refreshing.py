"""`results.csv` while a sweep runs: renewed between rounds, a little at a time.

A large sweep's rows take seconds. Nobody who wants to stop it waits for them, and no round does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.results.folder import RESULTS, RunFolder
from app.results.table import header, line_of

REFRESH_S = 2.0
REFRESH_SHARE = 0.02
"""It may take this share of the sweep's time."""
AT_ONCE_S = 0.1
"""So long between two rounds."""


class Refresher:
    """Told that the run `is_stale`, it begins anew once its time has come.

    `told` are the rows, by the ids of their cases, as the file has them; those of cases that were
    not begun are left out.
    """

    def __init__(self, folder: RunFolder, columns: Sequence[str]) -> None:
        self.told: dict[str, Row] = {}
        self.is_stale = False
        self._folder, self._columns = folder, columns
        self._line_of = line_of(columns)
        self._due_s = time.monotonic() + REFRESH_S
        self._rows: Iterator[Row] | None = None
        self._lines: list[str] = []
        self._coming: dict[str, Row] = {}
        self._taken_s = 0.0

    def go_on(self, rows: Iterator[Row]) -> None:
        """Work for a moment; `rows` are the run's as it stands, taken if a new file is begun."""
        begun_s = time.monotonic()
        if self._rows is None:
            if not self.is_stale or begun_s < self._due_s:
                return
            self._rows, self.is_stale = rows, False
            self._lines = [header(self._columns)]
        over = self._read_rows(begun_s + AT_ONCE_S)
        self._taken_s += time.monotonic() - begun_s
        if over:
            self._write()

    def _read_rows(self, until_s: float) -> bool:
        assert self._rows is not None, "rows are read once they are taken"
        for row in self._rows:
            self._lines.append(self._line_of(row))
            if row["status"] != "cancelled":
                self._coming[str(row["case_id"])] = row
            if time.monotonic() >= until_s:
                return False
        return True

    def _write(self) -> None:
        self._folder.write(RESULTS, "".join(self._lines).encode(), durable=False)
        self.told, self._coming = self._coming, {}
        self._lines, self._rows = [], None
        self._due_s = time.monotonic() + max(REFRESH_S, self._taken_s / REFRESH_SHARE)
        self._taken_s = 0.0
