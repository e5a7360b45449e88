"""The editor as a user handles it: keys and clicks in, a plan and what it costs out."""

from __future__ import annotations

from pathlib import Path

import onnx
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from app.gui.editor.editor import SweepEditor
from app.gui.editor.fields import ChoicesField
from app.gui.editor.pickers import ModelTree
from app.machine.installed_runtimes import availability
from runtimes import registry
from runtimes.base import Available
from runtimes.options import OptionValue
from tests.app.gui.runs import tiny_model
from tests.app.gui.windows import activate


def _check(editor: SweepEditor, name: str) -> None:
    pickers = editor.grid_form.models, editor.grid_form.runtimes
    (item,) = (picker._items[name] for picker in pickers if name in picker._items)
    checked, unchecked = Qt.CheckState.Checked, Qt.CheckState.Unchecked
    item.setCheckState(0, unchecked if item.checkState(0) == checked else checked)


def _option_box(editor: SweepEditor, option: str, value: OptionValue) -> QCheckBox:
    field = editor.grid_form.options.fields[option]
    assert isinstance(field, ChoicesField)
    return field.boxes[value]


def _drop(widget: ModelTree, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0))
    widget.dropEvent(QDropEvent(QPointF(5, 5), *how))


def test_what_is_clicked_and_typed_becomes_the_plan(editor: SweepEditor) -> None:
    form = editor.grid_form
    _check(editor, "cnn_tiny")
    _check(editor, "ort-cpu")
    QTest.keyClicks(form.fields["batch_size"], "1, 2,8")
    QTest.keyClicks(form.fields["threads"], "0, 2")
    form.precisions.boxes["int8"].click()
    form.scenarios.boxes["paced"].click()
    _option_box(editor, "ort-cpu.memory_arena", False).click()
    (sweep,) = editor.plan().sweeps
    assert sweep.models == ("cnn_tiny",)
    assert sweep.batch_size == (1, 2, 8)
    assert sweep.threads == (0, 2)
    assert sweep.precisions == ("fp32", "int8")
    assert sweep.scenarios == ("closed_loop", "paced:20us")
    assert sweep.options == {"ort-cpu.memory_arena": (True, False)}
    _check(editor, "ort-cpu")
    assert not editor.draft.sweeps[0].options, "of a runtime that is not measured none is kept"
    assert not form.options.fields


def test_every_step_can_be_undone_and_done_again(editor: SweepEditor, qtbot: QtBot) -> None:
    _check(editor, "cnn_tiny")
    activate(qtbot, editor)
    field, undo_stack = editor.grid_form.fields["batch_size"], editor.undo_stack
    field.setFocus()
    QTest.keyClicks(field, "16")
    assert undo_stack.count() == 2, "what is typed in one go is one step"
    undo_stack.undo()
    assert field.text() == ""
    undo_stack.undo()
    assert editor.draft.sweeps[0].models == ()
    undo_stack.redo()
    undo_stack.redo()
    assert (field.text(), editor.plan().sweeps[0].batch_size) == ("16", (16,))


def test_models_are_found_by_name_suite_and_family(editor: SweepEditor) -> None:
    picker = editor.grid_form.models

    def list_models() -> set[str]:
        return {
            name
            for name, item in picker._items.items()
            if not item.isHidden() and (group := item.parent()) and not group.isHidden()
        }

    picker.search.setText("lstm tiny")
    assert list_models() == {"lstm_tiny", "lstm_tiny_seq"}
    picker.search.setText("squeezenet")
    assert list_models() and all("squeezenet" in name for name in list_models())


def test_a_dropped_model_is_chosen_and_anything_else_is_refused(
    editor: SweepEditor, qtbot: QtBot, tmp_path: Path
) -> None:
    tree, model = editor.grid_form.models.tree, tiny_model(tmp_path / "mine.onnx")
    _drop(tree, model)
    with qtbot.waitSignal(editor.failed) as blocker:
        _drop(tree, tmp_path / "notes.txt")
    assert "'notes.txt' is no .onnx file" in str(blocker.args[0])
    assert editor.draft.sweeps[0].models == (str(model),)


def test_a_file_that_cannot_be_read_is_told_before_a_run(
    editor: SweepEditor, qtbot: QtBot, tmp_path: Path
) -> None:
    whole = tiny_model(tmp_path / "whole.onnx")
    half = tmp_path / "half.onnx"
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    picker = editor.grid_form.models
    _drop(picker.tree, half)
    qtbot.waitUntil(picker.fault.isVisible, timeout=20_000)
    assert "half.onnx" in picker.fault.text()
    assert not picker._items[str(half)].icon(0).isNull()
    assert not editor.footer.run_button.isEnabled(), "there is nothing to measure"
    with qtbot.waitSignal(editor.failed, timeout=20_000) as blocker:
        editor.ask_to_run()
    assert "half.onnx" in str(blocker.args[0]), "F5 says the same"
    _drop(picker.tree, whole)
    qtbot.waitUntil(editor.footer.run_button.isEnabled, timeout=20_000)
    assert picker.fault.isVisible(), "the others are measured, and it is still told"
    assert picker._items[str(whole)].icon(0).isNull()
    picker._items[str(half)].setCheckState(0, Qt.CheckState.Unchecked)
    assert not picker.fault.isVisible()


def _open_model(folder: Path, place: int, axis: str) -> Path:
    path = tiny_model(folder / "open.onnx")
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[place].dim_param = axis
    onnx.save(model, path)
    return path


def test_an_open_axis_is_asked_for_before_the_start_and_a_batch_is_assumed(
    editor: SweepEditor, qtbot: QtBot, tmp_path: Path
) -> None:
    tree, form, footer = editor.grid_form.models.tree, editor.grid_form, editor.footer
    _drop(tree, _open_model(tmp_path, 0, "batch"))
    qtbot.waitUntil(form.models.assumed.isVisible, timeout=20_000)
    assert "open.onnx with batch = 1" in form.models.assumed.text()
    with qtbot.waitSignal(editor.run_asked, timeout=20_000) as blocker:
        footer.run_button.click()
    assert blocker.args[0].sweeps[0].models == (str(tmp_path / "open.onnx"),)
    form.fields["batch_size"].setFocus()
    QTest.keyClicks(form.fields["batch_size"], "2")
    qtbot.waitUntil(lambda: not form.models.assumed.isVisible(), timeout=20_000)
    (tmp_path / "other").mkdir()
    _drop(tree, _open_model(tmp_path / "other", 1, "rows"))
    qtbot.waitUntil(lambda: "'rows'" in footer.verdict.text(), timeout=20_000)
    assert "--" not in footer.verdict.text(), "it names a field and no option"
    assert "Other axes" in footer.verdict.text()
    QTest.keyClicks(form.fields["axes"], "rows=4,8")
    qtbot.waitUntil(lambda: footer.verdict.text().split()[1].startswith("case"), timeout=20_000)


def test_every_runtime_is_listed_with_its_version_or_its_reason(
    editor: SweepEditor, qtbot: QtBot
) -> None:
    editor.learn_runtimes()
    items = editor.grid_form.runtimes._items
    qtbot.waitUntil(lambda: all(items[name].text(1) for name in registry.names()), timeout=10_000)
    for name in registry.names():
        status = availability(name)
        if isinstance(status, Available):
            assert items[name].text(1) == status.version
        else:
            assert items[name].text(1) == status.reason
            assert status.remedy in items[name].toolTip(0)


def test_a_runtime_of_an_environment_or_of_several_devices_is_typed_and_then_listed(
    editor: SweepEditor,
) -> None:
    picker = editor.grid_form.runtimes
    _check(editor, "ort-cpu")
    QTest.keyClicks(picker.another, "ort-cpu@spring, openvino-cpu@spring, fake:0+1")
    QTest.keyClick(picker.another, Qt.Key.Key_Return)
    runtimes = ("ort-cpu", "ort-cpu@spring", "openvino-cpu@spring", "fake:0+1")
    assert editor.draft.sweeps[0].runtimes == runtimes
    assert picker._items["ort-cpu@spring"].parent() is picker._items["ort-cpu"]
    assert picker._items["fake:0+1"].parent() is picker._items["fake"]
    _check(editor, "ort-cpu@spring")
    assert set(editor.draft.sweeps[0].runtimes) == {*runtimes} - {"ort-cpu@spring"}


def test_several_grids_keep_what_is_theirs(editor: SweepEditor, qtbot: QtBot) -> None:
    with qtbot.waitSignal(editor.models_asked):
        editor.ask_to_run()
    _check(editor, "cnn_tiny")
    editor.add_grid.click()
    _check(editor, "mlp")
    assert [sweep.models for sweep in editor.plan().sweeps] == [("cnn_tiny",), ("mlp",)]
    editor.tabs.setCurrentIndex(0)
    editor.remove_grid.click()
    assert [sweep.models for sweep in editor.plan().sweeps] == [("mlp",)]
