"""Pictures of a study: points over a logarithmic axis, joined or not, one plot below the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.console.svg import WIDTH, colour_of, document, escaped
from app.console.svg import text as svg_text
from app.console.svg_scale import LinearScale, LogScale, Scale, grid

_LEFT, _RIGHT, _TITLE, _PLOT, _BELOW = 80, 200, 44, 300, 52
_PANEL = _TITLE + _PLOT + _BELOW
_LINE = 16
_DASHES = ("", "5 3", "1 3", "8 3 1 3")
_COLOURS = 6


@dataclass(frozen=True, slots=True)
class Curve:
    """`points` are (x, y, what the point is called), ascending in x where they are `joined`."""

    name: str
    points: tuple[tuple[float, float, str], ...]
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Plot:
    """x is logarithmic; y too, unless it is `linear`. Only curves with points are drawn."""

    title: str
    x_title: str
    curves: tuple[Curve, ...]
    x_text: Callable[[float], str]
    y_text: Callable[[float], str]
    linear: bool = False

    @property
    def points(self) -> list[tuple[float, float, str]]:
        return [point for curve in self.curves for point in curve.points]


def drawn(pictures: Mapping[str, Sequence[Plot]]) -> dict[str, bytes]:
    """SVG documents by their names, of plots that have two points or more; a name without any is
    left out."""
    documents = {}
    for name, plots in pictures.items():
        shown = [plot for plot in plots if len({point[:2] for point in plot.points}) > 1]
        if shown:
            panels = [_panel(plot) for plot in shown]
            documents[name] = document(panels, _PANEL).encode()
    return documents


def _panel(plot: Plot) -> Iterator[str]:
    x = LogScale(*_apart([point[0] for point in plot.points]), _LEFT, WIDTH - _RIGHT)
    y = _upright(plot)
    yield svg_text(10, 18, plot.title, 'font-weight="bold"')
    middle = (x.begin + x.end) / 2
    yield svg_text(middle, y.begin + 38, plot.x_title, 'text-anchor="middle"')
    yield from grid(x, y, plot.x_text, plot.y_text)
    told = [curve for curve in plot.curves if curve.points]
    for number, curve in enumerate(told):
        colour, dashes = colour_of(number), _DASHES[number // _COLOURS % len(_DASHES)]
        places = [(x(at), y(value), name) for at, value, name in curve.points]
        if curve.joined:
            line = " ".join(f"{across:.1f},{up:.1f}" for across, up, _ in places)
            yield (
                f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5" '
                f'stroke-dasharray="{dashes or "none"}"/>'
            )
        for across, up, name in places:
            yield f'<circle cx="{across:.1f}" cy="{up:.1f}" r="3.5" fill="{colour}">'
            yield f"<title>{escaped(name)}</title></circle>"
        place = _TITLE + 8 + _LINE * number
        yield svg_text(WIDTH - _RIGHT + 12, place, curve.name, f'fill="{colour}"')


def _upright(plot: Plot) -> Scale:
    values = [point[1] for point in plot.points]
    bottom = float(_TITLE + _PLOT)
    if not plot.linear:
        return LogScale(*_apart(values), bottom, _TITLE)
    room = 0.05 * (max(values) - min(values)) or 0.5
    return LinearScale(min(values) - room, max(values) + room, bottom, _TITLE)


def _apart(values: Sequence[float]) -> tuple[float, float]:
    """Both ends with some room beyond them."""
    return min(values) / 1.2, max(values) * 1.2
