"""What crosses between a carrier and an agent on a pair of pipes: JSON lines, blocks as bytes.

A line that names `bytes` is followed by that many, which are samples or a part of a file. The
agent greets first. A request has a number `n` and is answered by it; what comes of a job goes
by the job's id. Either side beats while it has nothing to say, so that a way that was cut is
noticed: no message at all for `SILENCE_S` is the end of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from app.cases.telemetry import Reading
from app.remote.contract import (
    BLOCK_BYTES,
    Block,
    CarrierError,
    Ended,
    HostFile,
    HostJob,
    Lost,
    Message,
    Said,
    Told,
)
from exporters.codec import CodecError, from_json, object_of, to_json

BEAT_S, SILENCE_S = 2.0, 15.0
BEAT = {"beat": True}
GREETING = "graphlap_agent"
LONGEST_LINE_BYTES = 256 * 2**20
"""What is longer is none of ours: a worker's line may have half of it, and is quoted in one."""
_SAME = "use the same Graphlap on both sides"


def frame_of(values: dict[str, Any], data: bytes = b"") -> tuple[bytes, ...]:
    """What is to be written, piece after piece."""
    if not data:
        return (json.dumps(values).encode("ascii") + b"\n",)
    return json.dumps({**values, "bytes": len(data)}).encode("ascii") + b"\n", data


def write_whole(file: IO[bytes], *pieces: bytes) -> None:
    """All pieces, to a file that may take less at a time; OSError."""
    for piece in pieces:
        left = memoryview(piece)
        while left:
            left = left[file.write(left) :]


class Frames:
    """Cuts what arrives, in pieces of any size, into objects and the bytes that follow them.

    What is no JSON object, such as what a login shell prints, is passed over.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._search_start = 0
        self._values: dict[str, Any] = {}
        self._body_size = 0

    def take(self, data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """All that is whole by now; CarrierError for a block or a line that is larger than one may
        be: what a host says without an end must not fill this machine."""
        self._buffer += data
        while True:
            if self._body_size:
                if len(self._buffer) < self._body_size:
                    return
                yield self._values, self._cut(self._body_size)
                self._body_size = 0
            end = self._buffer.find(b"\n", self._search_start)
            if end < 0:
                self._search_start = len(self._buffer)
                if self._search_start > LONGEST_LINE_BYTES:
                    raise CarrierError("a line is longer than one may be", _SAME)
                return
            values = object_of(self._cut(end + 1))
            self._body_size = _size(values)
            if self._body_size:
                self._values = values
            elif values:
                yield values, b""

    def _cut(self, size: int) -> bytes:
        with memoryview(self._buffer) as view:
            piece = bytes(view[:size])
        del self._buffer[:size]
        self._search_start = 0
        return piece


def _size(values: dict[str, Any]) -> int:
    size = values.get("bytes", 0)
    if type(size) is not int or not 0 <= size <= BLOCK_BYTES:
        raise CarrierError("a block is larger than one may be", _SAME)
    return size


def files_written(files: tuple[HostFile, ...]) -> list[dict[str, Any]]:
    """Without where they lie, which means something on one machine alone."""
    return [
        {"sha256": file.sha256, "size_bytes": file.size_bytes, "name": file.name} for file in files
    ]


def files_read(values: Any) -> tuple[HostFile, ...]:
    """CarrierError for what are no files."""
    try:
        return tuple(
            HostFile(str(v["sha256"]), int(v["size_bytes"]), str(v["name"]), Path()) for v in values
        )
    except (KeyError, TypeError, ValueError):
        raise CarrierError("a list of files can't be understood", _SAME) from None


def job_written(job: HostJob) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "line": job.line,
        "files": files_written(job.files),
        "environment": job.environment,
        "memory_limit_bytes": job.memory_limit_bytes,
        "gpus": list(job.gpus),
        "samples": job.samples,
        "limit_s": job.limit_s,
    }


def job_read(values: Any) -> HostJob:
    """CarrierError for what is no job."""
    try:
        return HostJob(
            id=str(values["id"]),
            kind=str(values["kind"]),
            line=str(values["line"]),
            files=files_read(values["files"]),
            environment=str(values["environment"]),
            memory_limit_bytes=int(values["memory_limit_bytes"]),
            gpus=tuple(int(gpu) for gpu in values["gpus"]),
            samples=bool(values["samples"]),
            limit_s=float(values.get("limit_s", 0.0)),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CarrierError("a job can't be understood", _SAME) from None


def message_frame(job_id: str, message: Message) -> tuple[bytes, ...]:
    """As it crosses on a pipe: a block's samples follow its line."""
    if isinstance(message, Block):
        return frame_of({"of": job_id, "offset": message.offset}, message.data)
    return frame_of({"of": job_id, **message_written(message)})


def message_written(message: Said | Told | Ended | Lost) -> dict[str, Any]:
    match message:
        case Said(line):
            return {"said": line}
        case Told(readings):
            return {"told": to_json(readings)}
        case Ended():
            return {"ended": to_json(message)}
        case Lost(reason):
            return {"lost": reason}


def message_read(values: dict[str, Any], data: bytes = b"") -> Message:
    """Of a line, and of the bytes that followed it; CarrierError for what is none."""
    try:
        match values:
            case {"said": line}:
                return Said(str(line))
            case {"offset": offset}:
                return Block(int(offset), data)
            case {"told": readings}:
                return Told(tuple(from_json(Reading, reading, finite=True) for reading in readings))
            case {"ended": end_values}:
                return from_json(Ended, end_values)
            case {"lost": reason}:
                return Lost(str(reason))
    except (CodecError, TypeError, ValueError):
        pass
    raise CarrierError("a message can't be understood", _SAME)
