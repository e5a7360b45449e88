"""How a series looks: its runtime's colour, dashed and hatched where its clock is simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPen

from app.gui.look.theme import Theme, contrast, runtime_color
from app.results.series import Series
from app.results.text import CLOCK_TEXT


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How a series is drawn; simulated ones are never drawn solid."""

    color: QColor
    simulated: bool

    def pen(self, width: float = 1.0) -> QPen:
        pen = QPen(self.color)
        pen.setWidthF(width)
        pen.setCosmetic(True)
        if self.simulated:
            pen.setDashPattern([5.0, 3.0])
        return pen

    def fill(self, alpha: int = 70) -> QBrush:
        color = QColor(self.color)
        color.setAlpha(alpha)
        if not self.simulated:
            return QBrush(color)
        color.setAlpha(min(255, alpha + 60))
        return QBrush(color, Qt.BrushStyle.BDiagPattern)

    def solid(self) -> QBrush:
        """For small marks: filled if measured, hollow if simulated."""
        return QBrush(Qt.BrushStyle.NoBrush) if self.simulated else QBrush(self.color)


def series_styles(series: Sequence[Series], theme: Theme) -> dict[str, SeriesStyle]:
    """A style by key: the runtime's colour, shaded where several series share it."""
    sharing = Counter(one.runtime for one in series)
    seen: Counter[str] = Counter()
    styles = {}
    for one in series:
        styles[one.key] = SeriesStyle(
            _shade(
                runtime_color(one.runtime, theme), seen[one.runtime], sharing[one.runtime], theme
            ),
            one.clock == "simulated",
        )
        seen[one.runtime] += 1
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
    partial = ", partial" if series.status == "partial" else ""
    return f"{series.label} ({CLOCK_TEXT[series.clock]}{partial})"


def clocks_text(series: Sequence[Series]) -> str:
    """Which clocks a plot shows, for its heading."""
    return " and ".join(dict.fromkeys(CLOCK_TEXT[one.clock] for one in series))
