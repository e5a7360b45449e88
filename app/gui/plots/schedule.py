"""The simulated card's schedule: what each unit does in which cycle, and how full the card is."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.capabilities.simulated_card.inference import CardEvent, CardRun, assign_lines
from app.formatting.text import significant, time_text
from app.gui.look.csv_file import Table
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme, runtime_color
from app.gui.plots.axes import NamesAxis
from app.gui.plots.base import PlotView
from app.gui.plots.legend import Entry
from app.gui.plots.read.reading import ROW, Spot, SpotReader

_UNIT_HEIGHT, _FIT_ROW = 76, 30


class ScheduleView(PlotView):
    """Above, the units' instructions over cycles; below, the weight tiles on each core."""

    title = "FPGA schedule"
    hint = "Which instruction each unit of the card works at, cycle by cycle (simulated)."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: CardRun | None = None

    def set_run(self, run: CardRun | None) -> None:
        self._run = run
        self.follows = True
        self.mark_dirty()

    def draw(self) -> str:
        run = self._run
        if run is None:
            return "No schedule. Select a finished case of a simulated card, such as fpga:v80."
        view_range = self.kept_range()
        self.reset()
        color = runtime_color(f"fpga:{run.card.lower()}", self.theme)
        self._draw_units(run, color, view_range)
        self._draw_fit(run, color)
        issue, flow = _brushes(color)
        edge = pg.mkPen(color)
        self.show_legend(
            [
                Entry("issues", edge, issue),
                Entry("in the pipeline", edge, flow),
                Entry("weight tiles held", edge, issue),
            ]
        )
        self.show_heading(
            f"{run.model} on {run.card} {run.release}".strip(),
            f"simulated, {significant(run.latency_us)} µs = {significant(run.io_us)} µs in and "
            f"out + {run.cycles} cycles at {run.clock_mhz:g} MHz"
            + (f", {run.fidelity}" if run.fidelity else ""),
        )
        return ""

    def _draw_units(
        self, run: CardRun, color: QColor, view_range: tuple[list[float], list[float]] | None
    ) -> None:
        units = list(run.units)
        rows = NamesAxis()
        rows.set_names(units)
        plot = self.add_plot(0, 0, None, rows, x_label="Cycles after the request arrived")
        rows.setTextPen(self.theme.text)
        rows.setWidth(90)
        plot.setMaximumHeight(70 + 2 * _UNIT_HEIGHT * max(1, len(units)))
        box = plot.getViewBox()
        box.invertY(True)
        box.setMouseEnabled(True, False)
        plot.setYRange(-0.5, len(units) - 0.5, padding=0)
        low, high = view_range[0] if view_range else (0.0, max(1.0, run.cycles * 1.01))
        plot.setXRange(low, high, padding=0)
        plot.showGrid(x=True, y=False, alpha=0.35)
        layer = self.lay(EventLayer(plot, run.events, units, color, self.theme))
        self.let_read(plot, SpotReader(layer.spots(run.clock_mhz)))

    def _draw_fit(self, run: CardRun, color: QColor) -> None:
        rows = NamesAxis()
        cores = len(run.tiles_by_core)
        rows.set_names(["card", *(f"core {k}" for k in range(cores))])
        share = run.tiles_used / max(1, run.tiles_total)
        plot = self.add_plot(
            1,
            0,
            None,
            rows,
            x_label=f"Fit: {run.tiles_used:,} of {run.tiles_total:,} weight tiles used "
            f"({share:.1%}), in percent of what each row can hold",
        )
        rows.setTextPen(self.theme.text)
        rows.setWidth(90)
        plot.setMaximumHeight(70 + _FIT_ROW * (cores + 1))
        plot.getViewBox().invertY(True)
        plot.getViewBox().setMouseEnabled(False, False)
        plot.setXRange(0.0, 101.0, padding=0)
        plot.setYRange(-0.6, cores + 0.6, padding=0)
        plot.showGrid(x=True, y=False, alpha=0.35)
        per_core = run.tiles_total / max(1, cores)
        tile_counts = [
            (run.tiles_used, run.tiles_total),
            *((n, per_core) for n in run.tiles_by_core),
        ]
        self.lay(FitLayer(plot, tile_counts, color, self.theme))
        named_counts = zip(["card", *(f"core {k}" for k in range(cores))], tile_counts, strict=True)
        spots = [
            Spot(
                0.0, row, name, (f"{used_tiles:,.0f} of {total:,.0f} weight tiles",), (), color, ROW
            )
            for row, (name, (used_tiles, total)) in enumerate(named_counts)
        ]
        self.let_read(plot, SpotReader(spots))

    def table(self) -> Table:
        columns = ["instruction", "unit", "begun_cycle", "issued_cycle", "done_cycle"]
        events = self._run.events if self._run else ()
        rows = [[e.name, e.unit, e.begun, e.issued, e.done, e.ahead] for e in events]
        return [*columns, "cycles_ahead"], rows


def _brushes(color: QColor) -> tuple[QBrush, QBrush]:
    solid, faint = QColor(color), QColor(color)
    solid.setAlpha(190)
    faint.setAlpha(150)
    return QBrush(solid), QBrush(faint, Qt.BrushStyle.BDiagPattern)


class EventLayer(Overlay):
    """Instructions as bars in their unit's row, the overlapping ones on lines of their own."""

    def __init__(
        self,
        plot: pg.PlotItem,
        events: Sequence[CardEvent],
        units: Sequence[str],
        color: QColor,
        theme: Theme,
    ) -> None:
        super().__init__(plot)
        self._color, self._theme = color, theme
        self._placements: list[tuple[CardEvent, float]] = []
        self._lines = 1
        for row, unit in enumerate(units):
            self._place(row, [event for event in events if event.unit == unit])

    def _place(self, row: int, events: Sequence[CardEvent]) -> None:
        event_lines = assign_lines(events)
        lines = max((line for _, line in event_lines), default=0) + 1
        for event, line in event_lines:
            self._placements.append((event, row - 0.5 + (line + 0.5) / lines))
        self._lines = max(self._lines, lines)

    def spots(self, clock_mhz: float) -> list[Spot]:
        """What is read of each instruction."""
        result = []
        for event, y in self._placements:
            half = (event.done - event.begun) / 2.0
            taken_s = max(1, event.done - event.begun) / clock_mhz * 1e-6
            when = f"cycles {event.begun:,} to {event.done:,}, issued by {event.issued:,}"
            texts = [f"{event.unit}, {when}", f"{time_text(taken_s)} at {clock_mhz:g} MHz"]
            texts += (
                [f"{event.ahead:,} cycles of it before the request came"] if event.ahead else []
            )
            reach = (half, 0.5 / self._lines)
            result.append(
                Spot(event.begun + half, y, event.name, tuple(texts), (), self._color, reach)
            )
        return result

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        issue, flow = _brushes(self._color)
        painter.setFont(plot_font(-1.0))
        metrics = QFontMetricsF(painter.font())
        row_px = abs(self.y_px(1.0) - self.y_px(0.0))
        height = min(44.0, 0.7 * row_px / self._lines)
        box = self.boundingRect()
        for event, y in self._placements:
            begin_x, issue_x, done_x = (
                self.x_px(c) for c in (event.begun, event.issued, event.done)
            )
            if done_x < box.left() or begin_x > box.right():
                continue
            top = self.y_px(y) - height / 2
            painter.setPen(QPen(self._color, 1.0))
            painter.setBrush(flow)
            painter.drawRect(QRectF(issue_x, top, max(0.0, done_x - issue_x), height))
            painter.setBrush(issue)
            painter.drawRect(QRectF(begin_x, top, max(1.0, issue_x - begin_x), height))
            left, right = max(begin_x, box.left()), min(done_x, box.right())
            if right - left > 34.0 and height >= metrics.height():
                self._write(painter, metrics, event.name, QRectF(left, top, right - left, height))

    def _write(self, painter: QPainter, metrics: QFontMetricsF, name: str, place: QRectF) -> None:
        room = place.adjusted(4, 0, -4, 0)
        text = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room.width())
        ground = QRectF(
            room.left() - 2,
            room.center().y() - metrics.height() / 2 + 1,
            metrics.horizontalAdvance(text) + 4,
            metrics.height() - 2,
        )
        veil = QColor(self._theme.base)
        veil.setAlpha(200)
        painter.fillRect(ground, veil)
        painter.setPen(QColor(self._theme.text))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)


class FitLayer(Overlay):
    """How full the card and its cores are, with the count of tiles behind each bar."""

    def __init__(
        self,
        plot: pg.PlotItem,
        tile_counts: Sequence[tuple[float, float]],
        color: QColor,
        theme: Theme,
    ) -> None:
        super().__init__(plot)
        self._tile_counts, self._color, self._theme = tuple(tile_counts), color, theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setFont(plot_font(-1.0))
        metrics = QFontMetricsF(painter.font())
        issue, _ = _brushes(self._color)
        height = abs(self.y_px(1.0) - self.y_px(0.0)) * 0.62
        for row, (used_tiles, total) in enumerate(self._tile_counts):
            middle = self.y_px(row)
            share = used_tiles / max(1.0, total)
            left, right = self.x_px(0.0), self.x_px(100.0 * share)
            whole = QRectF(left, middle - height / 2, self.x_px(100.0) - left, height)
            painter.fillRect(whole, QColor(self._theme.raised))
            painter.fillRect(QRectF(left, whole.top(), right - left, height), issue)
            text = f"{used_tiles:,.0f} of {total:,.0f}"
            is_inside = right + 8 + metrics.horizontalAdvance(text) > whole.right()
            text_x = left + 8 if is_inside else right + 8
            painter.setPen(QColor(self._theme.text))
            painter.drawText(QPointF(text_x, middle + metrics.ascent() / 2 - 1), text)
