"""Figures of a study as files beside its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.present.figure import Figure, Kind, Mark, Series, Symbol
from app.present.svg import FILE_LOOK, svg_document

Points = tuple[tuple[float, float, str], ...]
"""(x, y, what the point is), ascending in x where they are joined."""
_COLORS = len(FILE_LOOK.colors)
_SYMBOLS: tuple[Symbol, ...] = ("circle", "diamond")


def series_of(points: Mapping[str, Points], kind: Kind = "line") -> tuple[Series, ...]:
    """A series for each name that has points, each with another colour, or other dashes and
    another symbol."""
    known = [(name, places) for name, places in points.items() if places]
    return tuple(
        Series(
            name,
            tuple(Mark(x, y, text) for x, y, text in places),
            kind,
            number % _COLORS,
            number // _COLORS,
            _SYMBOLS[number // _COLORS % len(_SYMBOLS)],
        )
        for number, (name, places) in enumerate(known)
    )


def picture_files(pictures: Mapping[str, Sequence[Figure]]) -> dict[str, bytes]:
    """Files by their names, of figures with two places or more; a name without any is left out."""
    found = {}
    for name, figures in pictures.items():
        shown = [one for one in figures if len({(mark.x, mark.y) for mark in one.marks}) > 1]
        if shown:
            found[name] = svg_document(shown)
    return found
