"""What a run may hold beside its rounds: operator times and the tries of a search, as shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.window import MainWindow
from app.plan.plan import Plan, parse_plan
from app.plot_data.series import variants
from app.runs.reader import read_run
from tests.app.gui.runs import fake_plan, tiny_model
from tests.app.gui.synthetic import series

TIMEOUT_MS = 90_000


def _measure(window: MainWindow, qtbot: QtBot, plan: Plan) -> Path:
    window.control.run(plan)
    folder = window.control.folder
    assert folder is not None
    qtbot.waitUntil(lambda: window.control.state == "idle", timeout=TIMEOUT_MS)
    return folder


@pytest.mark.rare
def test_operator_times_of_a_real_run_are_shown(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    model = tiny_model(tmp_path / "tiny.onnx")
    sweep = {"models": [str(model)], "runtimes": ["ort-cpu"]}
    plan = parse_plan({"rounds": 1, "profile_ops": True, "sweeps": [sweep]}, "test")
    folder = _measure(window, qtbot, plan)
    window.frame.show_key("operators")
    view = window.views.by_key["operators"]
    qtbot.waitUntil(lambda: view.table()[1] != [], timeout=20_000)
    nodes, operators = view.table()[1], read_run(folder).operators
    assert [row[1] for row in nodes] == ["Relu"]
    assert nodes[0][3] == pytest.approx(1.0), "one operator takes all of the time"
    assert len(operators) == 1


def test_a_case_that_hangs_ends_as_a_timeout_in_the_table(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    plan = fake_plan(tiny_model(tmp_path / "tiny.onnx"), fail=["hang"])
    _measure(window, qtbot, plan.model_copy(update={"time_limit_s": 4.0}))
    qtbot.waitUntil(
        lambda: [case_series.status for case_series in window.table.model.series] == ["timeout"],
        timeout=20_000,
    )
    row = window.table.model.series[0].row
    assert "4 s" in row["reason"]


def test_a_sequence_axis_that_only_one_model_has_splits_no_column() -> None:
    cnn = series("ort-cpu", "cnn", key="a", sequence_length=None)
    lstm = series("ort-cpu", "lstm", key="b", sequence_length=1)
    long = series("ort-cpu", "lstm", key="c", sequence_length=16)
    assert set(variants([cnn, lstm]).values()) == {"ort-cpu"}
    assert variants([cnn, lstm, long]) == {
        "a": "ort-cpu",
        "b": "ort-cpu sequence 1",
        "c": "ort-cpu sequence 16",
    }


def test_options_tell_runs_apart_by_what_differs_alone() -> None:
    on = series("ort-cpu", key="a", options="arena=on;graph=all")
    off = series("ort-cpu", key="b", options="arena=off;graph=all")
    other = series("openvino-cpu", key="c", options="streams=1")
    names = variants([on, off, other])
    assert names == {"a": "ort-cpu arena=on", "b": "ort-cpu arena=off", "c": "openvino-cpu"}
