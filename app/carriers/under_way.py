"""A job under way on its host: a worker's lines, its samples as they grow, its limits, its end.

A few looks a second from outside, as the batch parent does it on its own machine: nothing of it is
in the process that is timed.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from app.carriers.contract import BLOCK_BYTES, Block, Ended, Hear, Said, Told
from app.machine.bell import Bell
from app.machine.child import Child
from app.machine.watch import Watch
from exporters.codec import object_of, to_json

LOOK_EVERY_S = 0.5
"""So often samples are looked for, and an end that no pipe tells of."""


class UnderWay:
    """`run` to the end of the worker; `samples` is the file that it writes, None for none.

    A worker that is still there after `limit_s` is ended, also where nobody waits for it any more.
    """

    def __init__(
        self,
        child: Child,
        bell: Bell,
        watch: Watch,
        samples: Path | None,
        hear: Hear,
        limit_s: float,
    ) -> None:
        self._child, self._bell, self._watch, self._hear = child, bell, watch, hear
        self._samples, self._limit_s = samples, limit_s
        self._told_bytes = 0

    def run(self) -> None:
        """Tell all that comes of it; the last message is `Ended`."""
        begun = time.monotonic()
        samples_due, ends, too_late = begun + LOOK_EVERY_S, begun + self._limit_s, False
        while True:
            ended = self._child.ended()
            self._tell_lines()
            if ended:
                break
            self._look()
            now = time.monotonic()
            if now >= samples_due:
                self._tell_samples()
                samples_due = now + LOOK_EVERY_S
            if now >= ends and not too_late:
                too_late = True
                self._child.kill()
            self._bell.wait(min(samples_due, self._watch.due()) - now)
        self._tell_samples()
        self._hear(
            Ended(
                self._child.how_it_ended(),
                out_of_memory=self._child.ran_out_of_memory(),
                killed=self._child.was_killed(),
                too_large=self._watch.too_large,
                too_late=too_late,
            )
        )

    def _tell_lines(self) -> None:
        for line in self._child.lines():
            self._hear(Said(line))
            if '"device"' in line:
                self._note_device(line)

    def _note_device(self, line: str) -> None:
        """The worker has said which GPU it computes on, of several one by one: how that is set,
        only its host can tell."""
        message = object_of(line)
        if message.get("event") == "device":
            uuid, device = (str(message.get(name, "")) for name in ("uuid", "device"))
            state = self._watch.computes_on(uuid, device)
            if state is not None:
                self._hear(Said(json.dumps({"event": "gpu", **to_json(state)})))

    def _look(self) -> None:
        readings = self._watch.look()
        if readings:
            self._hear(Told(readings))
        if self._watch.too_large:
            self._child.kill()

    def _tell_samples(self) -> None:
        """All that was added to the file since the last look."""
        if self._samples is None:
            return
        try:
            with self._samples.open("rb") as file:
                file.seek(self._told_bytes)
                while data := file.read(BLOCK_BYTES):
                    self._hear(Block(self._told_bytes, data))
                    self._told_bytes += len(data)
        except FileNotFoundError:
            return  # its first samples are still to come
