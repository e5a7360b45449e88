"""JSON files of a run folder, and whether a file lies within it, whoever made the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from exporters.regular import read_file


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
