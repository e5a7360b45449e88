"""Names and messages of others as text that harms nobody: on a terminal, in a table, in a file.

A file's name may hold any byte but two, a message whatever a graph's nodes are called. The
manifest and the journal keep both exactly, as JSON; here is decided how all else shows them.
"""

from __future__ import annotations

from collections.abc import Callable

_BYTE = range(0xDC80, 0xDD00)
"""What Python makes of a byte of a name that is no UTF-8."""


def printable(text: str) -> str:
    r"""For a terminal or a window: what would steer it, or not show, is spelled: `\x1b`."""
    return text if text.isprintable() else _spelled(text, str.isprintable)


def one_line(text: str) -> str:
    """The same of a sentence, which may have come in several lines."""
    return printable(" ".join(text.split()))


def storable(text: str) -> str:
    r"""For a file in UTF-8: only what that can't carry, or no reader takes, is spelled: `\xff`."""
    return _spelled(text, _is_storable) if "\0" in text or not _encodes(text) else text


def _spelled(text: str, kept: Callable[[str], bool]) -> str:
    return "".join(char if kept(char) else _escape(char) for char in text)


def _escape(char: str) -> str:
    code = ord(char)
    if code in _BYTE:
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def _is_storable(char: str) -> bool:
    return char != "\0" and _encodes(char)


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
