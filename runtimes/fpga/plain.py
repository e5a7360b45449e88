"""Names of a graph as text: what would steer a terminal, or no XML may hold, is spelled."""

from __future__ import annotations


def plain(name: str) -> str:
    r"""`a\x1b[2J` for a name that would clear a screen; others as they are."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)
