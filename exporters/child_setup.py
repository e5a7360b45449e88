"""Setup of a child process: it belongs to its parent, and its pipes to our requests and replies.

A child ends with its parent, however that ends, and is the first to be ended where memory is short.
Libraries and a user's own file print to standard output, C ones to its descriptor, and may read
standard input: requests and replies therefore have descriptors of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from exporters import install_layout

_PR_SET_PDEATHSIG = 1


def requests_and_replies() -> tuple[TextIO, Callable[[Any], None]]:
    """What arrives on standard input, and how to write one JSON value to standard output.

    From then on standard input is empty, and standard output goes where errors go.
    """
    belong_to_parent()
    source, target = taken_streams()
    requests = os.fdopen(source, "r", encoding="utf-8")
    replies = os.fdopen(target, "w", encoding="utf-8")

    def reply(value: Any) -> None:
        # Whatever else was written to our descriptor ends with its own line.
        replies.write(f"\n{json.dumps(value)}\n")
        replies.flush()

    return requests, reply


def taken_streams() -> tuple[int, int]:
    """Descriptors of what standard input and output were: from then on the former is empty, and the
    latter goes where errors go."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target


def belong_to_parent() -> None:
    """Ask Linux to end this process with its parent, and before others where memory is short.

    Elsewhere the end of its input ends it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = str(os.getppid())
        if os.environ.get(install_layout.PARENT, parent) != parent:  # it died before that was asked
            os._exit(1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
