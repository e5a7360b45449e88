"""Files of a run folder, opened: what is no file is told at once, whoever made the folder.

A pipe in the place of one would keep a reader waiting for ever, and a device has no end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exporters.regular import open_file, read_file

__all__ = ["lies_within", "open_file", "read_file", "read_json"]


def read_json(path: Path) -> Any:
    """The value in it; OSError, ValueError also for one that is nested deeper than any of ours."""
    return json_of(read_file(path))


def json_of(text: bytes) -> Any:
    """The value of a file's text; ValueError likewise."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def lies_within(folder: Path, path: Path) -> bool:
    """Whether a file is there and in the folder: a link that leads out of it is none of its own."""
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())
