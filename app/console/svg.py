"""What our pictures share: a document of plots one above the other, and text in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from app.results.plain import printable

WIDTH = 800
_COLOURS = ("#1f5f99", "#b3261e", "#1b7f3b", "#8a5a00", "#6a3d9a", "#444444")


def document(panels: Sequence[Iterable[str]], panel_height: int) -> str:
    """An SVG document of so many panels, each as high and drawn from its own upper left corner."""
    height = panel_height * len(panels)
    return "\n".join([*_parts(panels, panel_height, height), "</svg>"]) + "\n"


def text(x: float, y: float, told: str, more: str = "") -> str:
    """An element at so many pixels from the upper left corner, with `more` attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escaped(told)}</text>'


def colour_of(number: int) -> str:
    """That of the curve or group with this number; of very many some have the same."""
    return _COLOURS[number % len(_COLOURS)]


def escaped(told: str) -> str:
    """For the text of an element; of control characters XML has hardly any form."""
    return escape(printable(told))


def _parts(panels: Sequence[Iterable[str]], panel_height: int, height: int) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">'
    )
    yield f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    for place, panel in enumerate(panels):
        yield f'<g transform="translate(0 {place * panel_height})">'
        yield from panel
        yield "</g>"
