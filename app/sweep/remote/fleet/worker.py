"""What a Dask worker does for a link: have a host's process and pass on what both ends say; also
the address of a scheduler, the certificates and Dask's settings, of both ends.

Any worker with Graphlap and one `measure` can; `graphlap worker tls://HOST:8786` starts one that
keeps itself quiet.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from threading import Thread
from typing import Any, Literal
from urllib.parse import urlsplit

import dask
from distributed import Client, Queue, get_client, get_worker
from distributed.cli.dask_worker import main as dask_worker_command
from distributed.security import Security

from app.machine.child import Bell, Child
from app.sweep.remote.link import HostError
from exporters.install_layout import starter_command

PORT = 8786
"""Dask's own."""
RESOURCE = "measure"
"""Each worker has one of it, each share needs one: whoever else sends tasks waits for it too."""
_HOW = "see docs/cluster.md for how to make one"
CLIENT = {
    "distributed.client.scheduler-info-interval": "1h",
    "distributed.admin.tick.interval": "2s",  # else it wakes 50 times a second
    "distributed.admin.tick.limit": "60s",  # else it takes a rare check for a hanging loop
    "distributed.admin.tick.cycle": "60s",
    "distributed.worker.profile.enabled": False,  # else it takes its own stack 100 times a second
    "distributed.admin.system-monitor.interval": "1h",  # else it reads /proc twice a second
    "distributed.admin.system-monitor.gil.enabled": False,
}
WORKER = {
    **CLIENT,
    "distributed.diagnostics.nvml": False,  # else it queries the measured GPU
    "distributed.worker.http.routes": [],
}
LOOK_S = 1.0
_MOST_WAITING = 32
"""Messages that wait to be taken: beyond, who sends waits."""
_ARGUMENTS = "graphlap.host-arguments"
"""Of Dask's settings those of the processes that measure."""


def checked_address(text: str, insecure: bool = False) -> str:
    """`tls://HOST:PORT` of a scheduler; HostError for another form, and for a plain one elsewhere.

    `insecure` lets the plain one pass.
    """
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port or PORT
    except ValueError:
        scheme = host = ""
    if scheme not in ("tls", "tcp") or not host:
        raise HostError(f"{text!r:.80} is no address of a scheduler", "write it as tls://HOST:8786")
    address = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
    if scheme == "tcp" and not is_here(host) and not insecure:
        raise HostError(
            f"{address} is refused: every process that reaches a plain Dask port can run "
            "code there, since it unpickles what it receives",
            "use tls:// with certificates (docs/cluster.md), or --insecure-cluster in a network "
            "that no one else uses",
        )
    return address


def is_here(host: str) -> bool:
    """Whether it is the loopback: `localhost`, 127.0.0.0/8 or ::1."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_security(role: Literal["client", "worker"], address: str) -> None:
    """HostError for a certificate that Dask's configuration lacks, or that is none."""
    if address.startswith("tcp:"):
        return
    security = Security(require_encryption=True)
    files = security.get_tls_config_for_role(role)
    if not (files["ca_file"] and files["cert"]):
        setting = "ca-file" if not files["ca_file"] else f"{role}.cert"
        raise HostError(
            f"{address} needs certificates, and distributed.comm.tls.{setting} of Dask's "
            "configuration names none",
            _HOW,
        )
    try:
        security.get_connection_args(role)
    except OSError as error:
        names = ", ".join(str(file) for file in files.values() if file)
        raise HostError(f"{names} can't be used as certificates ({error})", _HOW) from None


def refuse_others(name: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """HostError where a worker has another Python or distributed than this machine: Dask pickles
    what it sends (dask/distributed#7017, #6113)."""
    for package, parts in (("python", 2), ("distributed", None)):
        here, there = (".".join(end[package].split(".")[:parts]) for end in (ours, theirs))
        if here != there:
            raise HostError(
                f"the worker {name} has {package} {there}, and this machine has {here}",
                "install the same there",
            )


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

    command = starter_command("app", "worker", "--stdio", *dask.config.get(_ARGUMENTS, ()))
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
    address = checked_address(options.address, options.insecure_cluster)
    tls = "distributed.comm.tls"
    given = {
        _ARGUMENTS: host_arguments,
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
    # Without a limit of memory it never pauses: a measuring process has its own.
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
