"""Names that look like HTML are text all over the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QAbstractItemView, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.window import MainWindow
from app.run_folder.folder import RunFolder
from exporters.diagnostics import diagnostic
from tests.app.gui.windows import open_run, wait_for_summaries
from tests.app.hostile import OF_FILES, steering
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

TAG = "<b>bold</b> <img src='x'>"
CASES = [
    *(Case(f"{name}.onnx", "fake") for name in OF_FILES),
    Case(f"{TAG}.onnx", "ort-ep:<i>x</i>"),
]


def hostile_run(path: Path) -> Path:
    with RunFolder.create(path, manifest_of(CASES)) as folder:
        folder.begin(ENVIRONMENT)
        warnings = (diagnostic("checker_rejects_graph", objection=f"{TAG}: wait"),)
        for case in CASES[:-1]:
            record(folder, case, 0, [20.0 + run % 7 for run in range(60)], warnings=warnings)
        record(folder, CASES[-1], 0, status="crashed", reason=f"signal SIGSEGV: {TAG}")
    return path


def tips(model: QAbstractItemModel, parent: QModelIndex | None = None) -> Iterator[str]:
    """Of every cell of a model, those below others too."""
    top = parent or QModelIndex()
    for row in range(model.rowCount(top)):
        for column in range(model.columnCount(top)):
            tip = model.data(model.index(row, column, top), Qt.ItemDataRole.ToolTipRole)
            yield str(tip or "")
        yield from tips(model, model.index(row, 0, top))


def seen(tip: str) -> str:
    """What Qt shows of a tool tip."""
    if not GuiQt.mightBeRichText(tip):
        return tip
    document = QTextDocument()
    document.setHtml(tip)
    return document.toPlainText()


def test_a_window_shows_names_as_they_are(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    open_run(window, qtbot, hostile_run(tmp_path / "<i>run</i> & more"))
    wait_for_summaries(window, qtbot)
    for label in window.findChildren(QLabel):
        is_rich = label.textFormat() == Qt.TextFormat.RichText
        if label.textFormat() != Qt.TextFormat.PlainText and not is_rich:
            assert not GuiQt.mightBeRichText(label.text()), label.text()
    tips_text = [widget.toolTip() for widget in window.findChildren(QWidget)]
    for view in window.findChildren(QAbstractItemView):
        if view.model() is not None:
            tips_text += tips(view.model())
    plain_tips = [seen(tip) for tip in tips_text if tip]
    assert not [tip for tip in plain_tips if "\ufffc" in tip], "an image stands for a name"
    assert any(TAG in tip for tip in plain_tips), "in full, as it is"
    assert not [tip for tip in plain_tips if steering(tip)]
