"""How every worker process talks: one job line in, event lines out, the result as the last one.

Engines that print are sent to standard error; what was the process's standard output carries
events alone. A further line, or the end of the input, asks the process to end early.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from app.workers.memory import peak_rss_mb
from exporters.codec import object_of, to_json
from exporters.talk import belong_to_parent


def serve(answer: Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], Any]) -> int:
    """Read one job line, send what `answer` tells as events, and its result as the last one, with
    the most memory that the process has held."""
    belong_to_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's to handle
    events = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    if not line.strip():
        sys.stderr.write("this process reads one job from standard input\n")
        return 2
    result = answer(json.loads(line), lambda event: _tell(events, event))
    _tell(events, {"event": "result", "rss_peak_mb": peak_rss_mb(), **to_json(result)})
    # Engines' exit handlers can crash or hang after all is said; nothing is left to flush.
    sys.stderr.flush()
    os._exit(0)


def next_message() -> dict[str, Any]:
    """What the parent sends next, once it does; empty for a request to stop."""
    return object_of(sys.stdin.buffer.readline().decode())


class StopRequest:
    """True once the parent wrote a line or closed our input; asked only between blocks."""

    def __init__(self) -> None:
        self._heard = False

    def __call__(self) -> bool:
        if not self._heard:
            readable, _, _ = select.select([0], [], [], 0)
            self._heard = bool(readable)
        return self._heard


def _tell(events: BinaryIO, event: dict[str, Any]) -> None:
    try:
        events.write(json.dumps(event).encode() + b"\n")
    except BrokenPipeError:
        os._exit(1)
