"""What crosses between a carrier and an agent on a pair of pipes: JSON lines, blocks as base64.

The agent greets first. A request has a number `n` and is answered by it; what comes of a job goes
by the job's id. Either side beats while it has nothing to say, so that a way that was cut is
noticed: no message at all for `SILENCE_S` is the end of it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from app.carriers.contract import (
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
from app.cases.reading import Reading
from exporters.codec import CodecError, from_json, to_json

BEAT_S, SILENCE_S = 2.0, 15.0
BEAT = {"beat": True}
GREETING = "graphlap_agent"
_SAME = "use the same Graphlap on both sides"


def line_of(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode("ascii") + b"\n"


def values_of(line: bytes) -> dict[str, Any]:
    """One line's object; {} for anything else, such as what a login shell prints."""
    try:
        values = json.loads(line)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def files_written(files: tuple[HostFile, ...]) -> list[dict[str, Any]]:
    """Without where they lie, which means something on one machine alone."""
    return [{"sha256": one.sha256, "size_bytes": one.size_bytes, "name": one.name} for one in files]


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
        )
    except (KeyError, TypeError, ValueError):
        raise CarrierError("a job can't be understood", _SAME) from None


def message_written(job_id: str, message: Message) -> dict[str, Any]:
    match message:
        case Said(line):
            return {"of": job_id, "said": line}
        case Block(offset, data):
            return {"of": job_id, "offset": offset, "block": b64encode(data).decode("ascii")}
        case Told(readings):
            return {"of": job_id, "told": to_json(readings)}
        case Ended():
            return {"of": job_id, "ended": to_json(message)}
        case Lost(reason):
            return {"of": job_id, "lost": reason}


def message_read(values: dict[str, Any]) -> Message:
    """CarrierError for what is none."""
    try:
        match values:
            case {"said": line}:
                return Said(str(line))
            case {"offset": offset, "block": block}:
                return Block(int(offset), b64decode(block, validate=True))
            case {"told": readings}:
                return Told(tuple(from_json(Reading, one) for one in readings))
            case {"ended": ended}:
                return from_json(Ended, ended)
            case {"lost": reason}:
                return Lost(str(reason))
    except (CodecError, TypeError, ValueError):
        pass
    raise CarrierError("a message can't be understood", _SAME)
