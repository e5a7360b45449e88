"""How a series looks: its runtime's colour; dashed and hatched if simulated, hollow if doubted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPen

from app.gui.look.theme import Theme, contrast, runtime_color
from app.gui.plots.legend import Entry
from app.results.doubts import NOT_VALID, Standing, is_invalid, standing
from app.results.series import Series
from app.results.text import CLOCK_TEXT


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How a series is drawn: one that is simulated, doubted or of a failure is never solid."""

    color: QColor
    simulated: bool
    standing: Standing = "sound"

    def pen(self, width: float = 1.0) -> QPen:
        pen = QPen(self.color)
        pen.setWidthF(width)
        pen.setCosmetic(True)
        if self.standing == "failed":
            pen.setDashPattern([1.0, 2.0])
        elif self.simulated:
            pen.setDashPattern([5.0, 3.0])
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

    def of_line(self) -> SeriesStyle:
        """For a line through several cases, of which each point says itself where it stands."""
        return replace(self, standing="sound")

    def solid(self) -> QBrush:
        """For small marks: filled if measured and sound, else hollow."""
        hollow = self.simulated or self.standing != "sound"
        return QBrush(Qt.BrushStyle.NoBrush) if hollow else QBrush(self.color)


class LitStyle(SeriesStyle):
    """Of samples that are marked: filled, whatever is known of their case."""

    __slots__ = ()

    def fill(self, alpha: int = 210) -> QBrush:
        color = QColor(self.color)
        color.setAlpha(alpha)
        return QBrush(color)


def series_styles(series: Sequence[Series], theme: Theme) -> dict[str, SeriesStyle]:
    """A style by key: the runtime's colour, shaded where several series share it.

    A runtime's releases, environments and devices share it too.
    """
    colors = [runtime_color(one.runtime, theme) for one in series]
    sharing = Counter(color.name() for color in colors)
    seen: Counter[str] = Counter()
    styles = {}
    for one, color in zip(series, colors, strict=True):
        name = color.name()
        shade = _shade(color, seen[name], sharing[name], theme)
        styles[one.key] = SeriesStyle(shade, one.clock == "simulated", standing(one))
        seen[name] += 1
    return styles


_LEGIBLE = {False: (0.18, 0.62), True: (0.45, 0.9)}
"""The least and the greatest lightness in which text can be read on a light or dark ground."""


_LEAST_CONTRAST = 2.9
"""Beside the ground, as WCAG 2 counts it: a yellow is brighter than a blue of its lightness."""
_STEPS = 32


def _shade(color: QColor, index: int, of: int, theme: Theme) -> QColor:
    """The colour itself for the first, lighter and darker ones around it for the rest."""
    if index == 0:
        return color
    hue, saturation = color.hslHueF(), color.hslSaturationF()
    lightness = color.lightnessF()
    turn = 0.05 if index % 2 else -0.05

    def at(share: float, end: float) -> QColor:
        turned = (max(0.0, hue) + turn * share) % 1.0
        return QColor.fromHslF(turned, saturation, lightness + (end - lightness) * share)

    end, base = _LEGIBLE[theme.dark][index % 2], QColor(theme.base)
    away = (_LEGIBLE[theme.dark][theme.dark] - end) / _STEPS
    for _ in range(_STEPS):
        if contrast(at(1.0, end), base) >= _LEAST_CONTRAST:
            break
        end += away
    return at(((index + 1) // 2) / max(1, of // 2), end)


def legend_text(series: Series) -> str:
    """The label with its clock, and with what makes the row one not to rank."""
    return f"{series.label} ({CLOCK_TEXT[series.clock]}{remark(series)})"


def remark(series: Series) -> str:
    """`, wrong output` or `, doubted` behind a clock: why the figures are not to be taken as such;
    "" where they are sound."""
    found = standing(series)
    if found == "sound":
        return ""
    if series.status == "ok":
        return f", {NOT_VALID}" if is_invalid(series) else f", {found}"
    return f", {series.status.replace('_', ' ')}"


def hollow_entry(series: Sequence[Series], theme: Theme, *, dots: bool) -> list[Entry]:
    """What hollow marks mean, for the legend of a view that has some; dots of what is simulated
    are hollow as well."""
    if all(standing(one) == "sound" for one in series):
        return []
    muted, hollow = QPen(QColor(theme.muted)), QBrush(Qt.BrushStyle.NoBrush)
    simulated = dots and any(one.clock == "simulated" for one in series)
    text = f"hollow: doubted, its row has warnings{'; or simulated' if simulated else ''}"
    return [Entry(text, muted, hollow)]


def clocks_text(series: Sequence[Series]) -> str:
    """Which clocks a plot shows, for its heading."""
    return " and ".join(dict.fromkeys(CLOCK_TEXT[one.clock] for one in series))
