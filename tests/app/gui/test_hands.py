"""Keys, menus and drops: what hands do with the window, beside measuring."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.gui.palette import Palette
from app.gui.shell import COMPOSER
from app.gui.views import VIEWS
from app.gui.window import MainWindow
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from exporters import install_layout
from tests.app.gui.runs import new_run, record_round, records, tiny_model
from tests.app.gui.windows import (
    asked_for_menu,
    dialogs,
    do,
    menu_of,
    open_run,
    palette,
    seen,
    words,
)

PLAN = Plan(
    rounds=2,
    baseline="ort-cpu",
    sweeps=(
        Sweep(
            models=("cnn_tiny", "lstm_tiny"),
            runtimes=("ort-cpu", "fake"),
            batch_size=(1, 4),
            options={"fake.latency_us": (5.0, 50.0)},
        ),
    ),
)
CASES = expand(PLAN)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with new_run(tmp_path / "monday", CASES, plan=PLAN) as folder:
        for place, case in enumerate(CASES):
            record_round(folder, case, 0, records([50.0 + place + k % 7 for k in range(400)]))
    return tmp_path / "monday"


def rows(dialog: Palette) -> list[tuple[str, str, str]]:
    items = [dialog.found.topLevelItem(k) for k in range(dialog.found.topLevelItemCount())]
    return [(item.text(0), item.text(1), item.text(2)) for item in items if item]


def find(window: MainWindow, letters: str) -> Palette:
    dialog = palette(window)
    QTest.keyClicks(dialog.line, letters)
    return dialog


def test_the_palette_does_an_action_and_shows_its_key(window: MainWindow) -> None:
    dialog = find(window, "dark th")
    assert rows(dialog)[0] == ("Dark theme", "action", "Ctrl+T")
    QTest.keyClick(dialog.line, Qt.Key.Key_Return)
    assert window.preferences.theme == "dark"
    assert not dialog.isVisible()


def test_the_palette_leads_to_views_cases_models_terms_and_runs(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    def go(letters: str) -> None:
        QTest.keyClick(find(window, letters).line, Qt.Key.Key_Return)

    go("matrix")
    assert window.views.by_key["matrix"].isVisible()
    window.preferences.add_recent(run)
    go("monday recent")
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=10_000)
    window.table.filter_by("nothing has this")
    go("lstm fake 50 batch 4 case")
    keys = window.table.selected_keys()
    assert len(keys) == 1
    case_series = next(
        case_series for case_series in seen(window).series if case_series.key == keys[0]
    )
    assert (case_series.model, case_series.runtime, case_series.case.axes["batch"]) == (
        "lstm_tiny",
        "fake",
        4,
    )
    assert case_series.case.options["latency_us"] == 50.0
    go("char_cnn model")
    assert any("char_cnn" in name for name in window.editor.draft.sweeps[0].models)
    assert window.frame.page == COMPOSER
    dialog = find(window, "wait policy term")
    assert "spinning" in dialog.hint.text(), "a term is told before anything is pressed"
    QTest.keyClick(dialog.line, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_a_row_is_measured_again_alone_by_the_command_that_its_menu_copies(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    open_run(window, qtbot, run)
    for row, case in enumerate(CASES):
        window.table.view.selectRow(row)
        position = window.table.view.visualRect(window.table.filter.index(row, 0)).center()
        asked_for_menu(window.table.view.viewport(), QContextMenuEvent.Reason.Mouse, position)
        menu = menu_of(qtbot)
        assert {"Use as baseline, or no longer", "Copy rows as TSV", "Export view…"} <= set(
            words(menu)
        )
        do(menu, "Copy the command")
        line = QGuiApplication.clipboard().text().removeprefix(install_layout.PROGRAM)
        plan = plan_from_options(parse(shlex.split(line)))
        assert [expected_case.case_id for expected_case in expand(plan)] == [case.case_id]
        assert plan.rounds == PLAN.rounds and not plan.baseline
        assert "Copied" in window.statusBar().currentMessage()


def test_a_plot_has_a_menu_by_mouse_and_by_key(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_run(window, qtbot, run)
    window.frame.show_key("histogram")
    view = window.views.by_key["histogram"]
    qtbot.waitUntil(lambda: bool(view.plots), timeout=10_000)
    middle = view.canvas.viewport().rect().center()
    QTest.mouseClick(view.canvas.viewport(), Qt.MouseButton.RightButton, pos=middle)
    do(menu_of(qtbot), "Copy picture")
    picture = QGuiApplication.clipboard().image()
    assert picture.width() == 2 * view.canvas.viewport().width()
    assert "Copied the picture of Histogram" in window.statusBar().currentMessage()
    target = tmp_path / "plot.svg"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    asked_for_menu(view.canvas, QContextMenuEvent.Reason.Keyboard, middle)
    do(menu_of(qtbot), "Save as")
    assert target.stat().st_size > 0
    assert str(target) in window.statusBar().currentMessage(), "success is said"


def dropped(window: MainWindow, urls: Sequence[QUrl], text: str = "") -> None:
    """Enter, then drop, on whatever widget is in the middle of the window."""
    data = QMimeData()
    if urls:
        data.setUrls(list(urls))
    if text:
        data.setText(text)
    copy, left, none = (
        Qt.DropAction.CopyAction,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    target: QWidget | None = window.childAt(window.rect().center())
    while target is not None:
        if target.acceptDrops():
            enter = QDragEnterEvent(QPoint(5, 5), copy, data, left, none)
            enter.ignore()
            QApplication.sendEvent(target, enter)
            if enter.isAccepted():
                drop = QDropEvent(QPointF(5, 5), copy, data, left, none)
                QApplication.sendEvent(target, drop)
                return
        target = target.parentWidget()


def urls(*paths: Path) -> list[QUrl]:
    return [QUrl.fromLocalFile(str(path)) for path in paths]


def test_what_a_file_manager_drops_on_a_plot_is_opened(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path
) -> None:
    window.frame.show_key("histogram")
    dropped(window, urls(run))
    qtbot.waitUntil(lambda: window.feed.folder == run, timeout=10_000)
    models = [tiny_model(tmp_path / name) for name in ("a b.onnx", "ü.ONNX")]
    dropped(window, urls(*models))
    assert window.editor.draft.sweeps[0].models == tuple(map(str, models))
    (tmp_path / "mine.toml").write_text('name = "mine"\n[[sweeps]]\nmodels = ["mlp"]\n')
    dropped(window, urls(tmp_path / "mine.toml"))
    assert window.editor.draft.name == "mine"
    (tmp_path / "nets").mkdir()
    nested_model = tiny_model(tmp_path / "nets" / "one.onnx")
    dropped(window, urls(tmp_path / "nets"))
    assert str(nested_model) in window.editor.draft.sweeps[0].models


@pytest.mark.parametrize(
    "what", ["notes.txt", "https://example.org/net.onnx", "two plans", "only words"]
)
def test_a_drop_of_something_else_says_what_is_taken(
    window: MainWindow, tmp_path: Path, what: str
) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    plans = [tmp_path / "a.toml", tmp_path / "b.toml"]
    drop_actions: dict[str, Callable[[], None]] = {
        "notes.txt": lambda: dropped(window, urls(tmp_path / "notes.txt")),
        "https://example.org/net.onnx": lambda: dropped(window, [QUrl(what)]),
        "two plans": lambda: dropped(window, urls(*plans)),
        "only words": lambda: dropped(window, [], "only words"),
    }
    drop_actions[what]()
    messages = [dialog.whole for dialog in dialogs(window)] or [window.statusBar().currentMessage()]
    assert any("drop " in text for text in messages), messages
    assert window.feed.opening is None and not window.editor.draft.sweeps[0].models
    for dialog in dialogs(window):
        dialog.close()


def test_everything_that_takes_the_keyboard_has_a_name(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    open_run(window, qtbot, run)
    control_count = 0
    for key in ["welcome", "editor", "results", "queue", "log", *(spec.key for spec in VIEWS)]:
        window.frame.show_key(key)
        QApplication.processEvents()
        for widget in window.findChildren(QWidget):
            takes = widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not widget.focusProxy()
            if takes and widget.isVisible() and not _inner(widget):
                control_count += 1
                text = widget.text() if isinstance(widget, QAbstractButton) else ""
                assert widget.accessibleName() or text, (key, widget)
    assert control_count > 100


def _inner(widget: QWidget) -> bool:
    """A part of a control that speaks for it, or of Qt's own."""
    is_inner = isinstance(widget.parentWidget(), (QLineEdit, QComboBox))
    return is_inner or widget.objectName().startswith("qt_")


def test_a_report_of_the_open_run_is_one_page(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.actions_by_key["report"].trigger()
    assert "there is no run to report" in dialogs(window)[0].whole
    dialogs(window)[0].close()
    open_run(window, qtbot, run)
    page = tmp_path / "monday.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(page), ""))
    with qtbot.waitSignals([window.files.said, window.files.said], timeout=60_000):
        window.actions_by_key["report"].trigger()
    assert "lstm_tiny" in page.read_text("utf-8")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path), ""))
    with qtbot.waitSignal(window.files.failed, timeout=60_000) as blocker:
        window.actions_by_key["report"].trigger()
    assert "is a folder" in str(blocker.args[0])
    for dialog in dialogs(window):
        dialog.close()
