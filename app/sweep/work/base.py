"""The protocol of every kind of work, for the engine, the run folder and displays; waiting time."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from app.formatting.case_labels import FILE_NAMES, ModelNames
from app.formatting.text import duration
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Line
from app.run_folder.live_status import Live
from app.sweep.work.local_executor import ThisMachine

CPU = "cpu"
News = Literal["", "told", "ended", "dropped"]
"""What `Work.advance` found: nothing, something to tell, a result, or an end without one."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Resources that work must have alone, and those that it shares with its own kind.

    At most `maximum` of a kind that shares run at the same time. Work of one set, `together`, takes
    turns with what it needs.
    """

    exclusive: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    maximum: int = 1
    together: str = ""

    def fit_with(self, running: Sequence[Needs]) -> bool:
        """Whether work with these needs can start while work with those runs."""
        if any(self._collide(peer) for peer in running):
            return False
        return not self.shared or sum(peer == self for peer in running) < self.maximum

    def _collide(self, peer: Needs) -> bool:
        if self.together and self.together == peer.together:
            return False
        resources, peer_resources = self.exclusive | self.shared, peer.exclusive | peer.shared
        return bool(self.exclusive & peer_resources or peer.exclusive & resources)


EXCLUSIVE_CPU = Needs(exclusive=frozenset({CPU}))
SIMULATING = Needs(shared=frozenset({CPU}))
"""Nothing that runs beside it touches a simulated clock; what is timed does not run beside it."""


class Work(ABC):
    """One piece of work. The engine calls `start` once, then `advance` until it is `over`,
    which what needs no worker is from its start on.

    The hooks `on_start`, `on_progress`, `on_finish` and `on_abort` are called by the run, one for
    each event: they put where it stands into `live` and what must be kept into `folder`, and give
    the lines that its journal is to have.
    """

    kind: ClassVar[str]
    needs: Needs = EXCLUSIVE_CPU
    over: bool = False

    @abstractmethod
    def start(self, place: ThisMachine) -> None:
        """Begin, without waiting for anything."""

    @abstractmethod
    def advance(self) -> News:
        """Hear what there is, watch its limits; sets `over` where it is to finish, and where
        it is to be aborted unless it begins again."""

    @abstractmethod
    def stop(self, now: bool) -> None:
        """End after what is in flight, or at once; the result will not count."""

    @abstractmethod
    def close(self) -> None:
        """End whatever it has started; idempotent."""

    def interrupt(self) -> None:  # noqa: B027 - what measures goes on to its end
        """The sweep is paused: end if nothing is lost by it."""

    def due(self) -> float:
        """When it must be advanced even if nothing is heard (monotonic seconds)."""
        return math.inf

    @abstractmethod
    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        """It was started."""

    def on_progress(self, folder: RunFolder, live: Live) -> None:  # noqa: B027 - not all work tells
        """It has told something since."""

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        """It is over and its result counts."""
        return ()

    def on_abort(self, folder: RunFolder) -> None:  # noqa: B027 - not all work leaves a trace
        """It is over and nothing of it counts: remove its traces; DiskError ends the sweep."""

    @property
    @abstractmethod
    def failed(self) -> bool:
        """Whether its end is to be told to who only wants to hear of failures."""

    @abstractmethod
    def text(self, models: ModelNames = FILE_NAMES) -> str:
        """How it ended, in one line for people; `models` are the names of the run's models."""

    def brief(self, models: ModelNames = FILE_NAMES) -> str:
        """The same for a narrow terminal."""
        return self.text(models)


class SettledWork(Work):
    """Work whose end is known beforehand: over as it begins, with nothing started for it."""

    needs = Needs()

    def start(self, place: ThisMachine) -> None:
        self.over = True

    def advance(self) -> News:
        return ""

    def stop(self, now: bool) -> None: ...

    def close(self) -> None: ...

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return ()


class Source(Protocol):
    """Hands out work, one at a time, on what has come out so far."""

    def next(self, finished_work: Sequence[Work]) -> Work | None:
        """The next work; `finished_work` is what ended since the last call, with a result or
        without one, each given once.

        None: nothing to start until something in flight ends; with nothing in flight,
        the sweep is over.
        """


WAITING = "wait"


class WaitWork(Work):
    """Over at `until_s` (monotonic seconds), or when the sweep is paused: then it is to be waited
    for the rest after that. `reason` is printed."""

    kind = WAITING
    needs = Needs()

    def __init__(self, until_s: float, reason: str = "") -> None:
        self._start_s = time.monotonic()
        self._until_s = until_s
        self._reason = reason
        self.was_interrupted = False

    def start(self, place: ThisMachine) -> None:
        self._start_s = time.monotonic()

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

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if not live.in_flight:
            live.show("", None, WAITING)
        return ()

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        if live.phase == WAITING:
            live.phase = ""
        return ()

    @property
    def failed(self) -> bool:
        return False

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        waited_s = time.monotonic() - self._start_s
        return f"waited {duration(waited_s)}: {self._reason}"
