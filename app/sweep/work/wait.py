"""The time between two passes of a sweep whose rounds are spread: nothing runs, and it ends early
when the sweep is stopped or paused."""

from __future__ import annotations

import time
from collections.abc import Iterable

from app.results.folder import RunFolder
from app.results.labels import FILE_NAMES, ModelNames
from app.results.lines import Line
from app.results.live import Live
from app.results.text import duration
from app.sweep.work.base import Needs, News, Place, Work

WAITING = "wait"


class WaitWork(Work):
    """Over at `until_s` (monotonic seconds), or when the sweep is paused: then it is to be waited
    for the rest after that."""

    kind = WAITING
    needs = Needs()

    def __init__(self, until_s: float) -> None:
        self._begun_s = time.monotonic()
        self._until_s = until_s
        self.was_interrupted = False

    def start(self, place: Place) -> None:
        self._begun_s = time.monotonic()

    def advance(self) -> News:
        if time.monotonic() < self._until_s:
            return ""
        self.over = True
        return "ended"

    def stop(self, now: bool) -> None:
        self._until_s = time.monotonic()

    def interrupt(self) -> None:
        self.was_interrupted = True
        self._until_s = time.monotonic()

    def close(self) -> None: ...

    def due(self) -> float:
        return self._until_s

    def begun(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if not live.in_flight:
            live.show("", None, WAITING)
        return ()

    def ended(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if live.phase == WAITING:
            live.phase = ""
        return ()

    @property
    def failed(self) -> bool:
        return False

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        waited_s = time.monotonic() - self._begun_s
        return f"waited {duration(waited_s)}: rounds are spread over time (--spread)"
