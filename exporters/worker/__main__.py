"""The export process: `python -m exporters.worker`, JSON lines as `exporters.request` says.

It stands alone so that torch is imported here and nowhere near the window or the batch
parent. A failure of any kind is one reply; only the end of its input ends it.
"""

from __future__ import annotations

import json
import os
import time

from exporters.codec import from_json, to_json
from exporters.request import ExportReply, ExportRequest
from exporters.talk import requests_and_replies
from exporters.types import GraphlapError
from exporters.worker.export import export


def answer(line: str, holder: int) -> ExportReply:
    """The reply to one request line; what it names is kept until the process `holder` ends."""
    started = time.perf_counter()
    try:
        model, cached = export(from_json(ExportRequest, json.loads(line)), holder)
    except GraphlapError as error:
        return ExportReply(error.status or "export_failed", reason=str(error))
    except Exception as error:
        text = str(error).strip().splitlines()
        reason = f"the export failed with {type(error).__name__}: {text[0] if text else 'no words'}"
        return ExportReply("export_failed", reason=reason)
    milliseconds = (time.perf_counter() - started) * 1e3
    return ExportReply("ok", model, cached=cached, export_ms=milliseconds)


def main() -> None:
    """Serve until standard input ends."""
    requests, reply = requests_and_replies()
    # The parent runs the plan, and reads the files after this process has been replaced.
    parent = os.getppid()
    for line in requests:
        reply(to_json(answer(line, parent)))


if __name__ == "__main__":
    main()
