"""The engine of a sweep: starts work that fits, reads what it reports, and yields events."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

from app.sweep.work.base import CPU, Source, Work
from app.sweep.work.local_executor import ThisMachine


@dataclass(frozen=True, slots=True)
class Started:
    """The work is in flight now."""

    work: Work


@dataclass(frozen=True, slots=True)
class ProgressReported:
    """The work stands elsewhere than before."""

    work: Work


@dataclass(frozen=True, slots=True)
class Completed:
    """The work is over and has a result that counts; `seconds` is how long it took here."""

    work: Work
    seconds: float


@dataclass(frozen=True, slots=True)
class Dropped:
    """The work is over without a result that counts: it is to be done again."""

    work: Work


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing is in flight and nothing will start until `resume`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The sweep is over; `stopped` if it was asked to end before its source was empty."""

    stopped: bool


Event = Started | ProgressReported | Completed | Dropped | Paused | Finished


SETTLED_AT_ONCE = 200
"""So much that needs no worker is told in one poll: a hundred thousand refusals would keep whoever
steers waiting."""
LOOK_EVERY_S = 0.2
"""The end of a worker is polled where the system can't report it (outside Linux)."""


class Engine:
    """A context manager over the work of one sweep; see `poll`, `pause`, `stop`."""

    def __init__(self, source: Source, place: ThisMachine | None = None) -> None:
        self._source = source
        self._place = place or ThisMachine()
        self._running: dict[Work, float] = {}
        """What is in flight, with when it was started."""
        self._waiting: Work | None = None
        self._finished_work: list[Work] = []
        self._is_paused = self._pause_reported = False
        self._stopping = False
        self.finished = self._is_closed = False

    def poll(self, timeout_s: float) -> list[Event]:
        """Start what fits, wait up to `timeout_s` for news, and return the events.

        The last event is `Finished`; after it, `finished` is True and polling returns [].
        """
        if self.finished:
            return []
        events = self._start_what_fits()
        if not events:
            self._wait(timeout_s)
        for work in self.in_flight:
            events += self._advance(work)
        if not self._running and self._is_paused and not (self._stopping or self._pause_reported):
            self._pause_reported = True
            events.append(Paused())
        if self._stopping and not self._running:
            events += self._finish(stopped=True)
        return events

    def pause(self) -> None:
        """Let what is in flight end, and start nothing more until `resume`."""
        self._is_paused = True
        for work in self._running:
            work.interrupt()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._is_paused = self._pause_reported = False

    def stop(self, now: bool = False) -> None:
        """End after what is in flight, or at once; work cut short does not count."""
        self._stopping = True
        for work in self._running:
            work.stop(now)

    @property
    def in_flight(self) -> tuple[Work, ...]:
        """What was started and is not over."""
        return tuple(self._running)

    @property
    def quiet_matters(self) -> bool:
        """Whether work is in flight that has the cores to itself."""
        return any(CPU in work.needs.exclusive for work in self._running)

    def close(self) -> None:
        """End everything that is left; idempotent."""
        for work in self._running:
            work.close()
        self._running.clear()
        if not self._is_closed:
            self._is_closed = True
            self._place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_what_fits(self) -> list[Event]:
        events: list[Event] = []
        settled_count = 0
        while settled_count < SETTLED_AT_ONCE and not self._is_paused and not self._stopping:
            work, self._waiting = self._waiting or self._next(), None
            if work is None:
                if not self._running:
                    events += self._finish(stopped=False)
                break
            if not work.needs.fit_with([other.needs for other in self._running]):
                self._waiting = work
                break
            if CPU in work.needs.exclusive:
                self._place.be_quiet()
            start_s = time.monotonic()
            work.start(self._place)
            events.append(Started(work))
            if work.over:  # known beforehand how it ends
                settled_count += 1
                self._finished_work.append(work)
                events.append(Completed(work, 0.0))
            else:
                self._running[work] = start_s
        return events

    def _next(self) -> Work | None:
        finished_work, self._finished_work = self._finished_work, []
        return self._source.next(finished_work)

    def _advance(self, work: Work) -> list[Event]:
        news, start_s = work.advance(), self._running[work]
        if work.over:
            del self._running[work]
        match news:
            case "told":
                return [ProgressReported(work)]
            case "ended":
                self._finished_work.append(work)
                return [Completed(work, time.monotonic() - start_s)]
            case "dropped":
                if work.over:
                    self._finished_work.append(work)
                return [Dropped(work)]
        return []

    def _wait(self, timeout_s: float) -> None:
        """Sleep until a worker speaks, something is due or the time is over."""
        now_s = time.monotonic()
        deadline_s = min([now_s + timeout_s, *(work.due() for work in self._running)])
        if self._running:
            deadline_s = min(deadline_s, now_s + LOOK_EVERY_S)
        self._place.wait(deadline_s - now_s)

    def _finish(self, stopped: bool) -> list[Event]:
        self.finished = True
        self.close()
        return [Finished(stopped)]
