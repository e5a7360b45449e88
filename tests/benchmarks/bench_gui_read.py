"""What reading costs with a million samples: moving the crosshair, and marking a range.

Run as `python -m tests.benchmarks.bench_gui_read`; medians, with the worst behind. A figure holds
the event, what is found, and painting what has changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QPoint, QThreadPool
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.gui.look.style_sheet import apply_theme, prepare_application
from app.gui.plots.base import PlotView
from app.gui.plots.distributions import PercentileView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.read.lit import Lit
from app.gui.plots.read.reading import Brush
from app.gui.plots.timeline import TimelineView
from app.plot_data.series import Series
from app.stats.quantiles import Histogram
from tests.app.gui.synthetic import latencies_ns, records, series

ROUNDS, A_ROUND = 4, 250_000


def main() -> None:
    """Print one line per figure."""
    app = QApplication([])
    prepare_application()
    apply_theme("dark")
    item = million()
    views = [shown(view(), item, app) for view in (HistogramView, PercentileView, TimelineView)]
    for view in views:
        report = moves_ms(view, app)
        print(f"crosshair over the {view.title.lower()}, 1 M samples, ms a move (< 16): {report}")
    for label, brush in (
        ("the slowest 2 %", Brush("latency", 26e-6)),
        ("nearly all", Brush("latency", 15e-6, 60e-6)),
    ):
        report = brush_ms(views, brush, app)
        print(f"marking {label} of 1 M samples, ms until three views are redrawn (< 100): {report}")
    for view in views:
        view.close()


def million() -> Series:
    """One case of a million samples in four rounds."""
    arrays = [records(latencies_ns(20.0, A_ROUND, seed)) for seed in range(ROUNDS)]
    histogram = Histogram()
    for rows in arrays:
        histogram.add(rows["finished_ns"] - rows["started_ns"])
    return replace(series(count=400, rounds=1), counts=histogram.counts, rounds=tuple(arrays))


def shown(view: PlotView, item: Series, app: QApplication) -> PlotView:
    """The view at the size of a large window, drawn from the raw samples."""
    view.resize(1280, 800)
    view.set_series([item])
    view.show()
    for _ in range(4):
        QThreadPool.globalInstance().waitForDone()
        app.processEvents()
        view.refresh()
    view.grab()
    return view


def moves_ms(view: PlotView, app: QApplication) -> str:
    """Over the plot from left to right, through its densest part."""
    canvas = view.canvas.viewport()
    durations = []
    for step in range(100):
        position = QPoint(120 + 10 * step, 420)

        def act(event_position: QPoint = position) -> None:
            QTest.mouseMove(canvas, event_position)
            app.processEvents()

        durations.append(seconds(act))
    return told(durations[5:])


def brush_ms(views: Sequence[PlotView], brush: Brush, app: QApplication) -> str:
    """As the window does: found once, handed to all, and each redrawn."""
    durations = []
    for number in range(12):

        def act(number: int = number) -> None:
            highlight = Lit(replace(brush, low_s=brush.low_s * (1.0 + 0.001 * number)))
            for view in views:
                view.show_brush(highlight)
                view.refresh()
            app.processEvents()

        durations.append(seconds(act))
    return told(durations[2:])


def seconds(act: Callable[[], object]) -> tuple[float, float]:
    """Of the wall, and of the processor: what it would be if nobody else were there."""
    start_s, busy = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - start_s, time.process_time() - busy


def told(durations: Sequence[tuple[float, float]]) -> str:
    wall, busy = (np.array(column) * 1e3 for column in zip(*durations, strict=True))
    worst = float(np.quantile(wall, 0.99))
    return f"{np.median(wall):.3g}, p99 {worst:.3g}; of the processor {np.median(busy):.3g}"


if __name__ == "__main__":
    main()
