"""What one job has said and the sweep has not yet taken, on the worker's side.

The sweep asks for what comes after the last message that it has, so that none is lost and none
comes twice, whatever happens to single answers. Dask's event log is not used for them: a scheduler
keeps every event of a topic, and samples would fill its memory.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

from app.carriers.contract import BLOCK_BYTES, Block, Ended, Lost, Message, Told

HELD_S = 1.0
"""Samples and readings wait so long for more, since each answer costs the measuring host time."""
MOST_BYTES = 8 * BLOCK_BYTES
"""Of samples in one answer."""


class Outbox:
    """Messages in their order, numbered from 0. `hear` may be called from any thread, the rest
    in the event loop that this was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Message] = []
        self._taken = self._answered = 0
        self._news = asyncio.Event()
        self._later: asyncio.TimerHandle | None = None
        self.asked_s = time.monotonic()
        self.began = False
        self.over = False
        self._why_forgotten = "the job ran before, and its messages were taken then"

    def hear(self, message: Message) -> None:
        """Take the job's next message; never waits. Nothing after its last is taken."""
        with suppress(RuntimeError):  # the loop is closed: the worker ends, nobody asks any more
            self._loop.call_soon_threadsafe(self._take, message)

    def end(self, message: Ended | Lost) -> None:
        """The last message, said in the loop; nothing if there is one."""
        self._take(message)

    def forget(self, why: str) -> None:
        """Let go of all that waits: nobody comes for it. Who comes after all is told why."""
        self._why_forgotten = why
        self._taken += len(self._waiting)
        self._waiting.clear()

    async def after(self, number: int, wait_s: float) -> Sequence[Message]:
        """Those from `number` on, as soon as there are some, at the latest after `wait_s`.

        Whoever asks has all before it, which are let go. A job that is handed over again has told
        them to somebody else, and is lost to who asks now.
        """
        if number < self._taken:
            return (Lost(self._why_forgotten),)
        self.asked_s = time.monotonic()
        del self._waiting[: number - self._taken]
        self._taken = max(self._taken, number)
        if self._taken >= self._answered:  # else the last answer was lost on its way
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), wait_s)
        self._news.clear()
        self.asked_s = time.monotonic()
        first = self._first()
        self._answered = self._taken + len(first)
        return first

    def _first(self) -> Sequence[Message]:
        size, count = 0, 0
        for message in self._waiting:
            size += len(message.data) if isinstance(message, Block) else 0
            if count and size > MOST_BYTES:
                self._news.set()
                break
            count += 1
        return self._waiting[:count]

    def _take(self, message: Message) -> None:
        if self.over:
            return
        self.over = isinstance(message, Ended | Lost)
        self._waiting.append(message)
        if not isinstance(message, Block | Told):
            self._ring()
        elif self._later is None:
            self._later = self._loop.call_later(HELD_S, self._ring)

    def _ring(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._news.set()
