"""Transport by a Dask scheduler: jobs of a sweep on workers, `--cluster tls://scheduler:8786`."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from operator import methodcaller
from typing import Any, TypeVar

import dask
from distributed import Client, Security, get_worker
from distributed import Future as DistributedFuture
from distributed.core import rpc
from toolz import compose

from app.remote.contract import (
    CarrierError,
    Ended,
    Ending,
    Hear,
    Host,
    HostFile,
    HostJob,
    Lost,
    Message,
    Unreadable,
    blocks,
)
from app.remote.dask_cluster.address import REACH_S, Address, credentials, parse_address, reach
from app.remote.dask_cluster.protocol import (
    CLIENT,
    KEY,
    PREFIX,
    RESOURCE,
    configuration,
    packed_files,
    packed_job,
    refuse_others,
    refuse_scheduler,
    unpacked,
)
from exporters.codec import CodecError, from_json

T = TypeVar("T")


class LoopThread:
    """Runs coroutines until it is closed; every method may be called from any thread."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        # Of what we start we ask how it ended; what Dask leaves behind as it closes is no news.
        self._loop.set_exception_handler(lambda _, __: None)
        # A sweep that dies must not be held by it.
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for what it gives."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start it and return at once."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel what is left and end the thread; idempotent."""
        if self._loop.is_closed():
            return
        self.do(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_others() -> None:
    other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in other_tasks:
        task.cancel()
    await asyncio.gather(*other_tasks, return_exceptions=True)


_START = "start some: graphlap worker"


class Link:
    """A client of the scheduler; all of it is used within the event loop that it was opened in."""

    def __init__(self, client: Client, address: Address) -> None:
        self._client, self._address = client, address
        self._removal_events: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

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
        client.subscribe_topic("all", link._handle_event)
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
        identities = await self._identity()
        measure_workers = {where: entry[KEY] for where, entry in identities.items() if KEY in entry}
        if not measure_workers:
            other_text = f"; {len(identities)} do other things" if identities else ""
            raise CarrierError(
                f"the scheduler {self._address} has no worker that measures{other_text}",
                f"{_START} {self._address}",
            )
        for entry in measure_workers.values() if compared else ():
            refuse_others(str(entry["name"]), entry)
        names = [str(entry["name"]) for entry in measure_workers.values()]
        return {
            name if names.count(name) == 1 else f"{name}@{where.rpartition('/')[2]}": where
            for name, where in zip(names, measure_workers, strict=True)
        }

    async def ask(self, worker: str, operation: str, within_s: float, **values: Any) -> Any:
        """What the worker's agent answers; CarrierError is its own refusal.

        OSError where the way to it is broken, TimeoutError where nothing comes.
        """
        message = {"op": PREFIX + operation, **values}
        asking = self._scheduler.broadcast(msg=message, workers=[worker])
        answer = (await asyncio.wait_for(asking, within_s))[worker]
        if fault := answer.get("fault"):
            raise CarrierError(*fault)
        return answer["value"]

    def submit(self, worker: str, job_id: str, job_text: str) -> DistributedFuture:
        """Queue the job on that worker and no other, to run once.

        What is pickled for it are functions of the standard library, toolz and distributed, which
        the scheduler unpickles too.
        """
        return self._client.submit(
            compose(methodcaller("measure", job_text), get_worker),
            key=f"graphlap-{job_id}",
            workers=[worker],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            retries=0,
            pure=False,
        )

    async def until_gone(self, worker: str) -> None:
        """Returns when the scheduler has let go of the worker."""
        removal = self._removal_events[worker]
        if worker not in await self._identity():
            removal.set()
        await removal.wait()

    async def _identity(self) -> dict[str, Any]:
        """What the scheduler tells of every worker: it names five of them unless told otherwise."""
        asking = self._scheduler.identity(n_workers=-1)
        workers: dict[str, Any] = (await asyncio.wait_for(asking, REACH_S))["workers"]
        return workers

    def _handle_event(self, event: tuple[float, Any]) -> None:
        told = event[1]
        if isinstance(told, Mapping) and told.get("action") == "remove-worker":
            self._removal_events[told["worker"]].set()


async def _refuse_what_is_other(address: str, security: Security) -> None:
    """CarrierError where the address is not a scheduler's, or its versions are other ones.

    Asked on a connection of its own: a client only warns of versions, and hangs on a worker's port.
    """
    arguments = security.get_connection_args("client")
    async with rpc(address, timeout=REACH_S, connection_args=arguments) as scheduler:
        kind = (await asyncio.wait_for(scheduler.identity(), REACH_S)).get("type")
        if kind != "Scheduler":
            raise CarrierError(
                f"{address} is a {kind}, not a scheduler", "name the address of the scheduler"
            )
        refuse_scheduler(address, await asyncio.wait_for(scheduler.versions(), REACH_S))


LAST_WORD_S = 2.0
_PAUSE_S = 0.5


async def travel(
    link: Link,
    worker: str,
    job: HostJob,
    hear: Hear,
    silence_s: float,
    is_cancelled: Callable[[], bool],
) -> None:
    """Run the job on the worker and tell what comes of it; the last is `Ended` or `Lost`.

    A worker from which nothing came for `silence_s` is given up. A job that is `is_cancelled` while
    its files are brought does not begin.
    """
    reporter = _Once(hear)
    try:
        await _bring(link, worker, job.files, silence_s, is_cancelled)
        if is_cancelled():
            reporter(Ended("it was cancelled before it began", killed=True))
            return
        task = link.submit(worker, job.id, packed_job(job))
        try:
            await _first_end(
                _listen(link, worker, job, reporter, silence_s), _fail(task), _go(link, worker)
            )
        finally:
            task.release()  # a result that is kept would be computed again for a dead worker
        return
    except asyncio.CancelledError:
        reporter(Lost("the sweep let go of it"))
        raise
    except _WorkerGone as error:
        reporter(Lost(str(error)))
        return
    except Unreadable as error:
        reporter(Lost(str(error), is_ours=True))
        return
    except CarrierError as error:
        reporter(Lost(str(error)))
    except TimeoutError:
        reporter(Lost(f"no answer for {silence_s:g} s"))
    except OSError as error:
        reporter(Lost(f"the way to it is broken ({error})"))
    except Exception as error:  # whatever it is, the sweep must not wait for ever
        reporter(Lost(f"the way to it failed ({type(error).__name__}: {error})"))
    # One that hears of it yet is not to go on measuring for nobody.
    with suppress(Exception):
        await link.ask(worker, "cancel", LAST_WORD_S, job=job.id, how="kill")


class _WorkerGone(CarrierError):
    """The scheduler has let go of the worker."""


class _Once:
    """Passes messages on up to the first that ends the job."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self.over = False

    def __call__(self, message: Message) -> None:
        if not self.over:
            self.over = isinstance(message, Ended | Lost)
            self._hear(message)


async def _bring(
    link: Link,
    worker: str,
    files: Sequence[HostFile],
    within_s: float,
    is_cancelled: Callable[[], bool],
) -> None:
    """What the host lacks, block by block; it knows files by their content."""
    if not files:
        return
    lacking = await link.ask(worker, "lacks", within_s, files=packed_files(files))
    if not (isinstance(lacking, list | tuple) and all(isinstance(item, str) for item in lacking)):
        raise CarrierError(
            f"it answered for its files with {lacking!r:.40}, not a list of sha256",
            "install the same Graphlap there",
        )
    for file in {file.sha256: file for file in files if file.sha256 in lacking}.values():
        coming = blocks(file)
        while (block := await asyncio.to_thread(next, coming, None)) and not is_cancelled():
            offset, data = block
            await link.ask(
                worker,
                "keep",
                within_s,
                sha256=file.sha256,
                offset=offset,
                data=data,
                size_bytes=file.size_bytes,
            )


async def _listen(link: Link, worker: str, job: HostJob, reporter: _Once, silence_s: float) -> None:
    """Ask for message after message until the last one."""
    number, heard_s = 0, time.monotonic()
    while not reporter.over:
        try:
            messages = await link.ask(
                worker, "hear", silence_s, job=job.id, after=number, wait_s=silence_s / 4
            )
        except OSError:
            if time.monotonic() - heard_s > silence_s:
                raise
            await asyncio.sleep(_PAUSE_S)
            continue
        heard_s = time.monotonic()
        number += len(messages)
        for message in messages:
            reporter(unpacked(message))


async def _fail(task: DistributedFuture) -> None:
    """Raise if Dask does not run the task; its result comes with the worker's messages.

    The result itself is never fetched. A client has one fetch in flight for all its tasks, so
    cancelling it at the end of one job would cancel it for every other job too.
    """
    error = await task.exception()
    if error is not None or task.status != "finished":
        raise CarrierError(f"the scheduler dropped the job ({error or task.status})")
    await asyncio.Event().wait()


async def _go(link: Link, worker: str) -> None:
    await link.until_gone(worker)
    raise _WorkerGone("its worker is gone")


async def _first_end(*works: object) -> None:
    """What the first of them to end gives or raises; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]  # type: ignore[call-overload]
    try:
        finished_tasks, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in finished_tasks:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)


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
        self._cancelled_jobs: set[str] = set()
        self._killed_jobs: set[str] = set()
        security, context = credentials("client", self._address, {})
        reach(self._address, context)
        self._loop = LoopThread("dask carrier")
        self._is_closed = False
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
        self._cancelled_jobs.add(job_id)
        if how == "kill" and job_id in self._killed_jobs:
            self._jobs[job_id][1].cancel()  # which tells that it is lost
            return
        if how == "kill":
            self._killed_jobs.add(job_id)
        self._loop.begin(self._cancel(host, job_id, how))

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.do(self._close())
        self._loop.close()

    async def _doctor(self) -> tuple[Host, ...]:
        """Of those that answer; CarrierError where none does."""
        hosts = await self._find_workers(compared=True)
        answers = await asyncio.gather(
            *(self._host(name, address) for name, address in hosts.items())
        )
        reachable_hosts = tuple(host for host in answers if host is not None)
        if not reachable_hosts:
            raise CarrierError(
                f"no worker of {self._address} answers", "end those that hang, and start them again"
            )
        return reachable_hosts

    async def _find_workers(self, compared: bool = False) -> dict[str, str]:
        """The workers by name as they are now: one that was started again has another address."""
        try:
            self._hosts = await self._link.workers(compared)
        except (OSError, TimeoutError) as error:
            raise CarrierError(f"the scheduler {self._address} does not answer ({error})") from None
        return self._hosts

    async def _host(self, name: str, worker: str) -> Host | None:
        try:
            answer = await self._link.ask(worker, "doctor", self._silence_s)
            return replace(from_json(Host, json.loads(answer)), name=name)
        except (OSError, TimeoutError):
            return None
        except (CodecError, ValueError) as error:
            raise CarrierError(f"the worker {name} sends what can't be parsed ({error})") from None

    async def _run(self, host: str, job: HostJob, hear: Hear) -> None:
        try:
            worker = (await self._find_workers()).get(host)
        except CarrierError as error:
            hear(Lost(str(error)))
            return
        if worker is None:
            hear(Lost("its worker is gone"))
            return
        await travel(
            self._link, worker, job, hear, self._silence_s, lambda: job.id in self._cancelled_jobs
        )

    async def _cancel(self, host: str, job_id: str, how: Ending) -> None:
        worker = self._hosts.get(host)
        if worker is not None:
            # One that can't be told so is as good as gone, which its last message will say.
            with suppress(CarrierError, OSError, TimeoutError):
                await self._link.ask(worker, "cancel", _CANCEL_S, job=job_id, how=how)

    async def _close(self) -> None:
        """Jobs that are left end on their hosts too."""
        self._cancelled_jobs.update(self._jobs)
        left = [self._cancel(host, job_id, "kill") for job_id, (host, _) in self._jobs.items()]
        await asyncio.gather(*left)
        ways = [asyncio.wrap_future(way) for _, way in list(self._jobs.values())]
        if ways:
            await asyncio.wait(ways, timeout=_CANCEL_S)
        await self._link.close()
