"""The export process: `python -m exporters.worker`, JSON lines as `exporters.messages` says.

It stands alone so that torch is imported here and nowhere near the window or the batch
parent. A failure of any kind is one reply; only the end of its input ends it.
"""

from __future__ import annotations

import errno
import json
import os
import time

from exporters.cache import default_root
from exporters.codec import from_json, to_json
from exporters.install_layout import requests_and_replies
from exporters.messages import ExportReply, ExportRequest
from exporters.types import GraphlapError, causes, first_line, is_of_system
from exporters.worker import export


def answer(line: str, holder: int) -> ExportReply:
    """The reply to one request line; what it names is kept until the process `holder` ends."""
    start_time = time.perf_counter()
    try:
        model, is_cached = export(from_json(ExportRequest, json.loads(line)), holder)
    except Exception as error:
        return _failed(error)
    milliseconds = (time.perf_counter() - start_time) * 1e3
    return ExportReply("ok", model, cached=is_cached, export_ms=milliseconds)


_NO_MEMORY = (
    "the export needs more memory than this machine has: use smaller sizes or a smaller model"
)


def _ran_out_of_memory(error: Exception) -> bool:
    """Whether a want of memory is behind an error, Python's own or that of a library in C++."""
    return any(
        isinstance(cause, MemoryError) or "std::bad_alloc" in str(cause) for cause in causes(error)
    )


def _failed(error: Exception) -> ExportReply:
    if _disk_is_full(error):
        reason = f"there is no space left for the export cache {default_root()}"
        remedy = "free some, or set GRAPHLAP_CACHE to a folder on another disk, then resume the run"
        return ExportReply("cancelled", reason=f"{reason}: {remedy}")
    if _ran_out_of_memory(error):
        cause = str(error) if isinstance(error, GraphlapError) else _NO_MEMORY
        return ExportReply("out_of_memory", reason=cause)
    transient = is_of_system(error)
    if isinstance(error, GraphlapError):
        return ExportReply(error.status or "export_failed", reason=str(error), transient=transient)
    reason = f"the export failed with {type(error).__name__}: {first_line(error)}"
    remedy = "check the model, or report this as a fault of Graphlap's"
    if transient:
        remedy = "put right what the system names, then resume the run"
    return ExportReply("export_failed", reason=f"{reason}: {remedy}", transient=transient)


def _disk_is_full(error: Exception) -> bool:
    """Whether this error, or one that led to it, is a disk's that took no more."""
    full = (errno.ENOSPC, errno.EDQUOT)
    return any(isinstance(cause, OSError) and cause.errno in full for cause in causes(error))


def main() -> None:
    """Serve until standard input ends."""
    requests, reply = requests_and_replies()
    # The parent runs the plan, and reads the files after this process has been replaced.
    parent = os.getppid()
    for line in requests:
        reply(to_json(answer(line, parent)))


if __name__ == "__main__":
    main()
