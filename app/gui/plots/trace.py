"""Rounds on a timeline: raw samples or an envelope, warm-up shaded, rows for a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.analysis.plot_data.series import Series
from app.cases.round import MEASURED
from app.gui.look.overlay import Overlay, plot_font
from app.gui.look.theme import Theme, mixed
from app.gui.plots.read.curves import PHASES
from app.gui.plots.style import SeriesStyle
from app.runs.following.samples import give_back
from app.stats.option_search.ablation import round_name

BLOCK = 256
_AT_ONCE = 1024 * BLOCK
"""A round that is shown late is taken in piece by piece, and none of it stays in memory."""
Taken = Callable[[np.ndarray], np.ndarray]
"""Nanoseconds [n] of RECORD records [n]."""


class Envelope:
    """Per block of 256 samples its start and its least, greatest and median latency [s].

    Times are seconds since the round's first sample; `taken_ns` tells of records what each took.
    """

    def __init__(self, taken_ns: Taken) -> None:
        self._taken_ns = taken_ns
        self._clear()

    def _clear(self) -> None:
        self.samples = 0
        self.start_s = self.least_s = self.greatest_s = self.median_s = np.empty(0)
        self.first_ns = 0
        self.end_s = 0.0
        self.warmup_end_s = 0.0
        self._warm_until = 0

    def follow(self, records: np.ndarray) -> None:
        """Take in what was added to the round's RECORD records since the last call."""
        if len(records) == 0:
            self._clear()
            return
        another = self.samples and int(records["started_ns"][0]) != self.first_ns
        if len(records) < self.samples or another:
            self._clear()
        self.first_ns = int(records["started_ns"][0])
        self.end_s = (int(records["finished_ns"][-1]) - self.first_ns) * 1e-9
        self._follow_warmup(records)
        whole = len(records) // BLOCK * BLOCK
        while self.samples < whole:
            end = min(whole, self.samples + _AT_ONCE)
            self._add_blocks(records[self.samples : end])
            if end - self.samples == _AT_ONCE:
                give_back(records)
            self.samples = end

    def _add_blocks(self, new_records: np.ndarray) -> None:
        latency = self._taken_ns(new_records).reshape(-1, BLOCK)
        start_s = (new_records["started_ns"][::BLOCK] - self.first_ns) * 1e-9
        median = np.partition(latency, BLOCK // 2, axis=1)[:, BLOCK // 2]
        self.start_s = np.concatenate([self.start_s, start_s])
        self.least_s = np.concatenate([self.least_s, latency.min(axis=1) * 1e-9])
        self.greatest_s = np.concatenate([self.greatest_s, latency.max(axis=1) * 1e-9])
        self.median_s = np.concatenate([self.median_s, median * 1e-9])

    def _follow_warmup(self, records: np.ndarray) -> None:
        """Warm-up comes first: look on from where it last went on, until a measured sample."""
        while self._warm_until < len(records) and records["phase"][self._warm_until] != MEASURED:
            phases = records["phase"][self._warm_until : self._warm_until + 65536]
            measured_indices = np.nonzero(phases == MEASURED)[0]
            self._warm_until += int(measured_indices[0]) if len(measured_indices) else len(phases)
            last_ns = int(records["finished_ns"][self._warm_until - 1])
            self.warmup_end_s = (last_ns - self.first_ns) * 1e-9


RAW_LIMIT = 100_000
"""So many visible samples are drawn as they are."""

_DOTS_LIMIT = 1500
_LEVELS = 400


class Trace:
    """A thin line of samples and a strong line of their running median."""

    def __init__(
        self,
        plot: pg.PlotItem,
        style: SeriesStyle,
        theme: Theme,
        taken_ns: Taken,
        envelope: Envelope,
    ) -> None:
        self.envelope = envelope
        self._taken_ns = taken_ns
        self._theme = theme
        self._samples = plot.plot(symbolSize=4)
        self._median = plot.plot()
        self._median.setZValue(5)
        self._drawn: tuple[object, ...] = ()
        self._style = style
        self._dress()

    def set_style(self, style: SeriesStyle) -> None:
        """Draw so from now on."""
        if style != self._style:
            self._style = style
            self._dress()

    def _dress(self) -> None:
        # Opaque, as thousands of thin lines overlap.
        faint = mixed(self._style.color, QColor(self._theme.base), 0.55)
        self._samples.setPen(pg.mkPen(faint, width=1))
        self._samples.setSymbolBrush(self._style.color)
        pen = self._style.pen(2.2)
        pen.setColor(mixed(self._style.color, QColor(self._theme.text), 0.35))
        self._median.setPen(pen)

    def follow(self, records: np.ndarray) -> None:
        self.envelope.follow(records)

    def draw(self, records: np.ndarray, offset_s: float, view: tuple[float, float]) -> None:
        """Draw the part within `view`, seconds on the plot's axis; nothing if it is drawn."""
        part = self._visible(records, view[0] - offset_s, view[1] - offset_s)
        raw = part[1] - part[0] <= RAW_LIMIT
        state = (len(records), offset_s, part if raw else None)
        if state == self._drawn:
            return
        self._drawn = state
        if raw:
            self._draw_raw(records[slice(*part)], offset_s)
        else:
            envelope = self.envelope
            x = np.repeat(envelope.start_s + offset_s, 2)
            y = np.empty(len(x))
            y[0::2], y[1::2] = envelope.least_s, envelope.greatest_s
            self._samples.setData(x, _log(y), symbol=None)
        self._draw_median(offset_s)

    def _visible(self, records: np.ndarray, low_s: float, high_s: float) -> tuple[int, int]:
        """The first and last sample to draw, with a screen to either side while they are few."""
        if len(records) <= RAW_LIMIT:
            return 0, len(records)
        width = high_s - low_s
        starts = self.envelope.start_s
        first = int(np.searchsorted(starts, low_s - width)) - 1
        last = int(np.searchsorted(starts, high_s + width)) + 1
        end = len(records) if last >= len(starts) else last * BLOCK
        return max(0, first) * BLOCK, end

    def _draw_raw(self, records: np.ndarray, offset_s: float) -> None:
        x = (records["started_ns"] - self.envelope.first_ns) * 1e-9 + offset_s
        latency = self._taken_ns(records) * 1e-9
        dots = len(records) <= _DOTS_LIMIT
        self._samples.setData(
            x,
            _log(latency),
            symbol="o" if dots else None,
            symbolPen=None,
            symbolBrush=self._style.color,
        )

    def _draw_median(self, offset_s: float) -> None:
        """Medians of blocks, halved in number by their own medians until they are few."""
        x, y = self.envelope.start_s, self.envelope.median_s
        step = -(-len(x) // _LEVELS)
        if step > 1:
            whole = len(x) // step * step
            x, y = x[:whole:step], np.median(y[:whole].reshape(-1, step), axis=1)
        if len(x):
            x = np.append(x, self.envelope.end_s)
            self._median.setData(x + offset_s, _log(np.append(y, y[-1])))


def _log(seconds: np.ndarray) -> np.ndarray:
    """log10 of what may be zero: clocks tick in nanoseconds at best."""
    return np.log10(np.maximum(seconds, 1e-9))


def warm_color(theme: Theme) -> QColor:
    """Of what was not counted yet."""
    color = QColor(theme.muted)
    color.setAlpha(60)
    return color


class RoundLayer(Overlay):
    """Warm-up shaded, and where each round begins."""

    def __init__(self, plot: pg.PlotItem, theme: Theme, *, named_row: bool) -> None:
        super().__init__(plot)
        self._theme = theme
        self._untold = 1 if named_row else 0  # the row's own name stands where that would
        self._offsets: tuple[float, ...] = ()
        self._warm: tuple[tuple[float, float], ...] = ()

    def set_rounds(self, offsets_s: Sequence[float], warm_s: Sequence[tuple[float, float]]) -> None:
        """Where rounds begin, and from when to when each warmed up, on the time axis."""
        self._offsets, self._warm = tuple(offsets_s[:-1]), tuple(warm_s)
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        for begin, end in self._warm:
            left, right = self.x_px(begin), self.x_px(end)
            shade = QRectF(left, box.top(), max(1.5, right - left), box.height())
            painter.fillRect(shade & box, warm_color(self._theme))
        painter.setFont(plot_font(-1.5))
        metrics = QFontMetricsF(painter.font())
        for number, offset in enumerate(self._offsets):
            x = self.x_px(offset)
            if not box.left() - 1 <= x <= box.right():
                continue
            painter.setPen(QPen(QColor(self._theme.border), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
            if number < self._untold:
                continue
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QPointF(x + 4, box.top() + metrics.ascent() + 2), round_name(number))


class NameLayer(Overlay):
    """Whose row it is, at its upper left end and over its samples."""

    def __init__(self, plot: pg.PlotItem, name: str, theme: Theme) -> None:
        super().__init__(plot)
        self._name, self._theme = name, theme

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        box = self.boundingRect()
        painter.setFont(plot_font(-1.0, bold=True))
        metrics = QFontMetricsF(painter.font())
        name = metrics.elidedText(self._name, Qt.TextElideMode.ElideRight, box.width() - 8)
        place = QRectF(
            box.left() + 2, box.top() + 1, metrics.horizontalAdvance(name) + 4, metrics.height()
        )
        ground = QColor(self._theme.base)
        ground.setAlpha(225)
        painter.fillRect(place, ground)
        painter.setPen(QColor(self._theme.text))
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, name)


MOST_ROWS = 1_000_000


def sample_rows(series: Iterable[tuple[Series, Taken]]) -> list[list[object]]:
    """Series, clock, round, when it started in nanoseconds, what it took in microseconds, phase."""
    rows: list[list[object]] = []
    for case_series, durations_of in series:
        for number, records in enumerate(case_series.rounds):
            first_records = records[: max(0, MOST_ROWS - len(rows))]
            for record, us in zip(
                first_records, (durations_of(first_records) / 1e3).tolist(), strict=True
            ):
                phase = PHASES[int(record["phase"])]
                start_ns = int(record["started_ns"])
                rows.append([case_series.label, case_series.clock, number, start_ns, us, phase])
    return rows
