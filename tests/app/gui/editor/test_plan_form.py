"""What holds for all grids of a sweep, and when the next run begins: typed, kept in the plan."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.cases.scenario import Scenario, ScenarioKind
from app.gui.editor.draft import FIRST
from app.gui.editor.editor import SweepEditor
from app.gui.editor.grid_form import ScenarioField
from app.plan.expand import expand
from app.plan.plan import EMPTY, Plan
from app.plan.plan_files import load_plan, plan_toml
from app.plan.settings.sweep import Sweep

TYPED = {
    "percentiles": ("50, 99, 99.99", (50.0, 99.0, 99.99)),
    "precise": ("p50=1%, p99=0.1", {"p50": 0.01, "p99": 0.1}),
    "baseline": ("cnn_tiny", "cnn_tiny"),
    "band": ("3.5%", 0.035),
    "deadline_us": ("2ms", 2000.0),
    "cold_start": ("20", 20),
    "page_cache": ("dropped", "dropped"),
    "budget_s": ("2m", 120.0),
    "environments": ("a=/x/python b=python3", {"a": "/x/python", "b": "python3"}),
    "input_range": ("ids=0:9 mask=0:1", {"ids": (0.0, 9.0), "mask": (0.0, 1.0)}),
    "weights": ("net.safetensors", "net.safetensors"),
    "states": ("h_out=h_in c_out=c_in", {"h_out": "h_in", "c_out": "c_in"}),
    "custom_ops": ("ops.so", ("ops.so",)),
}
"""What is typed into a field of each kind, and what the plan then holds."""


@pytest.fixture
def editor(editor: SweepEditor) -> SweepEditor:
    """With all of its fields in sight."""
    editor.set_draft(FIRST, "first")
    for fold in editor.plan_form.folds.values():
        fold.button.click()
    return editor


def test_what_is_typed_of_the_whole_sweep_becomes_the_plan_and_its_file(
    editor: SweepEditor, tmp_path: Path
) -> None:
    for key, (text, _) in TYPED.items():
        QTest.keyClicks(editor.plan_form.fields[key], text)
    editor.plan_form.boxes["checked"].click()
    editor.plan_form.boxes["save_inputs"].click()
    plan = editor.plan()
    assert {key: getattr(plan, key) for key in TYPED} == {k: v for k, (_, v) in TYPED.items()}
    assert not plan.checked and plan.save_inputs and not plan.rotate_inputs
    file = tmp_path / "kept.toml"
    file.write_text(plan_toml(plan), "utf-8")
    assert load_plan(file) == plan


def test_a_plan_that_is_opened_shows_what_it_sets(editor: SweepEditor, tmp_path: Path) -> None:
    sweep = Sweep(models=("mlp",), runtimes=("ort-cpu",))
    plan = Plan(sweeps=(sweep,), precise={"p99": 0.05}, band=0.03, budget_s=90.0, rounds=20)
    file = tmp_path / "nightly.toml"
    file.write_text(plan_toml(plan), "utf-8")
    editor.open_plan(file)
    fields = editor.plan_form.fields
    shown = [fields[key].text() for key in ("precise", "band", "budget_s")]
    assert shown == ["p99=5%", "3%", "90s"]
    assert editor.plan() == plan


def test_every_key_of_a_plan_has_a_field_in_the_editor(editor: SweepEditor) -> None:
    field_keys = {*editor.plan_form.fields, *editor.plan_form.boxes}
    assert field_keys | {"name", "profile", "sweeps"} == set(Plan.model_fields)


@pytest.mark.parametrize(
    ("key", "text", "told"),
    [
        ("batch_size", "1, two", "two"),
        ("batcher", "max=0,wait=2ms", "collects 0 requests"),
        ("precise", "p50", "write it as p50=1%,p99=10%"),
        ("budget_s", "soon", "Budget soon is no time"),
        ("weights", "gone.safetensors", "gone.safetensors"),
        ("deadline_us", "soon", "Deadline soon is no time that a run may take"),
    ],
)
def test_what_is_wrong_is_said_in_the_plans_own_words(
    editor: SweepEditor, qtbot: QtBot, key: str, text: str, told: str
) -> None:
    field = {**editor.grid_form._parts, **editor.plan_form.fields}[key]
    assert isinstance(field, QLineEdit)
    QTest.keyClicks(field, text)
    qtbot.waitUntil(lambda: told.lower() in editor.footer.verdict.text().lower())
    assert not editor.footer.run_button.isEnabled()
    field.clear()
    QTest.keyClick(field, Qt.Key.Key_Space)
    qtbot.waitUntil(editor.footer.run_button.isEnabled)
    for draft, usual in ((editor.draft, EMPTY), (editor.draft.sweeps[0], FIRST.sweeps[0])):
        assert getattr(draft, key, None) == getattr(usual, key, None)


def _type(field: ScenarioField, kind: ScenarioKind, text: str) -> None:
    field.figures[kind].clear()
    QTest.keyClicks(field.figures[kind], text)


def test_every_kind_of_scenario_is_chosen_by_a_click_with_several_figures_and_its_pause(
    editor: SweepEditor,
) -> None:
    form, field = editor.grid_form, editor.grid_form.scenarios
    kinds = list(get_args(ScenarioKind))
    assert list(field.boxes) == kinds
    paused = ("paced:20us", "rate:10/s", "poisson:10/s", "burst:2@5ms")
    field.boxes["closed_loop"].click()
    assert "no scenario is chosen" in field.problem
    for kind, box in field.boxes.items():
        box.click()
        has_pause = any(text.startswith(f"{kind}:") for text in paused)
        assert form.wait_policy.isEnabled() is has_pause, kind
        box.click()
    for box in field.boxes.values():
        box.click()
    scenarios = editor.plan().sweeps[0].scenarios
    assert [Scenario.parse(text).kind for text in scenarios] == kinds
    assert len(expand(editor.plan())) == 2 * len(kinds)
    _type(field, "poisson", "100/s, 250/s")
    _type(field, "burst", "4@1ms")
    assert not field.problem
    scenarios = editor.plan().sweeps[0].scenarios
    assert {"poisson:100/s", "poisson:250/s", "burst:4@1000us"} <= set(scenarios)
    assert field.figures["burst"].text() == "4@1ms", "what was typed stays as it was typed"
    texts = tuple(str(Scenario.parse(text)) for text in sorted(paused))
    grid = FIRST.sweeps[0].model_copy(update={"scenarios": texts})
    editor.set_draft(FIRST.model_copy(update={"sweeps": (grid,)}), "open")
    shown = [
        f"{kind}:{field.figures[kind].text()}" for kind in kinds if field.boxes[kind].isChecked()
    ]
    assert {str(Scenario.parse(text)) for text in shown} == set(texts)


def test_conditions_and_batchers_are_axes_and_a_baseline_is_offered_from_what_is_measured(
    editor: SweepEditor,
) -> None:
    plain, baseline = editor.grid_form._parts, editor.plan_form.fields["baseline"]
    QTest.keyClicks(plain["conditions"], "none, cold:64MB")
    QTest.keyClicks(plain["batcher"], "none; max=8,wait=2ms")
    QTest.keyClicks(baseline, "lstm")
    completer = baseline.completer()
    assert completer.currentCompletion() == "lstm_tiny"
    completer.activated.emit(completer.currentCompletion())
    assert editor.draft.baseline == "lstm_tiny"
    (sweep,) = editor.plan().sweeps
    assert sweep.batcher == ("none", "max=8,wait=2ms")
    assert len(sweep.conditions) == 2 and sweep.conditions[0] == "none"
    editor.set_draft(FIRST, "again")
    editor.undo_stack.undo()
    assert plain["batcher"].text() == "none; max=8,wait=2ms"
