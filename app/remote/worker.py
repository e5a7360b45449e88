"""`graphlap worker`: this machine as a host of a cluster, by its agent on standard streams."""

from __future__ import annotations

import argparse
import os
import select
import sys
import time
from collections.abc import Iterator, Sequence
from threading import Event, Lock, Thread
from typing import Any, BinaryIO, cast

from app.cases.errors import PlanError
from app.cases.flag_parser import FlagParser
from app.machine.environment import graphlap_version
from app.machine.placement import listed
from app.remote.agent import Agent
from app.remote.contract import PROTOCOL, CarrierError, HostJob, Lost, Message
from app.remote.wire import (
    BEAT,
    BEAT_S,
    GREETING,
    SILENCE_S,
    Frames,
    files_read,
    frame_of,
    job_read,
    message_frame,
    write_whole,
)
from exporters import install_layout
from exporters.codec import to_json
from exporters.types import GraphlapError, InvalidValue

_READ_BYTES = 1 << 20


def serve(agent: Agent, silence_s: float = SILENCE_S) -> int:
    """Until the carrier is gone; returns the exit code."""
    descriptor, replies = os.dup(0), _Replies(os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    end_event = Event()
    Thread(target=_beat, args=(replies, end_event), daemon=True).start()
    try:
        replies.send({GREETING: graphlap_version(), "protocol": PROTOCOL})
        for values, data in _read_frames(descriptor, silence_s):
            _heed(agent, replies, values, data)
    except BrokenPipeError:
        pass  # the carrier is gone, which is an end like any other
    finally:
        end_event.set()
        agent.close()
    return 0


class _Replies:
    """Whole messages, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._file = cast(BinaryIO, os.fdopen(descriptor, "wb", buffering=0))
        self._lock = Lock()

    def send(self, values: dict[str, Any]) -> None:
        self.write(frame_of(values))

    def write(self, frame: tuple[bytes, ...]) -> None:
        with self._lock:
            write_whole(self._file, *frame)


def _beat(replies: _Replies, end_event: Event) -> None:
    while not end_event.wait(BEAT_S):
        try:
            replies.send(BEAT)
        except OSError:
            return


def _read_frames(descriptor: int, silence_s: float) -> Iterator[tuple[dict[str, Any], bytes]]:
    """What is asked, until the end of it or a silence that is too long."""
    frames = Frames()
    heard_s = time.monotonic()
    while time.monotonic() - heard_s < silence_s:
        if not select.select([descriptor], [], [], BEAT_S)[0]:
            continue
        data = os.read(descriptor, _READ_BYTES)
        if not data:
            return
        heard_s = time.monotonic()
        yield from frames.take(data)
    sys.stderr.write(f"graphlap worker: no message for {silence_s:g} s\n")


def _heed(agent: Agent, replies: _Replies, values: dict[str, Any], data: bytes) -> None:
    number = values.get("n")
    if number is None:
        return  # a beat
    try:
        answer = _answer(agent, replies, values, data)
    except GraphlapError as error:
        replies.send({"n": number, "fault": error.cause, "remedy": error.remedy})
    except Exception as error:  # whatever it is, the sweep is to hear of it and go on
        fault = f"its agent failed with {type(error).__name__}: {error}"
        replies.send({"n": number, "fault": fault, "remedy": "see graphlap doctor there"})
    else:
        replies.send({"n": number, "answer": answer})


def _answer(agent: Agent, replies: _Replies, values: dict[str, Any], data: bytes) -> Any:
    match values:
        case {"ask": "doctor"}:
            return to_json(agent.doctor())
        case {"ask": "lacks", "files": files}:
            return list(agent.lacks(files_read(files)))
        case {"ask": "keep", "sha256": str(sha256), "offset": int(offset), "size_bytes": int(size)}:
            return agent.keep(sha256, offset, data, size)
        case {"ask": "run", "job": job}:
            Thread(target=_run, args=(agent, replies, job_read(job)), daemon=True).start()
            return None
        case {"ask": "cancel", "id": str(job_id), "how": "stop" | "terminate" | "kill" as how}:
            return agent.cancel(job_id, how)
    raise CarrierError("a request can't be understood", "use the same Graphlap on both sides")


def _run(agent: Agent, replies: _Replies, job: HostJob) -> None:
    def hear(message: Message) -> None:
        replies.write(message_frame(job.id, message))

    try:
        try:
            agent.run(job, hear)
        except GraphlapError as error:
            hear(Lost(str(error)))
        except Exception as error:  # the job is lost, and its sweep goes on elsewhere
            hear(Lost(f"its agent failed with {type(error).__name__}: {error}"))
    except OSError:
        return  # the carrier is gone; whoever reads its requests ends us


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whom to serve: a scheduler of Dask's at an address, or with `--stdio` who started this."""
    parser.add_argument(
        "address", nargs="?", metavar="ADDRESS", help="a Dask scheduler: tls://HOST:8786"
    )
    add = parser.add_argument
    add("--stdio", action="store_true", help="serve who started this, as --cluster ssh:HOST does")
    add("--cores", metavar="N,…", help="what to measure on, such as 2,3 or 2-5 (all)")
    add(
        "--machine",
        metavar="NAME",
        default="",
        help="workers of one machine take turns; one with a name of its own does not",
    )
    scheduler = parser.add_argument_group("with an address")
    add = scheduler.add_argument
    add("--name", metavar="NAME", help="what rows call this machine (its own name)")
    add("--tls-ca-file", metavar="FILE", help="the authority that signed all certificates")
    add("--tls-cert", metavar="FILE", help="this machine's certificate")
    add("--tls-key", metavar="FILE", help="its key, if it is not in the same file")
    add("--insecure-cluster", action="store_true", help="a plain tcp:// address elsewhere")
    scheduler.description = "Without these files the certificates of Dask's configuration are used."


_SCHEDULER_OPTIONS = ("name", "tls_ca_file", "tls_cert", "tls_key", "insecure_cluster")
"""Options that mean nothing on standard streams."""


def run(options: argparse.Namespace) -> int:
    """Serve until the carrier or the scheduler is gone; returns the exit code."""
    if options.stdio == (options.address is not None):
        problem = "has two" if options.stdio else "needs one"
        raise PlanError(
            f"graphlap worker {problem} of a scheduler's address and --stdio",
            "Give tls://SCHEDULER:8786, or --stdio",
        )
    if options.address is not None:
        return _serve_scheduler(options)
    if unread := next((key for key in _SCHEDULER_OPTIONS if getattr(options, key)), ""):
        flag = f"--{unread.replace('_', '-')}"
        raise PlanError(f"{flag}: --stdio has no scheduler", f"Remove {flag}, or --stdio")
    return serve(Agent(cores=cores_of(options), machine=options.machine))


def cores_of(options: argparse.Namespace) -> tuple[int, ...]:
    """The cores that rounds may run on, () for all; PlanError for what is no list of cores."""
    if options.cores is None:
        return ()
    try:
        return listed(options.cores)
    except InvalidValue as error:
        cause = f"--cores {options.cores!r} {error.cause}"
        raise PlanError(cause, error.remedy, "--cores") from None


def parser() -> argparse.ArgumentParser:
    """The arguments of a process that is started as this module."""
    top = FlagParser(prog=f"{install_layout.PROGRAM} worker", allow_abbrev=False)
    add_arguments(top)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve as the arguments say; returns the exit code."""
    return run(parser().parse_args(arguments))


def _serve_scheduler(options: argparse.Namespace) -> int:
    try:
        code: int = install_layout.load("app.remote.dask_cluster.worker:main")(options)
    except ModuleNotFoundError as error:
        raise CarrierError(
            f"a scheduler's worker needs {error.name}, not installed here",
            "pip install 'graphlap[cluster]'",
        ) from None
    return code


if __name__ == "__main__":
    sys.exit(main())
