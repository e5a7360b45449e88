"""The series list in the whole window: beside the plots of a run, and at one with the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon
from pytestqt.qtbot import QtBot

from app.cases.case import Case
from app.gui.panels.case_rows import Line
from app.gui.plots.histogram import HistogramView
from app.gui.view_commands import export_svg
from app.gui.window import MainWindow
from tests.app.gui.runs import new_run, record_round, records
from tests.app.gui.windows import open_run, seen

CASES = (
    Case("cnn_tiny", "fake"),
    Case("lstm_tiny", "fake"),
    *(Case("mlp", "fake", threads=threads) for threads in range(1, 8)),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with new_run(tmp_path / "run", CASES) as folder:
        for number, case in enumerate(CASES):
            record_round(folder, case, 0, records([50.0 + 9 * number + k % 7 for k in range(300)]))
    return tmp_path / "run"


def _swatch(window: MainWindow, key: str) -> QColor:
    """The colour in the middle of the swatch that the table has for a case."""
    model = window.table.model
    row = [entry.key for entry in model.series].index(key)
    column = [entry.key for entry in model.columns].index("runtime")
    picture = model.index(row, column).data(Qt.ItemDataRole.DecorationRole)
    assert isinstance(picture, QIcon)
    image = picture.pixmap(14, 14, QIcon.Mode.Selected).toImage()
    return image.pixelColor(image.width() // 2, image.height() // 2)


def _drawn(window: MainWindow) -> list[Line]:
    """The lines of the tree with a swatch: what plots show."""
    visible_keys = set(seen(window).visible_keys)
    return [line for line in window.series_list.rows.lines if line.key in visible_keys]


def test_list_plots_and_table_tell_the_same_series_by_the_same_colours(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path
) -> None:
    open_run(window, qtbot, run)
    window.frame.show_key("histogram")
    window.table.select([case.case_id for case in CASES[:2]])
    rows = window.series_list.rows
    assert [line.key for line in rows.lines] == [
        case_series.key for case_series in seen(window).series
    ]
    assert rows.selected_keys() == [case.case_id for case in CASES[:2]], "as in the table"
    assert window.series_list.isVisible()
    view = window.views.by_key["histogram"]
    assert isinstance(view, HistogramView)
    qtbot.waitUntil(lambda: len(view.series) == 2, timeout=20_000)
    styles = view.styles()
    qtbot.waitUntil(lambda: {line.key for line in _drawn(window)} == styles.keys())
    for line in _drawn(window):
        assert line.style == styles[line.key]
        assert _swatch(window, line.key) == line.style.color
    hidden_series = next(
        case_series.key for case_series in seen(window).series if case_series.key not in styles
    )
    assert _swatch(window, hidden_series) == QColor(view.theme.base), (
        "an empty frame: it is in no plot"
    )

    qtbot.waitUntil(lambda: view.arrangement.listed, timeout=10_000)
    view.refresh()
    assert not any(entry.of_series for entry in view.legend._entries)
    export_svg(view, tmp_path / "picture.svg")
    assert "lstm_tiny (wall clock)" in (tmp_path / "picture.svg").read_text("utf-8")
    window.actions_by_key["cases"].trigger()
    assert window.series_list.isHidden()
    view.refresh()
    assert sum(entry.of_series for entry in view.legend._entries) == 2
    window.actions_by_key["cases"].trigger()
    assert window.series_list.isVisible()
