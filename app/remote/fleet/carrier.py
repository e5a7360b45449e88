"""Hosts that are workers of a Dask scheduler: `--cluster tls://scheduler:8786`.

Each share is a task for one worker, which Dask places and watches. The task's process and this one
exchange what they have to say by `Client.run`.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from contextlib import suppress
from operator import methodcaller
from threading import Thread
from typing import Any

import dask
from distributed import Client, get_worker
from toolz import compose

from app.machine.child import Bell
from app.remote.fleet import worker as there
from app.remote.fleet.scheduler import (
    CLIENT,
    KEY,
    RESOURCE,
    checked_address,
    refuse_others,
    security_of,
)
from app.remote.link import HostError, Link

REACH_S = 10.0
_LOOK_S = 0.1
_MOST_WAITING = 32
"""Messages that wait to be passed on: beyond, who sends waits."""


class FleetCarrier:
    """HostError where no scheduler answers at the address, or no worker measures there."""

    def __init__(self, address: str, insecure: bool = False) -> None:
        self._address = checked_address(address, insecure)
        security = security_of("client", self._address, {})
        # Its own sentences are for those who run tasks; a run has ours.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        dask.config.set(CLIENT)
        try:
            self._client = Client(
                self._address, security=security, timeout=REACH_S, set_as_default=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise HostError(
                f"the scheduler {self._address} does not answer ({error})",
                "start one there (docs/cluster.md): dask scheduler",
            ) from None
        self._workers = self._measuring_workers()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._workers)

    def open(self, host: str, bell: Bell, measures: bool = True) -> Link:
        """A link to a process that a task of a worker starts; without one if nothing is measured
        by it, so that a worker that is busy answers."""
        return Link(host, _FarProcess(self._client, self._workers[host], bell, measures))

    def close(self) -> None:
        with suppress(OSError, TimeoutError):
            self._client.close()

    def _measuring_workers(self) -> dict[str, str]:
        """Their addresses by name; two of a name are told apart by their ports."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        entries = {where: entry[KEY] for where, entry in workers.items() if KEY in entry}
        if not entries:
            others = f"; {len(workers)} do other things" if workers else ""
            self.close()
            raise HostError(
                f"the scheduler {self._address} has no worker that measures{others}",
                f"start one there: graphlap worker {self._address}",
            )
        for entry in entries.values():
            refuse_others(str(entry["name"]), entry)
        names = [str(entry["name"]) for entry in entries.values()]
        return {
            name if names.count(name) == 1 else f"{name}@{where.rpartition('/')[2]}": where
            for name, where in zip(names, entries, strict=True)
        }


class _FarProcess:
    """A process on a worker, as a `Child` is here; `worker` is the address of one."""

    def __init__(self, client: Client, worker: str, bell: Bell, measures: bool) -> None:
        self._client, self._worker, self._bell, self._measures = client, worker, bell, measures
        self._id, self._end = uuid.uuid4().hex, ""
        self._out: deque[str] = deque()
        self._heard: deque[str] = deque()
        self._task: Any = None
        if measures:
            # The scheduler unpickles this too: it is of packages that it has.
            self._task = client.submit(
                compose(methodcaller("measure", self._id), get_worker),
                key=f"graphlap-{self._id}",
                workers=[worker],
                allow_other_workers=False,
                resources={RESOURCE: 1},
                retries=0,
                pure=False,
            )
        Thread(target=self._exchange_all, daemon=True).start()

    def send(self, line: str) -> None:
        while len(self._out) >= _MOST_WAITING and not self._end:
            time.sleep(_LOOK_S)
        self._out.append(line)

    def lines(self) -> list[str]:
        return _taken(self._heard)

    def ended(self) -> bool:
        return bool(self._end)

    def how_it_ended(self) -> str:
        return self._end

    def close(self) -> None:
        self._end = self._end or "it was let go"
        with suppress(Exception):  # it, or the way to it, may be gone already
            self._client.run(there.close, self._id, workers=[self._worker], wait=False)
        if self._task is not None:
            self._task.release()  # a result that is kept would be computed again

    def _exchange_all(self) -> None:
        try:
            while not self._end:
                out = _taken(self._out)
                answers = self._client.run(
                    there.exchange, self._id, out, self._measures, workers=[self._worker]
                )
                heard, end = answers[self._worker]
                self._heard += heard
                self._end = self._end or end
                self._bell.ring()
                if not heard:
                    time.sleep(_LOOK_S)
        except Exception as error:  # whatever Dask raises where a worker or the way to it is gone
            self._end = f"the loss of its worker ({type(error).__name__}: {error!s:.200})"
        self._bell.ring()


def _taken(lines: deque[str]) -> list[str]:
    """What is there now; another thread may be adding to it."""
    return [lines.popleft() for _ in range(len(lines))]
