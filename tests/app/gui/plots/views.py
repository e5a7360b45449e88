"""Every view with data to show, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.analysis.plot_data.card import CardRun
from app.analysis.plot_data.series import ReferenceLine, Series
from app.capabilities.largest_batch.present import LargestBatchView
from app.capabilities.tuning.answer import Gain, Rung, TuneAnswer
from app.capabilities.tuning.present import StepsView
from app.cases.case import Case
from app.cases.jobs import Operator
from app.gui.plots.base import PlotView
from app.gui.plots.compare import CompareView, HistoryView
from app.gui.plots.distributions import BoxesView, PercentileView
from app.gui.plots.figure_view import CapabilityView, FigureLayer
from app.gui.plots.histogram import HistogramView
from app.gui.plots.matrix import ChecksView, MatrixView
from app.gui.plots.operators import OperatorsView, OperatorTime, ScheduleView
from app.gui.plots.ranking import AccuracyView, RankingView
from app.gui.plots.summary import SummaryView
from app.gui.plots.timeline import TimelineView
from app.gui.plots.trends import TrendsView
from app.runs.following.reader import RunReader
from app.runs.history.run_comparison import RunSide
from app.runs.history.trends import read_history
from app.runs.reader import read_run
from exporters.codec import from_json
from runtimes.execution import Clock
from tests.app.gui.synthetic import failed, open_loop, series, summary_of, with_figures
from tests.golden.folders import unpack

PUBLISHED = ReferenceLine("V80, sdk26", "mean", 2.5, "published latency tables")


ViewT = TypeVar("ViewT", bound=PlotView)


def side(name: str, cases: Sequence[Series], environment: Mapping[str, Any]) -> RunSide:
    """A run as the view of two runs takes it."""
    return RunSide(name, tuple(case.measured for case in cases), {"": environment})


def on_screen(qtbot: QtBot, view: ViewT, cases: Sequence[Series] = ()) -> ViewT:
    """The view on the screen, with these cases if there are any."""
    qtbot.addWidget(view)
    if cases:
        view.set_series(cases)
    view.resize(1200, 700)
    view.show()
    qtbot.waitExposed(view)
    return view


def redraw(view: PlotView, cases: Sequence[Series]) -> None:
    view.set_series(cases)
    view.refresh()


def live() -> list[Series]:
    """Three runtimes, one simulated, one still measuring."""
    return [
        series("ort-cpu", seed=1, count=4000),
        series("openvino-cpu", seed=2, count=4000, median_us=31.0, finished=False),
        series(
            "fpga:v80", seed=3, count=4000, median_us=2.5, clock="simulated", references=[PUBLISHED]
        ),
    ]


def finished() -> list[Series]:
    """Two models on two runtimes at three batch sizes, and one failure."""
    cases = []
    for number, (model, accuracy) in enumerate((("alexnet", 0.549), ("vgg16", 0.732))):
        for runtime in ("ort-cpu", "ort-cuda"):
            for batch in (1, 2, 4):
                case_series = series(
                    runtime, model, key=f"{model}{runtime}{batch}", count=6000, warmup=10,
                    seed=number * 10 + batch, median_us=100.0 * batch, batch_size=batch,
                    family=model.rstrip("0123456789"), accuracy_top1=accuracy,
                )  # fmt: skip
                throughput = 1e6 * batch / (summary_of(case_series).value_us("mean") or 0.0)
                filled = with_figures(case_series)
                cases.append(replace(filled, row={**filled.row, "throughput_per_s": throughput}))
    return [*cases, failed("ort-cuda", "vgg16", "out_of_memory", "no room", batch_size=8)]


def loaded() -> list[Series]:
    """One model at five rates, of which the last two are more than it can serve in time."""
    return [open_loop(rate) for rate in (5_000, 10_000, 20_000, 40_000, 48_000)]


def stored(name: str, folder: Path) -> list[Series]:
    """The cases of a stored run as one that is followed shows them."""
    with closing(RunReader(unpack(name, folder / name))) as reader:
        state = reader.poll()
    assert state is not None
    return list(state.series)


def tuned() -> list[Series]:
    """A search over options that has ended in two steps, of which the second is doubted."""
    rungs = (
        Rung("default: ort-cpu fp32, batch 1", "a", 130.0, None, None, 1e-7, None),
        Rung("batch 16", "b", 260.0, Gain(2.0, 1.9, 2.1, "better"), None, 1e-7, None),
        Rung("streams=2", "c", 262.0, Gain(1.01, 0.9, 1.1, "undecided"), None, 1e-7, None),
    )
    answer = TuneAnswer("vgg16", "throughput", rungs, ("vgg16: twice the throughput",), True, True)
    return [replace(series("ort-cpu", "vgg16", count=60), found={"tune": answer})]


CARD_RUN = from_json(
    CardRun,
    {
        "model": "cnn", "card": "V80", "release": "sdk26", "clock_mhz": 300.0, "io_us": 1.83,
        "cycles": 121, "tiles_used": 48, "tiles_total": 24576, "tiles_by_core": [8] * 6,
        "events": [
            {"name": "matmul", "unit": "matrix", "begun": 0, "issued": 8, "done": 40, "ahead": 16},
            {"name": "relu", "unit": "element", "begun": 40, "issued": 42, "done": 67, "ahead": 0},
        ],
    }
)  # fmt: skip


def _set(view: PlotView, cases: list[Series]) -> PlotView:
    view.set_series(cases)
    return view


def _operators(_: Path) -> OperatorsView:
    view = OperatorsView()
    conv, relu = Operator("/c/Conv", "Conv", 12.0, ""), Operator("/r", "Relu", 4.0, "")
    rows = [OperatorTime(op, op.time_us / 16.0, "CPU") for op in (conv, relu)]
    view.set_operators(rows, "cnn", "wall")
    return view


def _schedule(_: Path) -> ScheduleView:
    view = ScheduleView()
    view.set_run(CARD_RUN)
    return view


def _compare(_: Path) -> CompareView:
    view, first = CompareView(), live()
    second = [series("ort-cpu", key=first[0].key, seed=9, count=4000, median_us=15.0)]
    governors = ({"cpu": {"governor": name}} for name in ("performance", "powersave"))
    view.set_runs(side("monday", first, next(governors)), side("tuesday", second, next(governors)))
    return view


def _history(folder: Path) -> HistoryView:
    view, latest = HistoryView(), unpack("history", folder / "nights")
    history = read_history(latest.parent)
    view.set_history(history)
    view.set_case(read_run(latest).cases[0].case_id, "mlp")
    return view


FILLED: dict[str, Callable[[Path], PlotView]] = {
    "histogram": lambda _: _set(HistogramView(), live()),
    "percentiles": lambda _: _set(PercentileView(), live()),
    "timeline": lambda _: _set(TimelineView(), live()),
    "boxes": lambda _: _set(BoxesView(), live()),
    "summary": lambda _: _set(SummaryView(), finished()),
    "ranking": lambda _: _set(RankingView(), finished()),
    "trends": lambda _: _set(TrendsView(), finished()),
    "loads": lambda _: _set(TrendsView(), loaded()),
    "ladder": lambda _: _set(CapabilityView(StepsView()), tuned()),
    "largest": lambda folder: _set(CapabilityView(LargestBatchView()), stored("largest", folder)),
    "accuracy": lambda folder: _set(AccuracyView(), stored("accuracy", folder)),
    "matrix": lambda _: _set(MatrixView(), finished()),
    "checks": lambda folder: _set(ChecksView(), stored("check", folder)),
    "operators": _operators,
    "schedule": _schedule,
    "compare": _compare,
    "history": _history,
}


def grid(
    models: Sequence[str],
    runtimes: Sequence[str] = ("ort-cpu",),
    batches: Sequence[int] = (1,),
    *,
    finished: bool = False,
) -> list[Series]:
    """A case for each, its key `model/runtime/batch`; they differ in their latency."""
    cells = []
    for place, (model, runtime, batch) in enumerate(product(models, runtimes, batches)):
        clock: Clock = "simulated" if runtime.startswith("fpga") else "wall"
        case_series = series(
            runtime, model, key=f"{model}/{runtime}/{batch}", median_us=20.0 + 5.0 * place,
            count=400, rounds=3, warmup=20, seed=place + 1, clock=clock, finished=finished,
        )  # fmt: skip
        case = Case(model, runtime, axes={"batch": batch})
        cells.append(replace(case_series, case=case, label=f"{model} · {runtime} · batch {batch}"))
    return cells


def many(count: int, *, finished: bool = False) -> list[Series]:
    """So many cases of one model on one runtime."""
    return grid(("mlp",), batches=range(1, count + 1), finished=finished)


LEFT = Qt.MouseButton.LeftButton


def settle(view: PlotView) -> None:
    """Have the layout done: axes learn their width while they are painted."""
    for _ in range(2):
        view.canvas.grab()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


def at(view: PlotView, x: float, y: float, plot: int = 0) -> QPoint:
    """The pixel of the canvas at these coordinates of a plot."""
    settle(view)
    box = view.plots[plot].getViewBox()
    (left, right), (low, high) = view.plots[plot].viewRange()
    rect = box.sceneBoundingRect()
    up = (y - low) / (high - low)
    down = up if box.yInverted() else 1.0 - up
    x_share = (x - left) / (right - left)
    scene = QPointF(rect.left() + x_share * rect.width(), rect.top() + down * rect.height())
    return view.canvas.mapFromScene(scene)


def hover(view: PlotView, where: QPoint) -> str:
    QTest.mouseMove(view.canvas.viewport(), where - QPoint(1, 0))
    QTest.mouseMove(view.canvas.viewport(), where)
    return view.crosshair.box.plain


def drag(view: PlotView, point: QPoint, end_point: QPoint) -> None:
    """With Shift held."""
    canvas, shift = view.canvas.viewport(), Qt.KeyboardModifier.ShiftModifier
    QTest.mousePress(canvas, LEFT, shift, point)
    for place in ((point + end_point) / 2, end_point):
        QTest.mouseMove(canvas, place)
    QTest.mouseRelease(canvas, LEFT, shift, end_point)


def figures_of(view: PlotView) -> list[FigureLayer]:
    """What a view draws of figures, from top to bottom."""
    return [layer for layer in view._layers if isinstance(layer, FigureLayer)]


def turn_wheel(view: PlotView, steps: int, *, ctrl: bool = False) -> None:
    """The wheel over the middle of the plot, towards the user for what is below."""
    middle = QPointF(view.canvas.viewport().rect().center())
    modifier = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
    wheel_event = QWheelEvent(
        middle, view.canvas.viewport().mapToGlobal(middle), QPoint(), QPoint(0, -120 * steps),
        Qt.MouseButton.NoButton, modifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view.canvas.viewport(), wheel_event)
