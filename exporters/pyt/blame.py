"""Where in the user's own source an export failed: by torch's frames and by its words."""

from __future__ import annotations

import linecache
import re
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_OURS = Path(__file__).parents[1]
_EXPORTING = ("torch", "onnxscript", "onnx", "onnx_ir")
"""Packages whose own lines tell a user nothing."""


def where_of_user(error: BaseException) -> str:
    """` at FILE:LINE, SOURCE` of the innermost line that is neither torch's nor ours, or ''."""
    found = [place for place in _places(error) if _is_users(place[0])]
    if not found:
        return ""
    file, line = found[-1]
    source = linecache.getline(file, line).strip()
    return f" at {Path(file).name}:{line}{f', {source}' if source else ''}"


def _places(error: BaseException) -> Iterator[tuple[str, int]]:
    """Frames of the error and of those that led to it, and those that their texts quote."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        for frame in traceback.extract_tb(current.__traceback__):
            yield frame.filename, frame.lineno or 0
        for match in _FRAME.finditer(str(current)):
            yield match["file"], int(match["line"])
        current = current.__cause__ or current.__context__


def _is_users(file: str) -> bool:
    path = Path(file)
    if not path.is_file() or path.is_relative_to(_OURS):
        return False
    if path.is_relative_to(sysconfig.get_paths()["stdlib"]) and "site-packages" not in path.parts:
        return False
    return not any(package in path.parts for package in _EXPORTING)
