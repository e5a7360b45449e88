"""One job on its way: its files are brought, it waits for its turn, and all that it says is told.

Whatever breaks ends it as `Lost`, once; what the worker said before that has been told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from distributed import Future

from app.carriers.bringing import Unreadable, blocks
from app.carriers.contract import (
    CarrierError,
    Ended,
    Hear,
    HostFile,
    HostJob,
    Lost,
    Message,
)
from app.carriers.fleet.link import Link
from app.carriers.fleet.wire import packed_files, packed_job, unpacked

LAST_WORD_S = 2.0
_PAUSE_S = 0.5


async def travel(
    link: Link,
    worker: str,
    job: HostJob,
    hear: Hear,
    silence_s: float,
    cancelled: Callable[[], bool],
) -> None:
    """Run the job on the worker and tell what comes of it; the last is `Ended` or `Lost`.

    A worker from which nothing came for `silence_s` is given up. A job that is `cancelled` while
    its files are brought does not begin.
    """
    told = _Once(hear)
    try:
        await _bring(link, worker, job.files, silence_s, cancelled)
        if cancelled():
            told(Ended("it was cancelled before it began", killed=True))
            return
        task = link.submit(worker, job.id, packed_job(job))
        try:
            await _first_end(
                _listen(link, worker, job, told, silence_s), _fail(task), _go(link, worker)
            )
        finally:
            task.release()  # a result that is kept would be computed again for a dead worker
        return
    except asyncio.CancelledError:
        told(Lost("the sweep let go of it"))
        raise
    except _Gone as error:
        told(Lost(str(error)))
        return
    except Unreadable as error:
        told(Lost(str(error), is_ours=True))
        return
    except CarrierError as error:
        told(Lost(str(error)))
    except TimeoutError:
        told(Lost(f"no answer for {silence_s:g} s"))
    except OSError as error:
        told(Lost(f"the way to it is broken ({error})"))
    except Exception as error:  # whatever it is, the sweep must not wait for ever
        told(Lost(f"the way to it failed ({type(error).__name__}: {error})"))
    # One that hears of it yet is not to go on measuring for nobody.
    with suppress(Exception):
        await link.ask(worker, "cancel", LAST_WORD_S, job=job.id, how="kill")


class _Gone(CarrierError):
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
    cancelled: Callable[[], bool],
) -> None:
    """What the host lacks, block by block; it knows files by their content."""
    if not files:
        return
    lacking = await link.ask(worker, "lacks", within_s, files=packed_files(files))
    if not (isinstance(lacking, list | tuple) and all(isinstance(one, str) for one in lacking)):
        raise CarrierError(
            f"it answered for its files with {lacking!r:.40}, not a list of sha256",
            "install the same Graphlap there",
        )
    for file in {file.sha256: file for file in files if file.sha256 in lacking}.values():
        coming = blocks(file)
        while (block := await asyncio.to_thread(next, coming, None)) and not cancelled():
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


async def _listen(link: Link, worker: str, job: HostJob, told: _Once, silence_s: float) -> None:
    """Ask for message after message until the last one."""
    number, heard_s = 0, time.monotonic()
    while not told.over:
        try:
            said = await link.ask(
                worker, "hear", silence_s, job=job.id, after=number, wait_s=silence_s / 4
            )
        except OSError:
            if time.monotonic() - heard_s > silence_s:
                raise
            await asyncio.sleep(_PAUSE_S)
            continue
        heard_s = time.monotonic()
        number += len(said)
        for message in said:
            told(unpacked(message))


async def _fail(task: Future) -> None:
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
    raise _Gone("its worker is gone")


async def _first_end(*works: object) -> None:
    """What the first of them to end gives or raises; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]  # type: ignore[call-overload]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
