"""`graphlap worker tls://HOST:8786`: a Dask worker, whose shares have processes of their own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Worker

from app.remote.fleet.scheduler import (
    KEY,
    RESOURCE,
    WORKER,
    checked_address,
    is_here,
    security_of,
    versions,
)
from app.remote.link import BLOCK_BYTES, SILENCE_S, HostError, write_whole
from exporters import install_layout

_MOST_BYTES = 8 * BLOCK_BYTES
"""Output that nobody has fetched yet: beyond, the process waits."""
_BEGUN_WAIT_S = 0.5


class _Process:
    """A host's process, what it has said, and when somebody last asked for that."""

    def __init__(self, arguments: tuple[str, ...]) -> None:
        command = install_layout.starter_command("app", "worker", "--stdio", *arguments)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env=install_layout.child_environment(),
        )
        self._said, self._lock = bytearray(), Lock()
        self._asked_s = time.monotonic()
        Thread(target=self._hear, daemon=True).start()

    def exchange(self, data: bytes) -> tuple[bytes, str]:
        """Pass on what the run says; what the process has said since, or how it ended."""
        self._asked_s = time.monotonic()
        assert self._process.stdin
        with contextlib.suppress(OSError):  # it has ended, which is told below
            write_whole(self._process.stdin, data)
        is_over = self._process.poll() is not None
        with self._lock:
            said, self._said = bytes(self._said), bytearray()
        return said, "" if said or not is_over else f"it ended, code {self._process.returncode}"

    def wait(self) -> int:
        """Until its end; one that nobody asks for any more is ended."""
        while self._process.poll() is None:
            if time.monotonic() - self._asked_s > SILENCE_S:
                self.close()
            time.sleep(_BEGUN_WAIT_S)
        return self._process.returncode

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _hear(self) -> None:
        assert self._process.stdout
        while data := self._process.stdout.read(BLOCK_BYTES):
            while len(self._said) > _MOST_BYTES:
                time.sleep(_BEGUN_WAIT_S)
            with self._lock:
                self._said += data


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
        self.processes: dict[str, _Process] = {}
        self.ended: set[str] = set()

    def measure(self, link: str) -> int:
        """The task: the process of a link from its start to its end. It has the worker's one thread
        until then, so that Dask sees it at work."""
        if link in self.processes or link in self.ended:
            return 0
        process = self.processes[link] = _Process(self.host_arguments)
        return process.wait()

    async def close(self, *args: Any, **options: Any) -> Any:
        """Processes end with their worker."""
        for process in self.processes.values():
            process.close()
        return await super().close(*args, **options)


async def exchange(
    link: str, data: bytes, measures: bool, dask_worker: Any
) -> tuple[bytes | None, str]:
    """Called on a worker: pass bytes on to the process of a link, and give what it has said, or how
    it ended; None where its task has not begun."""
    process = dask_worker.processes.get(link)
    if process is None:
        if measures:
            await asyncio.sleep(_BEGUN_WAIT_S)
            return None, ""
        process = dask_worker.processes[link] = _Process(dask_worker.host_arguments)
    said: tuple[bytes, str] = await asyncio.to_thread(process.exchange, data)
    return said


async def close(link: str, dask_worker: Any) -> None:
    """Called on a worker: end the process of a link, which may not have begun."""
    dask_worker.ended.add(link)
    process = dask_worker.processes.pop(link, None)
    if process is not None:
        process.close()


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
    files = {"ca_file": options.tls_ca_file, "cert": options.tls_cert, "key": options.tls_key}
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
