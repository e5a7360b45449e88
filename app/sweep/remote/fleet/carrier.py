"""Hosts that are workers of a Dask scheduler: `--cluster tls://scheduler:8786`.

Each share is a task for one worker, which Dask places and watches. The task's process and this one
exchange what they have to say by queues of Dask's.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from contextlib import suppress
from functools import partial
from importlib import import_module
from operator import methodcaller
from threading import Thread
from typing import Any

import dask
from distributed import Client
from toolz import compose

from app.machine.child import Bell
from app.sweep.remote.fleet import worker as there
from app.sweep.remote.link import HostError, Link

REACH_S = 10.0


class FleetCarrier:
    """HostError where no scheduler answers at the address, or no worker measures there."""

    def __init__(self, address: str, insecure: bool = False) -> None:
        address = there.checked_address(address, insecure)
        there.check_security("client", address)
        # Its own sentences are for those who run tasks; a run has ours.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        dask.config.set(there.CLIENT)
        try:
            self._client = Client(address, timeout=REACH_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise HostError(
                f"the scheduler {address} does not answer ({error})",
                "start one there (docs/cluster.md): dask scheduler",
            ) from None
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        able = (item for item in workers.items() if there.RESOURCE in item[1]["resources"])
        self._workers = {str(entry["name"]): where for where, entry in able}
        self.names = tuple(self._workers)
        try:
            if not self._workers:
                others = f"; {len(workers)} do other things" if workers else ""
                raise HostError(
                    f"the scheduler {address} has no worker that measures{others}",
                    f"start one there: graphlap worker {address}",
                )
            versions: Any = self._client.get_versions()
            for name, where in self._workers.items():
                theirs = versions["workers"][where]["packages"]
                there.refuse_others(name, theirs, versions["client"]["packages"])
        except HostError:
            self.close()
            raise

    def open(self, host: str, bell: Bell, measures: bool = True) -> Link:
        """A link to a process that a task of a worker starts; without one if nothing is measured
        by it, so that a worker that is busy answers."""
        return Link(host, _FarProcess(self._client, self._workers[host], bell, measures))

    def close(self) -> None:
        with suppress(OSError, TimeoutError):
            self._client.close()


class _FarProcess:
    """A process on a worker, as a `Child` is here; `worker` is the address of one."""

    def __init__(self, client: Client, worker: str, bell: Bell, measures: bool) -> None:
        self._client, self._worker, self._bell = client, worker, bell
        self._end, self._heard = "", deque[str]()
        link = f"graphlap-{uuid.uuid4().hex}"
        self._to, self._from = there.queues(link, client)
        self._task = None
        if measures:
            # The scheduler unpickles this too: it is of packages that it has.
            module = partial(import_module, there.__name__)
            self._task = client.submit(
                compose(methodcaller("talk", link), module),
                key=link,
                workers=[worker],
                allow_other_workers=False,
                resources={there.RESOURCE: 1},
                retries=0,
                pure=False,
            )
        else:
            client.run(there.talk_beside, link, workers=[worker], wait=False)
        Thread(target=self._listen, daemon=True).start()

    def send(self, line: str) -> None:
        there.put(self._to, line, lambda: not self._end)

    def lines(self) -> list[str]:
        return [self._heard.popleft() for _ in range(len(self._heard))]

    def ended(self) -> bool:
        return bool(self._end)

    def how_it_ended(self) -> str:
        return self._end

    def close(self) -> None:
        self._end = self._end or "it was let go"
        with suppress(Exception):  # it, or the way to it, may be gone already
            self._to.put(None, timeout=there.LOOK_S)
        if self._task is not None:
            self._task.release()  # a result that is kept would be computed again

    def _listen(self) -> None:
        try:
            while not self._end:
                try:
                    lines, end = self._from.get(timeout=there.LOOK_S)
                    self._heard += lines
                    self._end = self._end or end
                except TimeoutError:
                    self._end = self._end or self._loss()
                self._bell.ring()
        except Exception as error:  # whatever Dask raises where the way to it is gone
            self._end = f"the loss of its scheduler ({type(error).__name__}: {error!s:.200})"
        self._bell.ring()

    def _loss(self) -> str:
        """Why nothing more can come; "" while it can."""
        if self._task is not None and self._task.status == "error":
            return f"its task, which failed ({self._task.exception()!r:.200})"
        is_there = self._worker in self._client.scheduler_info(n_workers=-1)["workers"]
        return "" if is_there else "the loss of its worker"
