"""How agent and sweep speak through Dask: each question by its name, values as JSON, samples as
bytes.

Nothing of ours is pickled, so that a scheduler needs no Graphlap, and a checkout understands a
wheel. Dask's own messages make tuples of lists, so JSON crosses as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.carriers.contract import Block, HostFile, HostJob, Message
from app.carriers.wire import (
    files_read,
    files_written,
    job_read,
    job_written,
    message_read,
    message_written,
)
from exporters.codec import object_of

PREFIX = "graphlap-"
"""Of the names of our questions among those that a Dask worker answers."""


def packed(message: Message) -> dict[str, Any]:
    """What Dask takes: texts, numbers and bytes."""
    if isinstance(message, Block):
        return {"offset": message.offset, "data": message.data}
    return {"told": json.dumps(message_written(message))}


def unpacked(values: dict[str, Any]) -> Message:
    """The message back; CarrierError for what is none."""
    if "data" in values:
        return Block(int(values["offset"]), bytes(values["data"]))
    return message_read(object_of(str(values["told"])))


def packed_job(job: HostJob) -> str:
    """All of it but where its files lie here."""
    return json.dumps(job_written(job))


def unpacked_job(text: str) -> HostJob:
    return job_read(object_of(text))


def packed_files(files: Sequence[HostFile]) -> str:
    return json.dumps(files_written(tuple(files)))


def unpacked_files(text: str) -> tuple[HostFile, ...]:
    return files_read(json.loads(text))
