"""Series -> colours by what differs: a hue for each value of one axis, shades for the rest.

Neighbours stay apart also for those who see fewer colours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtGui import QColor

from app.gui.look.theme import Theme, contrast, runtime_color
from app.gui.look.vision import apart
from app.plot_data.series import Series, facets

RUNTIME = "runtime"
_LEGIBLE = {False: (0.18, 0.62), True: (0.45, 0.9)}
"""The least and the greatest lightness in which text can be read on a light or dark ground."""
_LEAST_CONTRAST = 3.0
"""Beside the ground, as WCAG 2 counts it: a yellow is brighter than a blue of its lightness."""
_APART = 0.06
"""Neighbours are as far apart as `vision.apart` tells where there is such a shade."""
_MORE = 1
_STEPS = 32
_TURN = 0.05
"""Of the circle of hues, for a lightness changed from 0 to 1."""


def series_colors(series: Sequence[Series], theme: Theme, by: str = "") -> dict[str, QColor]:
    """A colour by key: a hue for each value of the facet `by`, or of the one that tells most.

    That is the runtime, whose colours last, where it differs; else the first of which there are as
    few values as hues. Series of one hue are shades of it. Where nothing has so few values, and
    none is asked for, hues take turns.
    """
    chosen = hues(series, theme, by)
    left = {name: _shades(QColor(name), of, theme) for name, of in Counter(chosen).items()}
    begun: set[str] = set()
    colors: dict[str, QColor] = {}
    for place, (one, hue) in enumerate(zip(series, chosen, strict=True)):
        then = "".join(chosen[place + 1 : place + 2])
        beside = list(colors.values())[-1:]
        if hue in begun and then and then not in begun:
            beside.append(QColor(then))
        color = _farthest(left[hue], beside) if hue in begun else left[hue][0]
        left[hue].remove(color)
        begun.add(hue)
        colors[one.key] = color
    return colors


def _farthest(choices: Sequence[QColor], beside: Sequence[QColor]) -> QColor:
    """The first that is far enough from those, else the one that is farthest."""
    distances = [min((apart(one, other) for other in beside), default=1.0) for one in choices]
    enough = next((k for k, distance in enumerate(distances) if distance >= _APART), None)
    return choices[distances.index(max(distances)) if enough is None else enough]


def hues(series: Sequence[Series], theme: Theme, by: str) -> list[str]:
    """The hue of each, of which those that share it are shades."""
    found = facets(series)
    few = (name for name, of in found.items() if len(set(of.values())) <= len(theme.hues))
    chosen = by if by in found else RUNTIME if RUNTIME in found else next(few, "")
    if chosen == RUNTIME or len(series) == 1:
        return [runtime_color(one.runtime, theme).name() for one in series]
    turns = [found[chosen][one.key] for one in series] if chosen else [one.key for one in series]
    places = {value: place for place, value in enumerate(dict.fromkeys(turns))}
    return [theme.hues[places[value] % len(theme.hues)] for value in turns]


def _shades(color: QColor, of: int, theme: Theme) -> list[QColor]:
    """More than so many, to choose from: the colour itself, then others from the lightest to the
    darkest that are legible, in such an order that neighbours are half of that apart."""
    half = (of + 1) // 2 + _MORE
    light, dark = _end(color, True, theme), _end(color, False, theme)
    levels = [light + (dark - light) * k / (2 * half - 1) for k in range(2 * half)]
    own = min(range(len(levels)), key=lambda k: abs(levels[k] - color.lightnessF()))
    upper, step = (own >= half, -1 if own >= half else 1)
    turns = [(own + step * k) % half for k in range(half)]
    order = [place + half * there for place in turns for there in (upper, not upper)]
    return [color, *(_at(color, levels[place]) for place in order[1:])]


def _end(color: QColor, bright: bool, theme: Theme) -> float:
    """The lightness at which the colour, brighter or darker, still stands out from the ground."""
    end, base = _LEGIBLE[theme.dark][bright], QColor(theme.base)
    away = (_LEGIBLE[theme.dark][theme.dark] - end) / _STEPS
    for _ in range(_STEPS):
        if contrast(_at(color, end), base) >= _LEAST_CONTRAST:
            break
        end += away
    return end


def _at(color: QColor, lightness: float) -> QColor:
    """The colour in another lightness, its hue turned a little with it."""
    turn = _TURN * (lightness - color.lightnessF())
    hue = (max(0.0, color.hslHueF()) + turn) % 1.0
    return QColor.fromHslF(hue, color.hslSaturationF(), lightness)
