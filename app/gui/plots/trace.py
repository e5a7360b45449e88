"""One round on the timeline: raw samples where they are few enough to see, else an envelope."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor

from app.gui.look.theme import Theme, mixed
from app.gui.plots.envelope import BLOCK, Envelope, Taken
from app.gui.plots.style import SeriesStyle

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
