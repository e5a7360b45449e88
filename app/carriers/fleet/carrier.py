"""Jobs to the workers of a Dask scheduler: `--cluster tls://scheduler:8786`."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

from app.carriers.contract import CarrierError, Ending, Hear, Host, HostJob, Lost
from app.carriers.fleet.address import parse_address, reach
from app.carriers.fleet.credentials import credentials
from app.carriers.fleet.journey import travel
from app.carriers.fleet.link import Link
from app.carriers.fleet.loop_thread import LoopThread
from exporters.codec import CodecError, from_json

SILENCE_S = 20.0
"""A worker that has not answered for so long is lost to the sweep."""
_CANCEL_S = 5.0


class DaskCarrier:
    """Fulfils `Carrier`. CarrierError where the address is refused, where no scheduler is, or
    where it, our certificate or a version is of another kind; see docs/cluster.md.

    `insecure` lets a plain address pass that is not of this machine.
    """

    def __init__(self, address: str, insecure: bool = False, silence_s: float = SILENCE_S) -> None:
        self._address = parse_address(address, insecure)
        self._silence_s = silence_s
        self._hosts: dict[str, str] = {}
        self._jobs: dict[str, tuple[str, Future[None]]] = {}
        self._cancelled: set[str] = set()
        self._killed: set[str] = set()
        security, context = credentials("client", self._address, {})
        reach(self._address, context)
        self._loop = LoopThread("dask carrier")
        self._closed = False
        try:
            self._link = self._loop.do(Link.open(self._address, security))
        except BaseException:
            self._loop.close()
            raise

    def doctor(self) -> tuple[Host, ...]:
        return self._loop.do(self._doctor())

    def run(self, host: str, job: HostJob, hear: Hear) -> None:
        began = self._loop.begin(self._run(host, job, hear))
        self._jobs[job.id] = host, began
        began.add_done_callback(lambda _: self._jobs.pop(job.id, None))

    def cancel(self, host: str, job_id: str, how: Ending) -> None:
        if job_id not in self._jobs:
            return
        self._cancelled.add(job_id)
        if how == "kill" and job_id in self._killed:
            self._jobs[job_id][1].cancel()  # which tells that it is lost
            return
        if how == "kill":
            self._killed.add(job_id)
        self._loop.begin(self._cancel(host, job_id, how))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.do(self._close())
        self._loop.close()

    async def _doctor(self) -> tuple[Host, ...]:
        """Of those that answer; CarrierError where none does."""
        hosts = await self._found(compared=True)
        asked = await asyncio.gather(*(self._host(name, at) for name, at in hosts.items()))
        there = tuple(host for host in asked if host is not None)
        if not there:
            raise CarrierError(
                f"no worker of {self._address} answers", "end those that hang, and start them again"
            )
        return there

    async def _found(self, compared: bool = False) -> dict[str, str]:
        """The workers by name as they are now: one that was started again has another address."""
        try:
            self._hosts = await self._link.workers(compared)
        except (OSError, TimeoutError) as error:
            raise CarrierError(f"the scheduler {self._address} does not answer ({error})") from None
        return self._hosts

    async def _host(self, name: str, worker: str) -> Host | None:
        try:
            told = await self._link.ask(worker, "doctor", self._silence_s)
            return replace(from_json(Host, json.loads(told)), name=name)
        except (OSError, TimeoutError):
            return None
        except (CodecError, ValueError) as error:
            raise CarrierError(f"the worker {name} sends what can't be parsed ({error})") from None

    async def _run(self, host: str, job: HostJob, hear: Hear) -> None:
        try:
            worker = (await self._found()).get(host)
        except CarrierError as error:
            hear(Lost(str(error)))
            return
        if worker is None:
            hear(Lost("its worker is gone"))
            return
        await travel(
            self._link, worker, job, hear, self._silence_s, lambda: job.id in self._cancelled
        )

    async def _cancel(self, host: str, job_id: str, how: Ending) -> None:
        worker = self._hosts.get(host)
        if worker is not None:
            # One that can't be told so is as good as gone, which its last message will say.
            with suppress(CarrierError, OSError, TimeoutError):
                await self._link.ask(worker, "cancel", _CANCEL_S, job=job_id, how=how)

    async def _close(self) -> None:
        """Jobs that are left end on their hosts too."""
        self._cancelled.update(self._jobs)
        left = [self._cancel(host, job_id, "kill") for job_id, (host, _) in self._jobs.items()]
        await asyncio.gather(*left)
        ways = [asyncio.wrap_future(way) for _, way in list(self._jobs.values())]
        if ways:
            await asyncio.wait(ways, timeout=_CANCEL_S)
        await self._link.close()
