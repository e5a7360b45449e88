"""Text in lines of a terminal, counted in columns: some characters take two, some none."""

from __future__ import annotations

from unicodedata import category, east_asian_width

from app.results.plain import printable

_WIDE = ("W", "F")
_MARKS = ("Mn", "Me", "Cf")
"""Combining marks and format characters, which take no column of their own."""


def width_of_text(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def filled(text: str, width: int, first: str = "", other: str = "") -> list[str]:
    """The words of a text in lines of at most so many columns; a longer word is broken.

    The first line begins with `first`, the others with `other`. What a terminal would act on is
    shown as escapes.
    """
    lines: list[str] = []
    line, begun = first, False
    for word in printable(text).split(" "):
        if begun and width_of_text(line) + 1 + width_of_text(word) <= width:
            line = f"{line} {word}"
            continue
        if begun:
            lines.append(line)
            line = other
        *whole, last = _broken(word, max(1, width - width_of_text(line)))
        for part in whole:
            lines.append(line + part)
            line = other
        line, begun = line + last, True
    return [*lines, line] if begun else lines


def _broken(word: str, width: int) -> list[str]:
    """The word in parts of at most so many columns."""
    parts = [""]
    room = width
    for character in word:
        taken = _columns(character)
        if taken > room and parts[-1]:
            parts.append("")
            room = width
        parts[-1] += character
        room -= taken
    return parts


def _columns(character: str) -> int:
    if category(character) in _MARKS:
        return 0
    return 2 if east_asian_width(character) in _WIDE else 1
