"""Axes over logarithms: the plots hold log10 values, the axes print what they stand for.

pyqtgraph's own log mode is ignored by half of its items and turns empty bins into NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.formatting.text import count_tick, time_tick
from app.gui.look.overlay import plot_font
from app.gui.look.text import shorter
from app.gui.look.theme import mixed

Label = tuple[QRectF, int, str]
Specs = tuple[object, list[tuple[QPen, QPointF, QPointF]], list[Label]]
Levels = list[tuple[float, list[float]]]

_LABEL_LEVEL, _BARE = 1.0, 0.0
"""pyqtgraph hands a level's spacing back with its values; here it says whether they are told."""

LONGEST_NAME_PX = 320.0
_BETWEEN_LABELS_PX = 4.0


class SolidAxis(pg.AxisItem):
    """An axis whose grid is opaque: translucent lines cost ten times as much to paint."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.ground = QColor("#ffffff")
        self.enableAutoSIPrefix(False)

    def resizeEvent(self, event: object = None) -> None:  # noqa: N802 - pyqtgraph's name
        """A label that is longer than the axis would stand over what is beside it."""
        super().resizeEvent(event)
        long_px = self.size().height() if self._stands else self.size().width()
        self.label.setOpacity(float(self.label.boundingRect().width() <= long_px))

    @property
    def _stands(self) -> bool:
        return self.orientation in ("left", "right")

    def generateDrawSpecs(self, painter: QPainter) -> Specs | None:  # noqa: N802
        specs = super().generateDrawSpecs(painter)
        if specs is None:
            return None
        axis, ticks, texts = specs
        pens_by_color = {
            pen.color().rgba(): pen for pen, _, _ in ticks
        }  # one for each level of them
        solid = {color: self._solid(pen) for color, pen in pens_by_color.items()}
        lines = [(solid[pen.color().rgba()], start, end) for pen, start, end in ticks]
        return axis, lines, self._apart(texts)

    def _apart(self, texts: Sequence[Label]) -> list[Label]:
        """Those that touch none before them: chosen ticks are told however close they lie."""
        apart: list[Label] = []
        between_px = 0.0 if self._stands else _BETWEEN_LABELS_PX
        for text in texts:
            area = text[0].adjusted(-between_px, 0.0, between_px, 0.0)
            if not any(area.intersects(other) for other, _, _ in apart):
                apart.append(text)
        return apart

    def _solid(self, pen: QPen) -> QPen:
        solid = QPen(pen)
        solid.setColor(mixed(self.ground, pen.color(), pen.color().alphaF()))
        return solid


class TextAxis(SolidAxis):
    """A plain axis that prints its values as 200, 10k or 1M, say."""

    def __init__(self, orientation: str, text: Callable[[float], str]) -> None:
        super().__init__(orientation)
        self._text = text

    def tickStrings(  # noqa: N802
        self, values: list[float], scale: float, spacing: float
    ) -> list[str]:
        return [self._text(value) for value in values]


class LogAxis(TextAxis):
    """An axis over log10(value): decades, then 1-2-5, then even steps as one zooms in."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> Levels:  # noqa: N802, N803
        span = maxVal - minVal
        if not 0.0 < span < 40.0:
            return []
        per_label = 70.0 if self.orientation in ("bottom", "top") else 34.0
        room = max(2.0, size / per_label)
        if span < 0.9:
            return self._even(minVal, maxVal, room)
        first, last = math.floor(minVal), math.ceil(maxVal)
        stride = max(1, math.ceil(span / room))
        decades = [float(k) for k in range(first, last + 1)]
        labelled_ticks = [k for k in decades if k % stride == 0]
        if stride > 1:
            return [(_LABEL_LEVEL, labelled_ticks), (_BARE, decades)]
        alone = len(_filter_range(decades, minVal, maxVal)) < 2  # one tick tells no scale
        steps = (2, 5) if alone or span * 3 <= room else ()
        labelled_ticks += [k + math.log10(m) for k in decades for m in steps]
        bare = [k + math.log10(m) for k in decades for m in range(2, 10) if m not in steps]
        return [
            (_LABEL_LEVEL, _filter_range(labelled_ticks, minVal, maxVal)),
            (_BARE, _filter_range(bare, minVal, maxVal)),
        ]

    def tickStrings(  # noqa: N802
        self, values: list[float], scale: float, spacing: float
    ) -> list[str]:
        return [self._text(10.0**v) if spacing == _LABEL_LEVEL else "" for v in values]

    @staticmethod
    def _even(low: float, high: float, room: float) -> Levels:
        start, end = 10.0**low, 10.0**high
        step = _nice_step((end - start) / room)
        count = int(end / step) - math.ceil(start / step) + 1
        ticks = [(math.ceil(start / step) + k) * step for k in range(count)]
        return [(_LABEL_LEVEL, [math.log10(t) for t in ticks if t > 0.0])]


class NinesAxis(LogAxis):
    """An axis over -log10(1 - q): 50, 90, 99, 99.9 … at even distances."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation, lambda one_in: f"{100.0 - 100.0 / one_in:.9g} %")

    def tickValues(self, minVal: float, maxVal: float, size: float) -> Levels:  # noqa: N802, N803
        nines = [float(k) for k in range(1, 10)]
        labelled_ticks = [0.0, nines_of(0.5), *nines]
        bare = [nines_of(1.0 - m * 10.0**-k) for k in nines for m in range(2, 10)]
        return [
            (_LABEL_LEVEL, _filter_range(labelled_ticks, minVal, maxVal)),
            (_BARE, _filter_range(bare, minVal, maxVal)),
        ]


class NamesAxis(SolidAxis):
    """An axis whose rows (or columns) 0, 1, 2 … carry names.

    A left one is as wide as its longest name from the start, where pyqtgraph's own would
    grow with each painting; names longer than their room are shortened together.
    """

    def __init__(self, orientation: str = "left") -> None:
        self.names: tuple[str, ...] = ()
        self.needed_px = 0.0
        super().__init__(orientation)
        self.setStyle(tickLength=0, hideOverlappingLabels=True)

    def set_names(
        self,
        names: Sequence[str],
        neighbour_names: Sequence[str] = (),
        *,
        titled: bool = False,
        room_px: float = LONGEST_NAME_PX,
    ) -> None:
        """`neighbour_names` are those of other plots that are to begin at the same place; `titled`
        says that a title stands before them."""
        metrics = QFontMetricsF(plot_font())
        middle = Qt.TextElideMode.ElideMiddle
        brief = shorter(names, room_px, metrics.horizontalAdvance)
        texts = [metrics.elidedText(name, middle, room_px) for name in brief]
        self.names = tuple(texts)
        self.setTicks([list(enumerate(texts))])
        if self.orientation == "left":
            widths = [metrics.horizontalAdvance(name) for name in (*texts, *neighbour_names)]
            title = metrics.height() + 6.0 if titled else 0.0
            longest = min(room_px, max(widths, default=0.0))
            self.needed_px = longest + 14.0 + title
            self.setWidth(self.needed_px)


class PercentAxis(SolidAxis):
    """A plain axis that prints nothing above 100."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> Levels:  # noqa: N802, N803
        levels = super().tickValues(minVal, maxVal, size)
        return [(spacing, [v for v in values if v <= 100.0]) for spacing, values in levels]


def nines_of(quantile: float) -> float:
    """Where a quantile below 1 lies on the nines axis: 0.99 at 2."""
    return -math.log10(1.0 - quantile)


def time_axis(orientation: str) -> LogAxis:
    """Durations in log10 seconds, printed in ns, µs, ms and s."""
    return LogAxis(orientation, time_tick)


def count_axis(orientation: str) -> LogAxis:
    """Counts and rates in log10, printed as 1, 10, 1k, 1M."""
    return LogAxis(orientation, count_tick)


def share_axis(orientation: str) -> LogAxis:
    """Shares of a whole in log10, printed in percent."""
    return LogAxis(orientation, lambda share: f"{share * 100:.6g} %")


def _filter_range(values: list[float], low: float, high: float) -> list[float]:
    return sorted(value for value in values if low <= value <= high)


def _nice_step(rough: float) -> float:
    """The smallest of 1, 2, 5 x 10^k that is not below `rough`."""
    decade = 10.0 ** math.floor(math.log10(rough))
    return next(m * decade for m in (1.0, 2.0, 5.0, 10.0) if m * decade >= rough * 0.999)
