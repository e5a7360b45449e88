"""What to look at in a run that is followed: thought over where a row is another than before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.results.noticing.notice import Notice
from app.results.noticing.noticed import noticed
from app.results.series import Series


class Attention:
    """Keeps the rows that were last thought over, and what came of it."""

    def __init__(self) -> None:
        self._rows: list[Mapping[str, Any]] = []
        self._found: tuple[Notice, ...] = ()

    def of(self, series: Sequence[Series], waits: bool) -> tuple[Notice, ...]:
        """What to look at; while rows are still waited for, what was found before."""
        rows = [one.row for one in series]
        if not waits and rows != self._rows:
            self._rows = rows
            self._found = tuple(noticed(one.measured for one in series))
        return self._found
