"""What another library complains of, short enough to stand in a sentence of ours."""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def first_line(error: Exception) -> str:
    """The first line of an error's text without colours, its type's name where it has none.

    A line that ends with a colon says nothing without the next one, which is joined to it.
    """
    if isinstance(error, UnicodeError):  # what it says is of bytes and positions
        return "a name in it is no text"
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    told = lines[0]
    for line in lines[1:]:
        if not told.endswith(":"):
            break
        told = f"{told} {line}"
    return told


def deepest(error: Exception) -> Exception:
    """The error that began it, where others are wrapped around it."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error
