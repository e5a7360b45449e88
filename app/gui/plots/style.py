"""How series look: coloured by what differs; dashed and hatched if simulated, hollow if doubted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPen

from app.formatting.text import CLOCK_TEXT
from app.gui.look.theme import Theme, mixed
from app.gui.plots.colors import hues, series_colors
from app.gui.plots.legend import Entry
from app.insights.quality import NOT_VALID, Quality, is_invalid, quality_of
from app.plot_data.series import Series

_FADED = 0.82
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
        crossed = self.standing == "failed"
        pattern = Qt.BrushStyle.DiagCrossPattern if crossed else Qt.BrushStyle.BDiagPattern
        return QBrush(color, pattern)

    def faded(self, theme: Theme) -> SeriesStyle:
        """As good as gone into the ground, while another series is pointed at."""
        return replace(self, color=mixed(self.color, QColor(theme.base), _FADED))

    def of_line(self) -> SeriesStyle:
        """For a line through several cases, of which each point says itself where it stands."""
        return replace(self, standing="sound")

    def solid(self) -> QBrush:
        """For small marks: filled if measured and sound, else hollow."""
        hollow = self.simulated or self.standing != "sound"
        return QBrush(Qt.BrushStyle.NoBrush) if hollow else QBrush(self.color)


def series_styles(series: Sequence[Series], theme: Theme, by: str = "") -> dict[str, SeriesStyle]:
    """A style by key, coloured by the facet `by` or by what differs."""
    colors = series_colors(series, theme, by)
    patterns = _patterns(series, theme, by)
    return {
        one.key: SeriesStyle(
            colors[one.key], one.clock == "simulated", quality_of(one), patterns[one.key]
        )
        for one in series
    }


def _patterns(series: Sequence[Series], theme: Theme, by: str) -> dict[str, int]:
    """Shades of a hue take turns with patterns of the line; few series have none."""
    if len(series) <= _MOST_BY_COLOR:
        return {one.key: 0 for one in series}
    seen: Counter[str] = Counter()
    found = {}
    for one, hue in zip(series, hues(series, theme, by), strict=True):
        found[one.key] = seen[hue] % len(_PATTERNS)
        seen[hue] += 1
    return found


class LitStyle(SeriesStyle):
    """Of samples that are marked: filled, whatever is known of their case."""

    __slots__ = ()

    def fill(self, alpha: int = 210) -> QBrush:
        color = QColor(self.color)
        color.setAlpha(alpha)
        return QBrush(color)


def legend_text(series: Series, called: str = "") -> str:
    """What it is called beside others, or its label, with its clock and with what makes the row
    one not to rank."""
    return f"{called or series.label} ({CLOCK_TEXT[series.clock]}{remark(series)})"


def row_text(series: Series, called: str, among: Sequence[Series]) -> str:
    """As `legend_text` where the clocks of those beside it differ; else the heading tells the
    clock, and the room is the name's."""
    if len({one.clock for one in among}) > 1:
        return legend_text(series, called)
    why = remark(series).removeprefix(", ")
    return f"{called} ({why})" if why else called


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
            legend_text(one, name_of(one)),
            styles[one.key].pen(1.0) if filled else styles[one.key].line_pen(1.8),
            styles[one.key].fill() if filled else None,
            of_series=True,
        )
        for one in series
    ]


def remark(series: Series) -> str:
    """`, wrong output` or `, doubted` behind a clock: why the figures are not to be taken as such;
    "" where they are sound."""
    found = quality_of(series)
    if found == "sound":
        return ""
    if series.damage:
        return ", damaged"
    if series.status == "ok":
        return f", {NOT_VALID}" if is_invalid(series) else f", {found}"
    return f", {series.status.replace('_', ' ')}"


def hollow_entry(series: Sequence[Series], theme: Theme, *, dots: bool) -> list[Entry]:
    """What hollow marks mean, for the legend of a view that has some; dots of what is simulated
    are hollow as well."""
    if all(quality_of(one) == "sound" for one in series):
        return []
    muted, hollow = QPen(QColor(theme.muted)), QBrush(Qt.BrushStyle.NoBrush)
    simulated = dots and any(one.clock == "simulated" for one in series)
    text = f"hollow: doubted, its row has warnings{'; or simulated' if simulated else ''}"
    return [Entry(text, muted, hollow)]


def clocks_text(series: Sequence[Series]) -> str:
    """Which clocks a plot shows, for its heading."""
    return " and ".join(dict.fromkeys(CLOCK_TEXT[one.clock] for one in series))
