"""What drawing costs: live histogram, a growing timeline, ten million samples, a long table.

Run as `python -m tests.benchmarks.bench_gui_plots`; figures are medians unless told otherwise.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication, QWidget

from app.cases.round import MEASURED, RECORD
from app.gui.look.style_sheet import apply_theme, prepare_application
from app.gui.plots.base import PlotView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.timeline import TimelineView
from app.gui.tables.results import ResultsTable
from app.plot_data.series import Series
from app.stats.quantiles import BINS, Histogram
from tests.app.gui.synthetic import latencies_ns, records, series

RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu", "fpga:v80", "ort-cuda", "tensorrt")
SAMPLES_PER_S = 100_000
MANY = 10_000_000

Shown = TypeVar("Shown", bound=QWidget)


def main() -> None:
    """Print one line per figure."""
    app = QApplication([])
    prepare_application()
    apply_theme("dark")
    for name, figure in (
        ("histogram, 6 series x 600 bins, ms a frame (<= 20)", redraw_ms(app)),
        ("histogram and timeline at 100,000 samples/s, frames/s (>= 10)", live_rate(app)),
        ("timeline of 10 M samples, s until drawn (< 2)", open_many_s(app)),
        ("table of 5,000 rows, frames/s scrolling (>= 30)", scroll_rate(app)),
    ):
        print(f"{name}: {figure:.3g}")


def _show(view: Shown, app: QApplication) -> Shown:
    view.resize(1280, 800)
    view.show()
    app.processEvents()
    return view


def _seconds(act: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    act()
    return time.perf_counter() - start_s


def redraw_ms(app: QApplication) -> float:
    """A frame: new counts, the curves, and painting them."""
    rng = np.random.default_rng(1)
    base = [series(runtime, rounds=1, count=400, finished=False) for runtime in RUNTIMES]
    bins = np.arange(BINS)
    shapes = [
        1e5 * np.exp(-0.5 * ((bins - 150 - 60 * k) / 40.0) ** 2) + 50.0 * (bins < 600)
        for k in range(len(base))
    ]
    view = _show(HistogramView(), app)
    frames = []
    for _ in range(40):
        all_series = [
            replace(item, counts=rng.poisson(shape))
            for item, shape in zip(base, shapes, strict=True)
        ]

        def frame(frame_series: list[Series] = all_series) -> None:
            view.set_series(frame_series)
            view.refresh()
            view.grab()

        frames.append(_seconds(frame))
    view.close()
    return statistics.median(frames[5:]) * 1e3


def live_rate(app: QApplication) -> float:
    """Frames a second if each frame takes in a tenth of a second's samples, for ten seconds."""
    total = SAMPLES_PER_S * 10
    rows = records(latencies_ns(20.0, total, 1), warmup=1000)
    histogram = Histogram()
    item = series(rounds=1, count=400, finished=False)
    views: list[PlotView] = [_show(HistogramView(), app), _show(TimelineView(), app)]
    frames = []
    for end in range(SAMPLES_PER_S // 10, total + 1, SAMPLES_PER_S // 10):

        def frame(end: int = end) -> None:
            new_rows = rows[end - SAMPLES_PER_S // 10 : end]
            histogram.add(new_rows["finished_ns"] - new_rows["started_ns"])
            now = replace(item, counts=histogram.counts.copy(), rounds=(rows[:end],))
            for view in views:
                view.set_series([now])
                view.refresh()
                view.grab()

        frames.append(_seconds(frame))
    for view in views:
        view.close()
    return 1.0 / statistics.median(frames)


def open_many_s(app: QApplication) -> float:
    """From a samples file on disk to a drawn timeline."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "case.0.bin"
        rows = np.zeros(MANY, RECORD)
        latency = latencies_ns(20.0, MANY, 1)
        rows["finished_ns"] = np.cumsum(latency)
        rows["started_ns"] = rows["finished_ns"] - latency
        rows["phase"] = MEASURED
        rows.tofile(path)
        del rows
        item = series(rounds=1, count=400, finished=False)
        view = _show(TimelineView(), app)

        def act() -> None:
            view.set_series([replace(item, rounds=(np.memmap(path, RECORD, "r"),))])
            view.refresh()
            view.grab()

        seconds = _seconds(act)

        def zoom() -> None:
            view.plots[0].getViewBox().scaleBy((0.7, 1.0))
            view.refresh()
            view.grab()

        pan = [_seconds(zoom) for _ in range(12)]
        print(
            f"  zooming in on it, ms a frame: {statistics.median(pan) * 1e3:.3g}, "
            f"worst {max(pan) * 1e3:.3g}"
        )
        view.close()
    return seconds


def scroll_rate(app: QApplication) -> float:
    """One wheel step a frame through 5,000 rows with a baseline chosen."""
    item = series(rounds=1, count=400)
    cases = [
        replace(item, key=str(k), row={**item.row, "batch_size": k, "throughput_per_s": 1e4 + k})
        for k in range(5000)
    ]
    table = _show(ResultsTable(), app)
    table.set_series(cases)
    table.view.setCurrentIndex(table.filter.index(0, 0))
    table.toggle_baseline()
    bar = table.view.verticalScrollBar()

    def frame(step: int) -> None:
        bar.setValue(bar.maximum() * step // 100)
        table.view.viewport().repaint()

    frames = [_seconds(partial(frame, step)) for step in range(100)]
    table.close()
    return 1.0 / statistics.median(frames)


if __name__ == "__main__":
    main()
