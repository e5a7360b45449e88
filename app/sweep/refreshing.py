"""The tables of rows while a sweep runs: renewed between rounds, a little at a time.

A large sweep's rows take seconds. Nobody who wants to stop it waits for them, and no round does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.cases.column_choice import columns_for_people, columns_with_values
from app.cases.status import INCOMPLETE
from app.results.folder import RESULTS, RunFolder
from app.results.table import header, line_of
from app.results.tables import has_one_table

REFRESH_S = 2.0
REFRESH_SHARE = 0.02
"""It may take this share of the sweep's time."""
AT_ONCE_S = 0.1
"""So long between two rounds."""


class Refresher:
    """Told that the run `is_stale`, it begins anew once its time has come.

    `told` are the rows, by the ids of their cases, as the file has them; those of cases that were
    not begun are left out. `columns` are those of the full table, `words` those of `--columns`.
    """

    def __init__(
        self, folder: RunFolder, columns: Sequence[str], words: Sequence[str] = ()
    ) -> None:
        self.told: dict[str, Row] = {}
        self.is_stale = False
        self._folder, self._columns, self._words = folder, columns, words
        self._due_s = time.monotonic() + REFRESH_S
        self._work: Iterator[None] | None = None
        self._taken_s = 0.0

    def go_on(self, rows: Iterator[Row]) -> None:
        """Work for a moment; `rows` are the run's as it stands, taken if a new file is begun."""
        begun_s = time.monotonic()
        if self._work is None:
            if not self.is_stale or begun_s < self._due_s:
                return
            self._work, self.is_stale = self._renewed(rows), False
        over = self._work_until(self._work, begun_s + AT_ONCE_S)
        self._taken_s += time.monotonic() - begun_s
        if over:
            self._work = None
            self._due_s = time.monotonic() + max(REFRESH_S, self._taken_s / REFRESH_SHARE)
            self._taken_s = 0.0

    def _work_until(self, work: Iterator[None], until_s: float) -> bool:
        """Whether it is done."""
        return all(time.monotonic() < until_s for _ in work)

    def _renewed(self, rows: Iterator[Row]) -> Iterator[None]:
        """Write both tables, in steps of a row."""
        coming: dict[str, Row] = {}
        read: list[Row] = []
        with_values: set[str] = set()
        full, line = [header(self._columns)], line_of(self._columns)
        for row in rows:
            full.append(line(row))
            read.append(row)
            with_values |= columns_with_values([row])
            if row["status"] not in INCOMPLETE:
                coming[str(row["case_id"])] = row
            yield
        one_table = has_one_table(self._folder.manifest)
        names = columns_for_people(self._words, self._columns, with_values)
        short, line = [header(names)], line_of(names)
        for row in () if one_table else read:
            short.append(line(row))
            yield
        self._write(self._folder.manifest.full_table, full)
        if not one_table:
            self._write(RESULTS, short)
        self.told = coming

    def _write(self, name: str, lines: Sequence[str]) -> None:
        self._folder.write(name, "".join(lines).encode(), durable=False)
