"""What is painted over a plot, and names that have too little room."""

from __future__ import annotations

from itertools import product

import pyqtgraph as pg
import pytest
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


def test_what_all_names_count_is_told_by_its_initial() -> None:
    short_names = shorter(FORTY, 45, len)
    assert short_names[0] == "cnn_tiny · ort-cpu · 1t · b1"
    assert short_names[1] == "cnn_tiny · ort-cpu · 2t · b1 (doubted)"


@pytest.mark.parametrize("room", [60, 45, 38, 34, 31, 28, 26])
def test_forty_names_stay_apart_and_within_their_room(room: int) -> None:
    short_names = shorter(FORTY, room, len)
    assert len(set(short_names)) == len(FORTY)
    assert max(map(len, short_names)) <= room


def test_a_doubt_is_told_as_long_as_there_is_any_room() -> None:
    assert shorter(FORTY, 31, len)[1].endswith(" !")


def test_settings_with_one_initial_are_told_apart() -> None:
    names = [f"spread={a} · spacing={b} · net" for a in ("low", "high") for b in ("wide", "narrow")]
    assert shorter(names, 25, len)[0] == "spr=low · spa=wide · net"


def test_a_setting_that_only_some_have_keeps_its_word() -> None:
    short_names = shorter(["net · batch 4 · 2 threads", "net · 2 threads"], 20, len)
    assert short_names == ["net · batch 4 · 2t", "net · 2t"]


def test_a_single_long_name_loses_its_middle() -> None:
    assert shorter(["a_network_of_many_words", "net"], 9, len) == ["a_ne…ords", "net"]


def test_names_that_differ_in_one_word_of_many_stay_apart() -> None:
    """Heads of a matrix were cut in their middle, where they differed."""
    names = [f"ort-cpu {precision} paced closed loop" for precision in ("fp32", "fp16", "int8")]
    brief = shorter(names, 14.0, len)
    assert len(set(brief)) == 3
    assert brief[2].endswith("int8")
