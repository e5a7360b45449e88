"""The window's end of the summary process: ids in, rows and summaries out, never waiting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.cases.column import Row
from app.machine.child import Child
from app.stats.summary import Summary
from exporters import own
from exporters.codec import from_json

_MODULE = "app.results.follow.summary_worker"


@dataclass(frozen=True, slots=True)
class Answer:
    """The row of one case and, if it has samples, their summary."""

    case_id: str
    row: Row
    summary: Summary | None


class Summaries:
    """Starts the process with the first question; `close` ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child: Child | None = None

    def ask(self, case_ids: Sequence[str]) -> None:
        """Ask for cases; the answers come from `poll`, in the same order."""
        if self._child is None:
            self._child = Child(own.command(_MODULE, str(self._folder)))
        self._child.send(json.dumps(list(case_ids)))

    def poll(self) -> list[Answer]:
        """The answers that have come; a process that died gives none any more."""
        if self._child is None:
            return []
        return [from_json(Answer, json.loads(line)) for line in self._child.lines()]

    @property
    def died(self) -> bool:
        """Whether the process ended by itself, as when the folder is gone."""
        return self._child is not None and self._child.ended()

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
