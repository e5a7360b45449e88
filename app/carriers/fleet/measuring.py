"""A Dask worker that measures: our agent behind five questions, and one task that is a job.

Dask starts the task when the worker's `measure` is free, and knows no more of it. All else is
asked by name through the scheduler, so that neither it nor a worker unpickles anything of ours.
"""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import dask
from distributed import Worker

from app.carriers.agent import Agent as ThisMachine
from app.carriers.contract import Agent, CarrierError, Ended, Ending, Lost
from app.carriers.fleet.outbox import Outbox
from app.carriers.fleet.settings import HEARTBEAT_S, RESOURCE, WORKER, configuration
from app.carriers.fleet.versions import KEY, versions
from app.carriers.fleet.wire import PREFIX, packed, unpacked_files, unpacked_job
from exporters.codec import to_json
from exporters.types import GraphlapError

ABANDONED_S = 60.0
"""A job that nobody has asked about for so long is ended: the sweep is gone."""
KEPT_JOBS = 1000
"""So many ids are remembered, so that a task that Dask runs twice measures once."""
LOOK_S = 5.0

Answer = Callable[..., Awaitable[dict[str, Any]]]


class MeasureWorker(Worker):
    """Takes what `distributed.Worker` takes, and what one of Dask's launchers gives it, but has
    its own settings: one thread, one `measure`, no nanny, no web page, nothing that ticks.

    `agent` does the work, by default that of this machine. CarrierError under a nanny.
    """

    def __init__(
        self,
        *args: Any,
        agent: Agent | None = None,
        **options: Any,
    ) -> None:
        if options.get("nanny"):
            raise CarrierError(
                "a nanny limits each engine to one thread in its child's environment",
                "start the worker without one: --no-nanny",
            )
        dask.config.set(configuration(WORKER))
        fixed = {
            "nthreads": 1,
            "resources": {RESOURCE: 1},
            "memory_limit": 0,
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "heartbeat_interval": f"{HEARTBEAT_S} s",
            "startup_information": {KEY: _told_of_us},
        }
        super().__init__(*args, **{**options, **fixed})
        self._agent: Agent = agent or ThisMachine()
        self._home = asyncio.get_running_loop()
        self._jobs: OrderedDict[str, Outbox] = OrderedDict()
        self._watch: asyncio.Task[None] | None = None
        self.handlers.update(
            {
                PREFIX + "doctor": self.doctor,
                PREFIX + "lacks": self.lacks,
                PREFIX + "keep": self.keep,
                PREFIX + "hear": self.hear,
                PREFIX + "cancel": self.cancel,
            }
        )

    def measure(self, told: str) -> int:
        """The task: run the job to its end, once. Returns how often it ran by this: once or never.

        It has the worker's one thread until then, so that Dask sees it at work.
        """
        job = unpacked_job(told)
        box = asyncio.run_coroutine_threadsafe(self._begin(job.id), self._home).result()
        if box is None:
            return 0
        try:
            self._agent.run(job, box.hear)
        except GraphlapError as error:
            box.hear(Lost(str(error)))
        except Exception as error:  # an agent's own fault must not leave the sweep waiting
            box.hear(Lost(f"the agent failed ({type(error).__name__}: {error})"))
        box.hear(Lost("the agent left the job without a word"))  # not taken after its last
        return 1

    async def _begin(self, job: str) -> Outbox | None:
        box = self._box(job)
        if box.began or box.over:
            return None
        box.began = True
        self._watch = self._watch or asyncio.create_task(self._end_abandoned())
        return box

    async def doctor(self) -> dict[str, Any]:
        return await _answered(lambda: json.dumps(to_json(self._agent.doctor())))

    async def lacks(self, files: str) -> dict[str, Any]:
        return await _answered(lambda: list(self._agent.lacks(unpacked_files(files))))

    async def keep(self, sha256: str, offset: int, data: bytes, size_bytes: int) -> dict[str, Any]:
        return await _answered(
            functools.partial(self._agent.keep, sha256, offset, bytes(data), size_bytes)
        )

    async def hear(self, job: str, after: int, wait_s: float) -> dict[str, Any]:
        """The messages of a job from number `after` on; see `Outbox.after`."""
        said = await self._box(job).after(after, wait_s)
        return {"value": [packed(message) for message in said]}

    async def cancel(self, job: str, how: Ending) -> dict[str, Any]:
        """End a job; one that has not begun never does."""
        box = self._box(job)
        if not box.began:
            box.end(Ended("ended before it began", killed=True))
            return {"value": None}
        return await _answered(functools.partial(self._agent.cancel, job, how))

    async def heartbeat(self) -> None:
        await super().heartbeat()
        self.periodic_callbacks["heartbeat"].callback_time = HEARTBEAT_S * 1000

    async def close(self, *args: Any, **options: Any) -> Any:
        """Jobs end with their worker: it would wait for them else."""
        if self._watch is not None:
            self._watch.cancel()
        await self._end([job for job, box in self._jobs.items() if box.began and not box.over])
        return await super().close(*args, **options)

    def _box(self, job: str) -> Outbox:
        if job not in self._jobs:
            self._jobs[job] = Outbox()
            for old in [name for name, box in self._jobs.items() if box.over][:-KEPT_JOBS]:
                del self._jobs[old]
        return self._jobs[job]

    async def _end_abandoned(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            long_ago = time.monotonic() - ABANDONED_S
            left = [job for job, box in self._jobs.items() if box.asked_s < long_ago]
            await self._end([job for job in left if not self._jobs[job].over])
            for job in left:
                self._jobs[job].forget(
                    f"no message from the sweep for {ABANDONED_S:g} s, so the job was ended"
                )

    async def _end(self, jobs: Collection[str]) -> None:
        for job in jobs:
            await self.cancel(job, "kill")


async def _answered(work: Callable[[], Any]) -> dict[str, Any]:
    """What the work gives, or the sentence that it fails with: an exception would be pickled."""
    try:
        return {"value": await asyncio.to_thread(work)}
    except GraphlapError as error:
        return {"fault": [error.cause, error.remedy]}
    except Exception as error:
        return {"fault": [f"the agent failed ({type(error).__name__}: {error})", ""]}


def _told_of_us(worker: Worker) -> dict[str, Any]:
    """What the scheduler tells of this worker to whoever asks."""
    return {**versions(), "name": worker_name(worker.name)}


def worker_name(given: object) -> str:
    """What rows call a worker: as it was called, or its machine where that is a number or none."""
    name = given.strip() if isinstance(given, str) else ""
    return name if name and not name.isdigit() and "://" not in name else socket.gethostname()
