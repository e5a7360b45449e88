"""Cells of several values, such as the releases of an engine: each once, joined by semicolons."""

from __future__ import annotations

from collections.abc import Iterable

_BETWEEN = "; "


def joined(values: Iterable[str]) -> str | None:
    """The cell of these values, in order of appearance; None if there are none."""
    plain = (value.replace(_BETWEEN, ", ") for value in values if value)
    return _BETWEEN.join(dict.fromkeys(plain)) or None
