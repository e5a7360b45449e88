"""Keys, menus and drops: what hands do with the window, beside measuring."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.gui.palette import Palette
from app.gui.shell import COMPOSER
from app.gui.window import MainWindow
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from exporters import install_layout
from tests.app.gui.runs import measured_run, tiny_model
from tests.app.gui.windows import asked_for_menu, dialogs, do, menu_of, open_run, palette

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
    return measured_run(tmp_path / "monday", CASES, plan=PLAN)


def find(window: MainWindow, letters: str) -> Palette:
    dialog = palette(window)
    QTest.keyClicks(dialog.line, letters)
    return dialog


def test_the_palette_does_actions_and_leads_to_views_cases_models_terms_and_runs(
    window: MainWindow, qtbot: QtBot, run: Path
) -> None:
    dialog = find(window, "dark th")
    first = dialog.found.topLevelItem(0)
    assert first is not None and first.text(0) == "Dark theme"
    QTest.keyClick(dialog.line, Qt.Key.Key_Return)
    assert window.preferences.theme == "dark" and not dialog.isVisible()

    def go(letters: str) -> None:
        QTest.keyClick(find(window, letters).line, Qt.Key.Key_Return)

    go("matrix")
    assert window.views.by_key["matrix"].isVisible()
    window.preferences.add_recent(run)
    go("monday recent")
    qtbot.waitUntil(lambda: window.feed.state is not None, timeout=10_000)
    window.table.filter_by("nothing has this")
    go("lstm fake 50 batch 4 case")
    (key,) = window.table.selected_keys()
    case = next(case for case in CASES if case.case_id == key)
    assert (case.model, case.runtime, case.axes["batch"]) == ("lstm_tiny", "fake", 4)
    assert case.options["latency_us"] == 50.0
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
    for row in (0, len(CASES) - 1):
        window.table.view.selectRow(row)
        position = window.table.view.visualRect(window.table.filter.index(row, 0)).center()
        asked_for_menu(window.table.view.viewport(), QContextMenuEvent.Reason.Mouse, position)
        do(menu_of(qtbot), "Copy the command")
        line = QGuiApplication.clipboard().text().removeprefix(install_layout.PROGRAM)
        plan = plan_from_options(parse(shlex.split(line)))
        assert [case.case_id for case in expand(plan)] == [CASES[row].case_id]
        assert plan.rounds == PLAN.rounds and not plan.baseline


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
    target = tmp_path / "plot.svg"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    asked_for_menu(view.canvas, QContextMenuEvent.Reason.Keyboard, middle)
    do(menu_of(qtbot), "Save as")
    assert target.stat().st_size > 0
    assert str(target) in window.statusBar().currentMessage(), "success is said"


def dropped(window: MainWindow, *urls: Path | str) -> None:
    """Enter, then drop, on whatever widget is in the middle of the window; words if no `urls`."""
    data = QMimeData()
    data.setText("only words")
    if urls:
        data.setUrls([QUrl.fromLocalFile(str(u)) if isinstance(u, Path) else QUrl(u) for u in urls])
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0))
    target: QWidget | None = window.childAt(window.rect().center())
    while target is not None:
        if target.acceptDrops():
            enter = QDragEnterEvent(QPoint(5, 5), *how)
            enter.ignore()
            QApplication.sendEvent(target, enter)
            if enter.isAccepted():
                QApplication.sendEvent(target, QDropEvent(QPointF(5, 5), *how))
                return
        target = target.parentWidget()


def test_what_a_file_manager_drops_on_a_plot_is_opened_and_of_the_rest_is_said_what_is_taken(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path
) -> None:
    window.frame.show_key("histogram")
    plans = (tmp_path / "a.toml", tmp_path / "b.toml")
    (tmp_path / "notes.txt").write_text("no model")
    refused: tuple[tuple[Path | str, ...], ...] = (
        (tmp_path / "notes.txt",), ("https://example.org/net.onnx",), plans, (),
    )  # fmt: skip
    for what in refused:
        window.statusBar().clearMessage()
        dropped(window, *what)
        messages = [window.statusBar().currentMessage()]
        for dialog in dialogs(window):
            messages.append(dialog.whole)
            dialog.close()
        assert any("drop " in text for text in messages), (what, messages)
        assert window.feed.opening is None and not window.editor.draft.sweeps[0].models
    dropped(window, run)
    qtbot.waitUntil(lambda: window.feed.folder == run, timeout=10_000)
    models = [tiny_model(tmp_path / name) for name in ("a b.onnx", "ü.ONNX")]
    dropped(window, *models)
    assert window.editor.draft.sweeps[0].models == tuple(map(str, models))
    (tmp_path / "mine.toml").write_text('name = "mine"\n[[sweeps]]\nmodels = ["mlp"]\n')
    dropped(window, tmp_path / "mine.toml")
    assert window.editor.draft.name == "mine"
    (tmp_path / "nets").mkdir()
    nested_model = tiny_model(tmp_path / "nets" / "one.onnx")
    dropped(window, tmp_path / "nets")
    assert str(nested_model) in window.editor.draft.sweeps[0].models


def test_a_report_of_the_open_run_is_one_page(
    window: MainWindow, qtbot: QtBot, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, targets = tmp_path / "monday.html", [tmp_path / "monday.html", tmp_path]
    choose = lambda *_: (str(targets.pop(0)), "")  # noqa: E731
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    open_run(window, qtbot, run)
    with qtbot.waitSignals([window.files.said, window.files.said], timeout=60_000):
        window.actions_by_key["report"].trigger()
    assert "lstm_tiny" in page.read_text("utf-8")
    with qtbot.waitSignal(window.files.failed, timeout=60_000) as blocker:
        window.actions_by_key["report"].trigger()
    assert "is a folder" in str(blocker.args[0])
