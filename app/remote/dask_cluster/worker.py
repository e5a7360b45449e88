"""`graphlap worker tls://HOST:8786`: a Dask worker that measures, with the output of its jobs."""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import logging
import signal
import socket
import ssl
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

import dask
from distributed import Security, Worker

from app.remote.agent import Agent as ThisMachine
from app.remote.contract import (
    BLOCK_BYTES,
    Agent,
    Block,
    CarrierError,
    Ended,
    Ending,
    Lost,
    Message,
    Told,
)
from app.remote.dask_cluster.address import Address, Unreached, credentials, parse_address, reach
from app.remote.dask_cluster.protocol import (
    HEARTBEAT_S,
    KEY,
    PREFIX,
    RESOURCE,
    WORKER,
    configuration,
    packed,
    unpacked_files,
    unpacked_job,
    versions,
)
from app.remote.worker import cores_of
from exporters.codec import to_json
from exporters.types import GraphlapError

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
        self._taken_count = self._answer_count = 0
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
        self._taken_count += len(self._waiting)
        self._waiting.clear()

    async def after(self, number: int, wait_s: float) -> Sequence[Message]:
        """Those from `number` on, as soon as there are some, at the latest after `wait_s`.

        Whoever asks has all before it, which are let go. A job that is handed over again has told
        them to somebody else, and is lost to who asks now.
        """
        if number < self._taken_count:
            return (Lost(self._why_forgotten),)
        self.asked_s = time.monotonic()
        del self._waiting[: number - self._taken_count]
        self._taken_count = max(self._taken_count, number)
        if self._taken_count >= self._answer_count:  # else the last answer was lost on its way
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), wait_s)
        self._news.clear()
        self.asked_s = time.monotonic()
        first = self._first()
        self._answer_count = self._taken_count + len(first)
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
        fixed_options = {
            "nthreads": 1,
            "resources": {RESOURCE: 1},
            "memory_limit": 0,
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "heartbeat_interval": f"{HEARTBEAT_S} s",
            "startup_information": {KEY: _told_of_us},
        }
        super().__init__(*args, **{**options, **fixed_options})
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

    def measure(self, packed_job: str) -> int:
        """The task: run the job to its end, once. Returns how often it ran by this: once or never.

        It has the worker's one thread until then, so that Dask sees it at work.
        """
        job = unpacked_job(packed_job)
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
        return await _reply(lambda: json.dumps(to_json(self._agent.doctor())))

    async def lacks(self, files: str) -> dict[str, Any]:
        return await _reply(lambda: list(self._agent.lacks(unpacked_files(files))))

    async def keep(self, sha256: str, offset: int, data: bytes, size_bytes: int) -> dict[str, Any]:
        return await _reply(
            functools.partial(self._agent.keep, sha256, offset, bytes(data), size_bytes)
        )

    async def hear(self, job: str, after: int, wait_s: float) -> dict[str, Any]:
        """The messages of a job from number `after` on; see `Outbox.after`."""
        messages = await self._box(job).after(after, wait_s)
        return {"value": [packed(message) for message in messages]}

    async def cancel(self, job: str, how: Ending) -> dict[str, Any]:
        """End a job; one that has not begun never does."""
        box = self._box(job)
        if not box.began:
            box.end(Ended("ended before it began", killed=True))
            return {"value": None}
        return await _reply(functools.partial(self._agent.cancel, job, how))

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


async def _reply(work: Callable[[], Any]) -> dict[str, Any]:
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


def worker_name(raw_name: object) -> str:
    """What rows call a worker: as it was called, or its machine where that is a number or none."""
    name = raw_name.strip() if isinstance(raw_name, str) else ""
    return name if name and not name.isdigit() and "://" not in name else socket.gethostname()


PATIENCE_S = 60.0
"""A scheduler that is started with its workers may come so much later."""
_AGAIN_S = 0.5


def main(options: argparse.Namespace, agent: Agent | None = None) -> int:
    """Measure until asked to end (0) or until the scheduler is gone (1).

    `agent` does the work, by default the agent of this machine. CarrierError where the address is
    refused, no scheduler is there, or a certificate is wrong.
    """
    cores, name = cores_of(options), worker_name(options.name)
    address = parse_address(options.address, options.insecure_cluster)
    files = {"ca_file": options.tls_ca_file, "cert": options.tls_cert, "key": options.tls_key}
    security, context = credentials("worker", address, files)
    _reach_in_time(address, context)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters we say ourselves
    try:
        agent = agent or ThisMachine(name, cores, options.machine)
        return asyncio.run(_measure(address, security, name, agent))
    except RuntimeError as error:  # another has its name, or a port of ours is taken
        raise CarrierError(
            f"the scheduler {address} does not take this worker ({error.__cause__ or error})",
            "is a worker of this --name there already?",
        ) from None


def _reach_in_time(address: Address, context: ssl.SSLContext | None) -> None:
    """As `reach`, but one that is not there yet is waited for."""
    until_s = time.monotonic() + PATIENCE_S
    has_reported = False
    while True:
        try:
            return reach(address, context)
        except Unreached as error:
            if time.monotonic() > until_s:
                raise
            if not has_reported:
                _say(f"{error.cause}: this waits {PATIENCE_S:g} s for one")
            has_reported = True
            time.sleep(_AGAIN_S)


async def _measure(address: Address, security: Security, name: str, agent: Agent) -> int:
    worker = MeasureWorker(
        str(address),
        security=security,
        name=name,
        agent=agent,
        # Dask would listen on all networks for a scheduler of this machine.
        host="127.0.0.1" if address.is_here else None,
    )
    stop_event = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop_event.set)
    async with worker:
        _say(f"{name} measures for {address}")
        worker_end = asyncio.create_task(worker.finished())  # type: ignore[no-untyped-call]
        asking = asyncio.create_task(stop_event.wait())
        await asyncio.wait({worker_end, asking}, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
    if not stop_event.is_set():
        _say(f"the scheduler {address} is gone, or has let go of {name}: start this again")
    return int(not stop_event.is_set())


def _say(sentence: str) -> None:
    sys.stderr.write(f"graphlap: {sentence}\n")
