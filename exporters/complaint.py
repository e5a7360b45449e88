"""What another library complains of, short enough to stand in a sentence of ours."""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def first_line(error: Exception) -> str:
    """The first line of an error's text without colours, its type's name where it has none."""
    text = _COLOURS.sub("", str(error)).strip()
    return text.splitlines()[0] if text else type(error).__name__


def deepest(error: Exception) -> Exception:
    """The error that began it, where others are wrapped around it."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error
