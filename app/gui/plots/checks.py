"""Models by runtimes: a word in each place says how the case ended, and a click selects its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.cases.status import STATUSES, Tone
from app.gui.look.csv_file import Table
from app.gui.look.overlay import plot_font
from app.gui.look.theme import Theme, mixed
from app.gui.plots.legend import Entry
from app.gui.plots.read.reading import CELL, Spot, SpotReader
from app.gui.plots.tile_grid import TileGrid, TileOverlay
from app.plot_data.matrix import matrix, status_text
from app.plot_data.series import Series

_TINT = 0.72
"""So much of the ground is in a tile's colour, that text stands out on it."""
_TONES: dict[Tone, str] = {
    "ok": "runs there",
    "warning": "in part, unsupported or not here",
    "error": "failed",
}


@dataclass(frozen=True, slots=True)
class Place:
    """One tile: the case behind it, its word, its tone (None before it ended), and why."""

    key: str
    row: int
    column: int
    text: str
    tone: Tone | None
    why: str
    simulated: bool


class ChecksView(TileGrid):
    """Models down, runtimes across."""

    title = "Check"
    hint = "How every model ended on every runtime; a click on a place selects its row."

    def offers(self) -> bool:
        return any(case_series.row.get("check_level") for case_series in self._all_series)

    def draw(self) -> str:
        if not self.series:
            return "No case yet."
        models, runtimes, places = self._places()
        plot = self.show_grid(models, runtimes)
        self.lay(PlaceLayer(plot, places, self.theme))
        names = {case_series.key: case_series.label for case_series in self.series}
        spots = [
            Spot(p.column, p.row, names[p.key], (p.text, p.why), (p.key,), reach=CELL)
            for p in places
        ]
        self.let_read(plot, SpotReader(spots))
        clear = pg.mkPen(QColor(self.theme.border))
        self.show_legend(
            [
                Entry(text, clear, pg.mkBrush(tone_color(tone, self.theme)))
                for tone, text in _TONES.items()
                if any(place.tone == tone for place in places)
            ]
        )
        ended_count = sum(place.tone is not None for place in places)
        well = sum(place.tone == "ok" for place in places)
        self.show_heading("Each model on each runtime", f"{well} of {ended_count} run there")
        return ""

    def _places(self) -> tuple[Sequence[str], Sequence[str], list[Place]]:
        check_matrix = matrix([case_series.case for case_series in self.series])
        return (
            check_matrix.rows,
            check_matrix.columns,
            [
                _place(case_series, *check_matrix.places[case_series.case.case_id])
                for case_series in self.series
            ],
        )

    def table(self) -> Table:
        models, runtimes, places = self._places() if self.series else ((), (), [])
        rows: list[list[object]] = [[model] + [None] * len(runtimes) for model in models]
        for place in places:
            rows[place.row][place.column + 1] = place.text
        return ["model", *runtimes], rows


def _place(series: Series, row: int, column: int) -> Place:
    facts = next((facts for name, facts in STATUSES.items() if name == series.status), None)
    text = status_text(series.status, series.row.get("check_level"))
    why = str(series.row.get("reason") or (facts.meaning if facts else ""))
    simulated = series.clock == "simulated"
    return Place(series.key, row, column, text, facts.tone if facts else None, why, simulated)


def tone_color(tone: Tone, theme: Theme) -> QColor:
    """A tint of the colour that a status has in the table of rows."""
    full = {"ok": theme.good, "warning": theme.warning, "error": theme.bad}[tone]
    return mixed(QColor(full), QColor(theme.base), _TINT)


class PlaceLayer(TileOverlay):
    """Tiles with their words; simulated ones hatched, those that have not ended only outlined."""

    def __init__(self, plot: pg.PlotItem, places: Sequence[Place], theme: Theme) -> None:
        super().__init__(plot)
        self._places, self._theme = tuple(places), theme
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        theme, font = self._theme, plot_font()
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        for place in self.in_sight(self._places):
            rect = self.rect_of(place.row, place.column)
            if place.tone is None:
                painter.setPen(QPen(QColor(theme.border), 1, Qt.PenStyle.DashLine))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(rect)
            else:
                painter.fillRect(rect, tone_color(place.tone, theme))
            if place.simulated:
                hatch = QColor(theme.text)
                hatch.setAlpha(28)
                painter.fillRect(rect, QBrush(hatch, Qt.BrushStyle.BDiagPattern))
            painter.setPen(QColor(theme.muted if place.tone is None else theme.text))
            room = rect.width() - 6
            text = metrics.elidedText(place.text, Qt.TextElideMode.ElideRight, room)
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
