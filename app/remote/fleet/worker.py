"""What a Dask worker does for a link: have a host's process and pass on what both ends say.

Any worker with Graphlap and one `measure` can; `graphlap worker tls://HOST:8786` starts one that
keeps itself quiet.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Callable
from contextlib import closing
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Client, Queue, get_client, get_worker
from distributed.cli.dask_worker import main as dask_worker_command

from app.machine.child import Bell, Child
from app.remote.fleet.scheduler import RESOURCE, WORKER, check_security, checked_address, is_here
from app.remote.link import HostError
from exporters import install_layout

LOOK_S = 1.0
_MOST_WAITING = 32
"""Messages that wait to be taken: beyond, who sends waits."""
_host_arguments: tuple[str, ...] = ()
"""Of the processes that measure."""


def queues(link: str, client: Client) -> tuple[Queue, Queue]:
    """What goes to the process of a link, and what comes from it: lists of lines, each with how the
    process ended, "" while it has not."""
    names = f"{link}-in", f"{link}-out"
    return Queue(names[0], client, _MOST_WAITING), Queue(names[1], client, _MOST_WAITING)


def put(queue: Queue, item: Any, is_wanted: Callable[[], bool]) -> None:
    """Once there is room for it, unless it is wanted no more."""
    while is_wanted():
        try:
            return queue.put(item, timeout=LOOK_S)
        except TimeoutError:
            continue


def talk(link: str, dask_worker: Any = None) -> None:
    """The process of a link from its start to its end, or until whoever asked for it is gone.

    As a task, of which `link` is the key, it has the worker's one thread until then.
    """
    worker = dask_worker or get_worker()
    heard, said = queues(link, get_client(worker.scheduler.address))

    def is_wanted() -> bool:
        task = worker.state.tasks.get(link)
        return task is None or task.state == "executing"

    command = install_layout.starter_command("app", "worker", "--stdio", *_host_arguments)
    with closing(Bell()) as bell, closing(Child(command, bell)) as child:
        Thread(target=_pass_on, args=(heard, child), daemon=True).start()
        while not child.ended() and is_wanted():
            bell.wait(LOOK_S)
            if lines := child.lines():
                put(said, (lines, ""), is_wanted)
        child.kill()
        if child.ended():
            put(said, (child.lines(), child.how_it_ended()), is_wanted)


async def talk_beside(link: str, dask_worker: Any) -> None:
    """The same without a task, so that a worker that measures answers."""
    await asyncio.to_thread(talk, link, dask_worker)


def _pass_on(heard: Queue, child: Child) -> None:
    """What the other end says; nothing ends the process."""
    while (line := heard.get()) is not None:
        child.send(line)
    child.kill()


def main(options: argparse.Namespace, host_arguments: tuple[str, ...]) -> int:
    """Measure until asked to end or until the scheduler is gone.

    HostError where the address is refused, no scheduler is there, or a certificate is wrong.
    """
    global _host_arguments  # noqa: PLW0603
    _host_arguments = host_arguments
    address = checked_address(options.address, options.insecure_cluster)
    tls = "distributed.comm.tls"
    given = {
        f"{tls}.ca-file": options.tls_ca_file,
        f"{tls}.worker.cert": options.tls_cert,
        f"{tls}.worker.key": options.tls_key,
    }
    dask.config.set({**WORKER, **{name: file for name, file in given.items() if file}})
    check_security("worker", address)
    # Queues are a client's, which has its certificate from here.
    for part in ("cert", "key"):
        dask.config.set({f"{tls}.client.{part}": dask.config.get(f"{tls}.worker.{part}")})
    words = [address, "--name", options.name or socket.gethostname(), "--no-nanny"]
    words += ["--nthreads", "1", "--resources", f"{RESOURCE}=1", "--memory-limit", "0"]
    words += ["--no-dashboard", "--death-timeout", "10"]
    if is_here(urlsplit(address).hostname or ""):  # else Dask would listen on all networks
        words += ["--host", "127.0.0.1"]
    try:
        dask_worker_command(words, standalone_mode=False)
    except (SystemExit, OSError, RuntimeError, ValueError) as error:
        why = "no answer" if isinstance(error, SystemExit) else error.__cause__ or error
        raise HostError(
            f"the scheduler {address} does not take this worker ({why})",
            "see that it runs there, and that no worker of this --name is there already",
        ) from None
    return 0
