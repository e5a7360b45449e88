"""What another library complains of, short enough to stand in a sentence of ours."""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def first_line(error: BaseException) -> str:
    """The first line of an error's text without colours, its type's name where it has none.

    A line that ends with a colon says nothing without the next one, which is joined to it.
    """
    if isinstance(error, UnicodeError):  # what it says is of bytes and positions
        return "a name in it is no text"
    return _begun(error) or type(error).__name__


def named(error: BaseException) -> str:
    """`ValueError: the first line`, of an error that nobody foresaw."""
    told = _begun(error)
    return f"{type(error).__name__}: {told}" if told else type(error).__name__


def deepest(error: Exception) -> Exception:
    """The error that began it, where others are wrapped around it."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def is_of_system(error: BaseException | None) -> bool:
    """Whether the operating system refused something that led to this error: a file that is not
    there, a descriptor too many, no memory for a process."""
    while error is not None:
        if isinstance(error, OSError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _begun(error: BaseException) -> str:
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    told = lines[0] if lines else ""
    for line in lines[1:]:
        if not told.endswith(":"):
            break
        told = f"{told} {line}"
    return told
