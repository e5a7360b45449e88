"""What is painted over a plot, and names that have too little room."""

from __future__ import annotations

from itertools import product

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from pytestqt.qtbot import QtBot

from app.gui.look.overlay import Overlay
from app.gui.look.text import shorter


class _RecordingOverlay(Overlay):
    """Writes down the bounds at which Qt is told that they are about to change."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self.at: list[QRectF] = []
        super().__init__(plot)

    def prepareGeometryChange(self) -> None:  # noqa: N802
        self.at.append(self.boundingRect())
        super().prepareGeometryChange()


def test_bounds_change_after_qt_was_told(qtbot: QtBot) -> None:
    canvas = pg.GraphicsLayoutWidget()
    qtbot.addWidget(canvas)
    plot = canvas.ci.addPlot(row=0, col=0, axisItems={})
    canvas.resize(400, 300)
    canvas.show()
    qtbot.waitExposed(canvas)
    overlay = _RecordingOverlay(plot)
    bounds = overlay.boundingRect()
    assert bounds == plot.getViewBox().rect()
    canvas.resize(700, 500)
    qtbot.waitUntil(lambda: overlay.boundingRect() != bounds)
    assert overlay.at[0] == bounds
    assert overlay.boundingRect() == plot.getViewBox().rect()
    call_count = len(overlay.at)
    plot.setXRange(3, 4, padding=0)
    assert len(overlay.at) == call_count, "other data, the same place"


FORTY = [
    f"{model} · {runtime} · {threads} · batch {batch}{remark}"
    for model, runtime, batch, (threads, remark) in product(
        ("cnn_tiny", "mlp"),
        ("ort-cpu", "openvino-cpu"),
        (1, 2, 4, 8, 16),
        (("1 thread", ""), ("2 threads", " (doubted)")),
    )
]


def test_names_stay_apart_and_within_their_room() -> None:
    for room in (60, 45, 38, 34, 31, 28, 26):
        short_names = shorter(FORTY, room, len)
        assert len(set(short_names)) == len(FORTY)
        assert max(map(len, short_names)) <= room
    names = [f"ort-cpu {precision} paced closed loop" for precision in ("fp32", "fp16", "int8")]
    brief = shorter(names, 14.0, len)
    assert len(set(brief)) == 3, "they differ in their middle, which is not cut"
    assert brief[2].endswith("int8")
