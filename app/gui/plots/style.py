"""Colours, lines and order of series, baselines behind them: what differs has a hue of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPen

from app.analysis.insights.quality import NOT_VALID, Quality, is_invalid, quality_of
from app.analysis.plot_data.series import Baseline, Series, facets
from app.formatting.text import CLOCK_TEXT
from app.gui.look.theme import Theme, contrast, mixed, runtime_color
from app.gui.plots.legend import Entry

# Full vision; protanopia and deuteranopia at severity 1 on linear RGB, as simulated by Machado,
# Oliveira & Fernandes (IEEE Trans. Vis. Comput. Graph. 15, 2009), table 1.
_VISIONS = np.array(
    [
        np.eye(3),
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ]
)
# Linear RGB to Oklab (B. Ottosson, 2020, bottosson.github.io/posts/oklab).
_CONE = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def apart(first: QColor, other: QColor) -> float:
    """The distance in Oklab, the least of all visions: 0.02 is just seen, black to white is 1."""
    return min(map(math.dist, _convert_oklab(first.name()), _convert_oklab(other.name())))


@lru_cache(maxsize=4096)
def _convert_oklab(name: str) -> tuple[tuple[float, ...], ...]:
    """The colour in Oklab for each vision."""
    color = QColor(name)
    rgb = np.array([color.redF(), color.greenF(), color.blueF()])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.clip(_VISIONS @ linear, 0.0, 1.0) @ _CONE.T
    return tuple(tuple(lab) for lab in (np.cbrt(cones) @ _LAB.T).tolist())


RUNTIME = "runtime"
_LEGIBLE = {False: (0.18, 0.62), True: (0.45, 0.9)}
"""The least and the greatest lightness in which text can be read on a light or dark ground."""
_LEAST_CONTRAST = 3.0
"""Beside the ground, as WCAG 2 counts it: a yellow is brighter than a blue of its lightness."""
_LEAST_DISTANCE = 0.06
"""Neighbours are as far apart as `vision.apart` tells where there is such a shade."""
_MORE = 1
_STEPS = 32
_TURN = 0.05
"""Of the circle of hues, for a lightness changed from 0 to 1."""


def series_colors(series: Sequence[Series], theme: Theme, text: str = "") -> dict[str, QColor]:
    """A colour by key: a hue for each value of the facet `by`, or of the one that tells most.

    That is the runtime, whose colours last, where it differs; else the first of which there are as
    few values as hues. Series of one hue are shades of it. Where nothing has so few values, and
    none is asked for, hues take turns.
    """
    texts = hues(series, theme, text)
    left = {name: _shades(QColor(name), count, theme) for name, count in Counter(texts).items()}
    used_hues: set[str] = set()
    colors: dict[str, QColor] = {}
    for place, (case_series, hue) in enumerate(zip(series, texts, strict=True)):
        then = "".join(texts[place + 1 : place + 2])
        neighbours = list(colors.values())[-1:]
        if hue in used_hues and then and then not in used_hues:
            neighbours.append(QColor(then))
        color = _farthest(left[hue], neighbours) if hue in used_hues else left[hue][0]
        left[hue].remove(color)
        used_hues.add(hue)
        colors[case_series.key] = color
    return colors


def _farthest(choices: Sequence[QColor], neighbours: Sequence[QColor]) -> QColor:
    """The first that is far enough from those, else the one that is farthest."""
    distances = [
        min((apart(choice, other) for other in neighbours), default=1.0) for choice in choices
    ]
    enough = next((k for k, distance in enumerate(distances) if distance >= _LEAST_DISTANCE), None)
    return choices[distances.index(max(distances)) if enough is None else enough]


def hues(series: Sequence[Series], theme: Theme, text: str) -> list[str]:
    """The hue of each, of which those that share it are shades."""
    facet_values = facets(series)
    few = (name for name, v in facet_values.items() if len(set(v.values())) <= len(theme.hues))
    facet = text if text in facet_values else RUNTIME if RUNTIME in facet_values else next(few, "")
    if facet == RUNTIME or len(series) == 1:
        return [runtime_color(case_series.runtime, theme).name() for case_series in series]
    turns = [facet_values[facet][s.key] if facet else s.key for s in series]
    places = {value: place for place, value in enumerate(dict.fromkeys(turns))}
    return [theme.hues[places[value] % len(theme.hues)] for value in turns]


def _shades(color: QColor, count: int, theme: Theme) -> list[QColor]:
    """More than so many, to choose from: the colour itself, then others from the lightest to the
    darkest that are legible, in such an order that neighbours are half of that apart."""
    half = (count + 1) // 2 + _MORE
    light, dark = _end(color, True, theme), _end(color, False, theme)
    levels = [light + (dark - light) * k / (2 * half - 1) for k in range(2 * half)]
    level_index = min(range(len(levels)), key=lambda k: abs(levels[k] - color.lightnessF()))
    upper, step = (level_index >= half, -1 if level_index >= half else 1)
    turns = [(level_index + step * k) % half for k in range(half)]
    order = [place + half * side for place in turns for side in (upper, not upper)]
    return [color, *(_set_lightness(color, levels[place]) for place in order[1:])]


def _end(color: QColor, bright: bool, theme: Theme) -> float:
    """The lightness at which the colour, brighter or darker, still stands out from the ground."""
    end, base = _LEGIBLE[theme.dark][bright], QColor(theme.base)
    away = (_LEGIBLE[theme.dark][theme.dark] - end) / _STEPS
    for _ in range(_STEPS):
        if contrast(_set_lightness(color, end), base) >= _LEAST_CONTRAST:
            break
        end += away
    return end


def _set_lightness(color: QColor, lightness: float) -> QColor:
    """The colour in another lightness, its hue turned a little with it."""
    turn = _TURN * (lightness - color.lightnessF())
    hue = (max(0.0, color.hslHueF()) + turn) % 1.0
    return QColor.fromHslF(hue, color.hslSaturationF(), lightness)


_FADE_SHARE = 0.82
_MOST_BY_COLOR = 8
"""More series than this are told apart by their lines too."""
_PATTERNS: tuple[list[float], ...] = (
    [],
    [10.0, 2.0, 1.5, 2.0],
    [10.0, 2.0, 1.5, 2.0, 1.5, 2.0],
    [16.0, 2.5],
)
"""Of lines, in their own widths; the first is solid. Simulated and failed ones have others."""


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How a series is drawn: one that is simulated, doubted or of a failure is never solid.

    `pattern` is that of its line, where there are more series than colours that are told apart.
    """

    color: QColor
    simulated: bool
    standing: Quality = "sound"
    pattern: int = 0

    def pen(self, width: float = 1.0) -> QPen:
        pen = QPen(self.color)
        pen.setWidthF(width)
        pen.setCosmetic(True)
        if self.standing == "failed":
            pen.setDashPattern([1.0, 2.0])
        elif self.simulated:
            pen.setDashPattern([5.0, 3.0])
        return pen

    def line_pen(self, width: float) -> QPen:
        """For a line across a plot, which has room for the pattern."""
        pen = self.pen(width)
        if self.pattern and pen.style() == Qt.PenStyle.SolidLine:
            pen.setDashPattern(_PATTERNS[self.pattern % len(_PATTERNS)])
        return pen

    def fill(self, alpha: int = 70) -> QBrush:
        color = QColor(self.color)
        color.setAlpha(alpha)
        if self.standing == "sound" and not self.simulated:
            return QBrush(color)
        if self.standing == "doubted":
            return QBrush(Qt.BrushStyle.NoBrush)
        color.setAlpha(min(255, alpha + 60))
        has_failed = self.standing == "failed"
        pattern = Qt.BrushStyle.DiagCrossPattern if has_failed else Qt.BrushStyle.BDiagPattern
        return QBrush(color, pattern)

    def faded(self, theme: Theme) -> SeriesStyle:
        """As good as gone into the ground, while another series is pointed at."""
        return replace(self, color=mixed(self.color, QColor(theme.base), _FADE_SHARE))

    def of_line(self) -> SeriesStyle:
        """For a line through several cases, of which each point says itself where it stands."""
        return replace(self, standing="sound")

    def solid(self) -> QBrush:
        """For small marks: filled if measured and sound, else hollow."""
        hollow = self.simulated or self.standing != "sound"
        return QBrush(Qt.BrushStyle.NoBrush) if hollow else QBrush(self.color)


class ColorTable:
    """Colour and line pattern of each case of a run, whichever of them a plot shows."""

    def __init__(self, cases: Sequence[Series]) -> None:
        self.cases = tuple(cases)
        self._known: dict[tuple[str, str], dict[str, tuple[QColor, int]]] = {}

    def looks(self, theme: Theme, text: str) -> dict[str, tuple[QColor, int]]:
        """By key, where hues are for the values of this facet."""
        cache_key = theme.base, text
        if cache_key not in self._known:
            patterns = _patterns(self.cases, theme, text)
            self._known[cache_key] = {
                key: (color, patterns[key])
                for key, color in series_colors(self.cases, theme, text).items()
            }
        return self._known[cache_key]


def series_styles(
    series: Sequence[Series], theme: Theme, text: str = "", table: ColorTable | None = None
) -> dict[str, SeriesStyle]:
    """A style by key, coloured by the facet `text` or by what differs among those of the table."""
    looks = table.looks(theme, text) if table is not None else {}
    if any(case_series.key not in looks for case_series in series):
        looks = ColorTable(series).looks(theme, text) | looks
    return {
        case_series.key: SeriesStyle(
            looks[case_series.key][0],
            case_series.clock == "simulated",
            quality_of(case_series),
            looks[case_series.key][1],
        )
        for case_series in series
    }


def _patterns(series: Sequence[Series], theme: Theme, text: str) -> dict[str, int]:
    """Shades of a hue take turns with patterns of the line; few series have none."""
    if len(series) <= _MOST_BY_COLOR:
        return {case_series.key: 0 for case_series in series}
    counts: Counter[str] = Counter()
    patterns = {}
    for case_series, hue in zip(series, hues(series, theme, text), strict=True):
        patterns[case_series.key] = counts[hue] % len(_PATTERNS)
        counts[hue] += 1
    return patterns


class LitStyle(SeriesStyle):
    """Of samples that are marked: filled, whatever is known of their case."""

    __slots__ = ()

    def fill(self, alpha: int = 210) -> QBrush:
        color = QColor(self.color)
        color.setAlpha(alpha)
        return QBrush(color)


def legend_text(series: Series, text: str = "") -> str:
    """What it is called beside others, or its label, with its clock and with what makes the row
    one not to rank."""
    return f"{text or series.label} ({CLOCK_TEXT[series.clock]}{remark(series)})"


def row_text(series: Series, text: str, peers: Sequence[Series]) -> str:
    """As `legend_text` where the clocks of those beside it differ; else the heading tells the
    clock, and the room is the name's."""
    if len({case_series.clock for case_series in peers}) > 1:
        return legend_text(series, text)
    why = remark(series).removeprefix(", ")
    return f"{text} ({why})" if why else text


def series_entries(
    series: Sequence[Series],
    name_of: Callable[[Series], str],
    styles: Mapping[str, SeriesStyle],
    *,
    filled: bool = False,
) -> list[Entry]:
    """A line of the legend for each, as a line or as a filled box."""
    return [
        Entry(
            legend_text(case_series, name_of(case_series)),
            styles[case_series.key].pen(1.0) if filled else styles[case_series.key].line_pen(1.8),
            styles[case_series.key].fill() if filled else None,
            of_series=True,
        )
        for case_series in series
    ]


def remark(series: Series) -> str:
    """`, wrong output` or `, doubted` behind a clock: why the figures are not to be taken as such;
    "" where they are sound."""
    quality = quality_of(series)
    if quality == "sound":
        return ""
    if series.damage:
        return ", damaged"
    if series.status == "ok":
        return f", {NOT_VALID}" if is_invalid(series) else f", {quality}"
    return f", {series.status.replace('_', ' ')}"


def hollow_entry(series: Sequence[Series], theme: Theme, *, dots: bool) -> list[Entry]:
    """What hollow marks mean, for the legend of a view that has some; dots of what is simulated
    are hollow as well."""
    if all(quality_of(case_series) == "sound" for case_series in series):
        return []
    muted_pen, hollow = QPen(QColor(theme.muted)), QBrush(Qt.BrushStyle.NoBrush)
    simulated = dots and any(case_series.clock == "simulated" for case_series in series)
    text = f"hollow: doubted, its row has warnings{'; or simulated' if simulated else ''}"
    return [Entry(text, muted_pen, hollow)]


def clocks_text(series: Sequence[Series]) -> str:
    """Which clocks a plot shows, for its heading."""
    return " and ".join(dict.fromkeys(CLOCK_TEXT[case_series.clock] for case_series in series))


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Keys of series: those that are hidden, and the one that others fade for.

    `color_by` is the facet whose values have a hue each, "" for what tells most. `listed` says
    that a list beside the plot names the series, so that the legend need not. `baselines` are
    drawn in grey behind the series that they have something beside. `table` has the colours of
    all cases of the run; without it those of a plot have colours of their own.
    """

    hidden: frozenset[str] = frozenset()
    lit: str | None = None
    color_by: str = ""
    listed: bool = False
    baselines: tuple[Baseline, ...] = ()
    table: ColorTable | None = None

    def drawn(self, series: Sequence[Series]) -> tuple[Series, ...]:
        """Those that are not hidden."""
        return tuple(case_series for case_series in series if case_series.key not in self.hidden)

    def styles(self, series: Sequence[Series], theme: Theme) -> dict[str, SeriesStyle]:
        """How each looks: the same whichever of them are hidden."""
        styles = series_styles(series, theme, self.color_by, self.table)
        if self.lit not in styles:
            return styles
        return {
            key: style if key == self.lit else style.faded(theme) for key, style in styles.items()
        }


@dataclass(frozen=True, slots=True)
class Behind:
    """What `baseline` has beside the series of this key, under a key that no case has."""

    key: str
    baseline: Baseline
    series: Series
    style: SeriesStyle


def behind(
    series: Sequence[Series], how: Arrangement, theme: Theme, *, each: bool = False
) -> list[Behind]:
    """Of each baseline what is beside these, and of the lit series alone while one is lit.

    Where it is the same for several it is told once, or with `each` of them.
    """
    background: list[Behind] = []
    lit_series = [
        case_series for case_series in series if how.lit in (None, case_series.key)
    ] or list(series)
    for place, baseline in enumerate(how.baselines):
        style = SeriesStyle(grey(place, len(how.baselines), theme), simulated=False)
        texts: set[str] = set()
        for case_series in lit_series:
            counterpart = baseline.counterpart(case_series)
            if counterpart is None or not counterpart.counts.any():
                continue
            copy_key = f"{baseline.key}\n{counterpart.key}" + (
                f"\n{case_series.key}" if each else ""
            )
            if copy_key not in texts:
                texts.add(copy_key)
                copy = replace(counterpart, key=copy_key, label=f"baseline {baseline.name}")
                look = replace(style, simulated=counterpart.clock == "simulated")
                background.append(Behind(case_series.key, baseline, copy, look))
    return background


def behind_entries(background: Sequence[Behind]) -> list[Entry]:
    """One line of a legend for each baseline."""
    looks = {item.baseline.key: item for item in background}
    return [Entry(item.series.label, item.style.pen(1.8)) for item in looks.values()]


def grey(place: int, count: int, theme: Theme) -> QColor:
    """The quiet colour of the theme, paler for each further baseline."""
    return mixed(QColor(theme.muted), QColor(theme.base), 0.15 + 0.45 * place / max(1, count - 1))
