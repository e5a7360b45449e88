"""The sweep's line to a scheduler and, through it, to the agents of its workers."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping
from operator import methodcaller
from typing import Any

import dask
from distributed import Client, Future, Security, get_worker
from distributed.core import rpc
from toolz import compose

from app.carriers.contract import CarrierError
from app.carriers.fleet.address import REACH_S, Address
from app.carriers.fleet.settings import CLIENT, RESOURCE, configuration
from app.carriers.fleet.versions import KEY, refuse_others, refuse_scheduler
from app.carriers.fleet.wire import PREFIX

_START = "start some: graphlap worker"


class Link:
    """A client of the scheduler; all of it is used within the event loop that it was opened in."""

    def __init__(self, client: Client, address: Address) -> None:
        self._client, self._address = client, address
        self._gone: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    @classmethod
    async def open(cls, address: Address, security: Security) -> Link:
        """CarrierError where what answers is no scheduler, or one of another version."""
        # Its own sentences are for those who run tasks; a sweep has ours.
        for name in ("distributed", "distributed.client"):  # which has a level of its own
            logging.getLogger(name).setLevel(logging.CRITICAL)
        dask.config.set(configuration(CLIENT))
        try:
            await _refuse_what_is_other(str(address), security)
            client = await Client(
                str(address),
                security=security,
                asynchronous=True,
                timeout=REACH_S,
                set_as_default=False,
            )
        except (OSError, TimeoutError) as error:
            raise CarrierError(f"the scheduler {address} does not answer ({error})") from None
        link = cls(client, address)
        client.subscribe_topic("all", link._happened)
        return link

    @property
    def _scheduler(self) -> Any:
        """What it answers by name; OSError once the client has given it up."""
        if self._client.scheduler is None:
            raise OSError("the connection to the scheduler is closed")
        return self._client.scheduler

    async def close(self) -> None:
        await self._client.close()

    async def workers(self, compared: bool = False) -> dict[str, str]:
        """The addresses of those that measure, by the name that rows call each.

        CarrierError where there is none and, if they are to be `compared`, for one of another
        version.
        """
        told = await self._identity()
        ours = {where: one[KEY] for where, one in told.items() if KEY in one}
        if not ours:
            others = f"; {len(told)} do other things" if told else ""
            raise CarrierError(
                f"the scheduler {self._address} has no worker that measures{others}",
                f"{_START} {self._address}",
            )
        for one in ours.values() if compared else ():
            refuse_others(str(one["name"]), one)
        names = [str(one["name"]) for one in ours.values()]
        return {
            name if names.count(name) == 1 else f"{name}@{where.rpartition('/')[2]}": where
            for name, where in zip(names, ours, strict=True)
        }

    async def ask(self, worker: str, what: str, within_s: float, **told: Any) -> Any:
        """What the worker's agent answers; CarrierError is its own refusal.

        OSError where the way to it is broken, TimeoutError where nothing comes.
        """
        message = {"op": PREFIX + what, **told}
        asking = self._scheduler.broadcast(msg=message, workers=[worker])
        answer = (await asyncio.wait_for(asking, within_s))[worker]
        if fault := answer.get("fault"):
            raise CarrierError(*fault)
        return answer["value"]

    def submit(self, worker: str, job_id: str, told: str) -> Future:
        """Queue the job on that worker and no other, to run once.

        What is pickled for it are functions of the standard library, toolz and distributed, which
        the scheduler unpickles too.
        """
        return self._client.submit(
            compose(methodcaller("measure", told), get_worker),
            key=f"graphlap-{job_id}",
            workers=[worker],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            retries=0,
            pure=False,
        )

    async def until_gone(self, worker: str) -> None:
        """Returns when the scheduler has let go of the worker."""
        gone = self._gone[worker]
        if worker not in await self._identity():
            gone.set()
        await gone.wait()

    async def _identity(self) -> dict[str, Any]:
        """What the scheduler tells of every worker: it names five of them unless told otherwise."""
        asking = self._scheduler.identity(n_workers=-1)
        told: dict[str, Any] = (await asyncio.wait_for(asking, REACH_S))["workers"]
        return told

    def _happened(self, event: tuple[float, Any]) -> None:
        told = event[1]
        if isinstance(told, Mapping) and told.get("action") == "remove-worker":
            self._gone[told["worker"]].set()


async def _refuse_what_is_other(address: str, security: Security) -> None:
    """CarrierError where the address is not a scheduler's, or its versions are other ones.

    Asked on a connection of its own: a client only warns of versions, and hangs on a worker's port.
    """
    arguments = security.get_connection_args("client")
    async with rpc(address, timeout=REACH_S, connection_args=arguments) as there:
        kind = (await asyncio.wait_for(there.identity(), REACH_S)).get("type")
        if kind != "Scheduler":
            raise CarrierError(
                f"{address} is a {kind}, not a scheduler", "name the address of the scheduler"
            )
        refuse_scheduler(address, await asyncio.wait_for(there.versions(), REACH_S))
