"""`graphlap worker tls://HOST:8786`: a Dask worker, whose shares have processes of their own."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import socket
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Worker

from app.machine.child import Child
from app.remote.fleet.scheduler import (
    KEY,
    RESOURCE,
    WORKER,
    checked_address,
    is_here,
    security_of,
    versions,
)
from app.remote.link import HostError
from exporters import install_layout

_LOOK_S = 0.5


class MeasureWorker(Worker):
    """One thread, one `measure`, no nanny, no web page, nothing that ticks.

    `host_arguments` are those of the processes that measure. HostError under a nanny.
    """

    def __init__(self, *args: Any, host_arguments: tuple[str, ...] = (), **options: Any) -> None:
        if options.get("nanny"):
            raise HostError(
                "a nanny limits each engine to one thread in its child's environment",
                "start the worker without one: --no-nanny",
            )
        dask.config.set(WORKER)
        fixed = {
            "nthreads": 1,
            "resources": {RESOURCE: 1},
            "memory_limit": 0,
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "startup_information": {KEY: _described},
        }
        super().__init__(*args, **{**options, **fixed})
        self.host_arguments = host_arguments
        self.children: dict[str, Child] = {}
        self.ended: set[str] = set()

    def start_child(self, link: str) -> Child:
        """The process of a link, which ends by itself where nobody speaks to it any more."""
        command = install_layout.starter_command("app", "worker", "--stdio", *self.host_arguments)
        self.children[link] = Child(command)
        return self.children[link]

    def measure(self, link: str) -> None:
        """The task: the process of a link from its start to its end. It has the worker's one thread
        until then, so that Dask sees it at work."""
        try:
            child = None if link in self.ended else self.start_child(link)
            while child is not None and not child.ended():
                time.sleep(_LOOK_S)
        finally:
            self.ended.add(link)

    async def close(self, *args: Any, **options: Any) -> Any:
        """Processes end with their worker."""
        for child in self.children.values():
            child.kill()
        return await super().close(*args, **options)


async def exchange(
    link: str, lines: list[str], measures: bool, dask_worker: Any
) -> tuple[list[str], str]:
    """Called on a worker: pass lines on to the process of a link, once its task has begun, and give
    those that it has said, and how it ended."""
    if not measures and link not in dask_worker.children:
        dask_worker.start_child(link)
    while (child := dask_worker.children.get(link)) is None:
        if link in dask_worker.ended:
            return [], "its task, which is over"
        await asyncio.sleep(_LOOK_S)

    def talk() -> tuple[list[str], str]:
        for line in lines:
            child.send(line)
        is_over = child.ended()
        return child.lines(), child.how_it_ended() if is_over else ""

    return await asyncio.to_thread(talk)


async def close(link: str, dask_worker: Any) -> None:
    """Called on a worker: end the process of a link, which may not have begun."""
    dask_worker.ended.add(link)
    child = dask_worker.children.pop(link, None)
    if child is not None:
        child.kill()


def _described(worker: Worker) -> dict[str, Any]:
    """What the scheduler tells of this worker to whoever asks."""
    name = worker.name.strip() if isinstance(worker.name, str) else ""
    is_own = name and not name.isdigit() and "://" not in name
    return {**versions(), "name": name if is_own else socket.gethostname()}


def main(options: argparse.Namespace, host_arguments: tuple[str, ...]) -> int:
    """Measure until asked to end (0) or until the scheduler is gone (1).

    HostError where the address is refused, no scheduler is there, or a certificate is wrong.
    """
    address = checked_address(options.address, options.insecure_cluster)
    files = {
        "tls_ca_file": options.tls_ca_file,
        "tls_worker_cert": options.tls_cert,
        "tls_worker_key": options.tls_key,
    }
    security = security_of("worker", address, files)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters we say ourselves
    name = options.name or socket.gethostname()
    try:
        return asyncio.run(_measure(address, security, name, host_arguments))
    except (OSError, TimeoutError, RuntimeError, ValueError) as error:
        raise HostError(
            f"the scheduler {address} does not take this worker ({error.__cause__ or error})",
            "see that it runs there, and that no worker of this --name is there already",
        ) from None


async def _measure(address: str, security: Any, name: str, host_arguments: tuple[str, ...]) -> int:
    worker = MeasureWorker(
        address,
        security=security,
        name=name,
        host_arguments=host_arguments,
        # Dask would listen on all networks for a scheduler of this machine.
        host="127.0.0.1" if is_here(urlsplit(address).hostname or "") else None,
    )
    stop_event = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop_event.set)
    async with worker:
        sys.stderr.write(f"graphlap: {name} measures for {address}\n")
        finished = worker.finished()  # type: ignore[no-untyped-call]
        ends = [asyncio.create_task(finished), asyncio.create_task(stop_event.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in ends:
            task.cancel()
    if not stop_event.is_set():
        sys.stderr.write(f"graphlap: the scheduler {address} is gone: start this again\n")
    return int(not stop_event.is_set())
