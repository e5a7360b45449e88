"""Milliseconds of the processor that single acts in the window take, painted: medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np
from PySide6.QtCore import QPoint, Qt, QThreadPool
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.analysis.plot_data.series import Series
from app.gui.plots.base import PlotView
from app.gui.plots.distributions import PercentileView
from app.gui.plots.histogram import HistogramView
from app.gui.plots.read.reading import Brush, Lit
from app.gui.plots.timeline import TimelineView
from app.gui.tables.columns import COLUMNS
from app.gui.tables.results import ResultsTable
from app.stats.quantiles import BINS, Histogram
from tests.app.gui.synthetic import case_of, latencies_ns, records, series


def _median_ms(app: QApplication, acts: Sequence[Callable[[], object]]) -> float:
    """Of several acts, the first ones left out."""
    times = []
    for act in acts:
        start_s = time.process_time()
        act()
        app.processEvents()
        times.append((time.process_time() - start_s) * 1e3)
    return statistics.median(times[len(times) // 8 :])


def redraw(app: QApplication) -> dict[str, float]:
    """A frame of the histogram: new counts, the curves of six runtimes, and painting them."""
    rng, bins = np.random.default_rng(1), np.arange(BINS)
    items = []
    for place in range(6):
        item = series(f"runtime {place}", rounds=1, count=400, finished=False)
        shape = 1e5 * np.exp(-0.5 * ((bins - 150 - 60 * place) / 40.0) ** 2) + 50.0 * (bins < 600)
        items.append((item, shape))
    view = _shown(HistogramView(), app, items[0][0])

    def frame() -> None:
        view.set_series([replace(item, counts=rng.poisson(shape)) for item, shape in items])
        view.refresh()
        view.grab()

    figure = _median_ms(app, [frame] * 40)
    view.close()
    return {"histogram, 6 series x 600 bins, a frame (<= 20)": figure}


def read(app: QApplication) -> dict[str, float]:
    """With a million samples: moving the crosshair, and marking a range in three views."""
    arrays = [records(latencies_ns(20.0, 250_000, seed)) for seed in range(4)]
    histogram = Histogram()
    for rows in arrays:
        histogram.add(rows["finished_ns"] - rows["started_ns"])
    item = replace(series(count=400, rounds=1), counts=histogram.counts, rounds=tuple(arrays))
    views = [_shown(v(), app, item) for v in (HistogramView, PercentileView, TimelineView)]
    figures = {}
    for view in views:
        canvas, positions = view.canvas.viewport(), (QPoint(120 + 10 * n, 420) for n in range(100))
        moves = [lambda c=canvas, p=place: QTest.mouseMove(c, p) for place in positions]
        title = f"crosshair over the {view.title.lower()}, a move (< 16)"
        figures[title] = _median_ms(app, moves)

    def mark(brush: Brush) -> None:
        """As the window does: found once, handed to all, and each redrawn."""
        lit = Lit(brush)
        for view in views:
            view.show_brush(lit)
            view.refresh()

    for label, low_s, high_s in (("slowest 2 %", 26e-6, np.inf), ("most", 15e-6, 60e-6)):
        marks = [
            lambda low=low_s * (1 + 0.001 * n), high=high_s: mark(Brush("latency", low, high))
            for n in range(12)
        ]
        figures[f"the {label} marked in three views (< 100)"] = _median_ms(app, marks)
    for view in views:
        view.close()
    return figures


def _shown(view: PlotView, app: QApplication, item: Series) -> PlotView:
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


def table(app: QApplication, rows: int = 5_000) -> dict[str, float]:
    """Showing, sorting, filtering, grouping and live updates of the results table."""
    view = ResultsTable()
    view.resize(1280, 800)
    view.show()
    cases = _cases(rows)
    p50 = next(k for k, column in enumerate(COLUMNS) if column.key == "latency_p50_us")
    bar, orders = view.view.verticalScrollBar(), cycle(Qt.SortOrder)
    words, options = cycle(("openvino", "")), cycle(("p50>100 mode=3", ""))

    def measured_anew() -> None:
        """A round more of one case, as each second of a run brings it."""
        place = rows // 2
        row = {**cases[place].row, "latency_p50_us": 20.0 + time.perf_counter() % 1.0}
        cases[place] = replace(cases[place], row=row)
        view.set_series(list(cases))

    acts: dict[str, Callable[[], object]] = {
        "one row anew": measured_anew,
        "scrolled": lambda: bar.setValue((bar.value() + bar.maximum() // 100) % bar.maximum()),
        "sorted by p50": lambda: view.view.sortByColumn(p50, next(orders)),
        "one row anew, sorted": measured_anew,
        "filtered by a word": lambda: view.filter_box.setText(next(words)),
        "filtered by p50 and an option": lambda: view.filter_box.setText(next(options)),
        "grouped, and not": lambda: view.group_choice.choose(
            "" if view.group_choice.value else "threads"
        ),
        "all selected": view.view.selectAll,
    }
    figures = {f"table of {rows:,} rows": _median_ms(app, [lambda: view.set_series(cases)])}
    figures |= {f"  {name}": _median_ms(app, [act] * 9) for name, act in acts.items()}
    view.close()
    return figures


def _cases(count: int) -> list[Series]:
    """Models, runtimes, batches, threads and an option, each with figures of its own."""
    rng, item = np.random.default_rng(1), series(rounds=1, count=400)
    runtimes, cases = ("ort-cpu", "openvino-cpu", "torch-cpu", "fake"), []
    for k in range(count):
        model, runtime, p50 = f"model_{k // 250}", runtimes[k % 4], float(rng.lognormal(4.0, 1.0))
        row = {
            "batch_size": 2 ** (k // 4 % 6),
            "threads": 1 + k // 24 % 4,
            "options": f"mode={k // 96 % 5}",
            "latency_p50_us": p50,
            "latency_p50_ci_low_us": 0.95 * p50,
            "latency_p50_ci_high_us": 1.05 * p50,
            "latency_p99_us": 3.0 * p50,
            "throughput_per_s": 1e6 / p50,
        }
        names = {"model": model, "runtime": runtime, "precision": "fp32", "status": "ok"}
        case = case_of(model, runtime, row)
        item = replace(item, row={**row, **names, "clock": "wall"}, summary=None)
        cases.append(replace(item, key=str(k), case=case, model=model, runtime=runtime))
    return cases
