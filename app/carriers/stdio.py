"""An agent on standard input and output: `graphlap worker --stdio`, which a carrier starts.

Its output carries messages alone: what anything here prints goes where errors go. It ends with its
input, and where the other side has been silent for too long, and takes its job with it.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from threading import Event, Lock, Thread
from typing import Any, BinaryIO, cast

from app.carriers.agent import Agent
from app.carriers.contract import PROTOCOL, CarrierError, HostJob, Lost, Message
from app.carriers.wire import (
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
from app.machine.environment import graphlap_version
from exporters.codec import to_json
from exporters.types import GraphlapError

_READ_BYTES = 1 << 20


def serve(agent: Agent, silence_s: float = SILENCE_S) -> int:
    """Until the carrier is gone; returns the exit code."""
    descriptor, replies = os.dup(0), _Replies(os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    over = Event()
    Thread(target=_beat, args=(replies, over), daemon=True).start()
    try:
        replies.send({GREETING: graphlap_version(), "protocol": PROTOCOL})
        for values, data in _heard(descriptor, silence_s):
            _heed(agent, replies, values, data)
    except BrokenPipeError:
        pass  # the carrier is gone, which is an end like any other
    finally:
        over.set()
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


def _beat(replies: _Replies, over: Event) -> None:
    while not over.wait(BEAT_S):
        try:
            replies.send(BEAT)
        except OSError:
            return


def _heard(descriptor: int, silence_s: float) -> Iterator[tuple[dict[str, Any], bytes]]:
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
