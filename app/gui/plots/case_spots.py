"""What the crosshair reads at the mark of a case: its name, its figures and their intervals."""

from __future__ import annotations

from PySide6.QtGui import QColor

from app.formatting.text import interval, latency, rate_interval, rate_text
from app.gui.plots.read.reading import Brush, Spot
from app.gui.plots.style import legend_text
from app.plot_data.series import Series, interval_columns, number


def figure_text(series: Series, column: str, name: str) -> str:
    """`p50 20.1 µs, 95 %: 20.05 to 20.14 µs`; "" for a figure that the case has not."""
    value = number(series, column)
    if value is None:
        return ""
    low, high = (number(series, end) for end in interval_columns(column))
    is_rate = column.endswith("_per_s")
    text = f"{name} {rate_text(value) if is_rate else latency(value)}"
    if low is None or high is None:
        return text
    limits_text = rate_interval(low, high) if is_rate else interval(low, high)
    return f"{text}, 95 %: {limits_text}"


def case_spot(
    series: Series,
    x: float,
    y: float,
    lines: tuple[str, ...],
    color: QColor | None = None,
    reach: tuple[float, float] = (0.0, 0.0),
) -> Spot:
    """A click chooses the case, a double click shows all its iterations."""
    texts = tuple(filter(None, lines))
    opens, keys = Brush("latency", keys=(series.key,)), (series.key,)
    return Spot(x, y, legend_text(series), texts, keys, color, reach, opens)
