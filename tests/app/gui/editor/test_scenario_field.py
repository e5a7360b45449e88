"""When the next run begins, as a user chooses it: every kind there is, with its figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.cases.scenario import Scenario, ScenarioKind
from app.gui.editor.editor import SweepEditor
from app.gui.editor.grid_form import ScenarioField
from app.gui.editor.presets import FIRST
from app.plan.expand import expand


@pytest.fixture
def editor(qtbot: QtBot, tmp_path: Path) -> Iterator[SweepEditor]:
    sweep_editor = SweepEditor()
    qtbot.addWidget(sweep_editor)
    sweep_editor.resize(380, 900)
    sweep_editor.show()
    sweep_editor.set_draft(FIRST, "first")
    yield sweep_editor
    sweep_editor.close_background()


@pytest.fixture
def field(editor: SweepEditor) -> ScenarioField:
    return editor.grid_form.scenarios


def _type(field: ScenarioField, kind: ScenarioKind, text: str) -> None:
    field.figures[kind].clear()
    QTest.keyClicks(field.figures[kind], text)


def test_every_kind_of_scenario_can_be_chosen_by_one_click(
    editor: SweepEditor, field: ScenarioField
) -> None:
    assert list(field.boxes) == list(get_args(ScenarioKind))
    for kind, box in field.boxes.items():
        if kind != "closed_loop":
            box.click()
    kinds = [Scenario.parse(text).kind for text in editor.plan().sweeps[0].scenarios]
    assert kinds == list(get_args(ScenarioKind))
    assert len(expand(editor.plan())) == 2 * len(kinds)


def test_several_figures_of_a_kind_are_as_many_scenarios(
    editor: SweepEditor, field: ScenarioField
) -> None:
    field.boxes["closed_loop"].click()
    field.boxes["poisson"].click()
    _type(field, "poisson", "100/s, 250/s")
    assert not field.problem
    field.boxes["burst"].click()
    _type(field, "burst", "4@1ms")
    scenarios = editor.plan().sweeps[0].scenarios
    assert scenarios == ("poisson:100/s", "poisson:250/s", "burst:4@1000us")
    assert field.figures["burst"].text() == "4@1ms", "what was typed stays as it was typed"


@pytest.mark.parametrize(
    ("kind", "text"),
    [("rate", "fast"), ("rate", "0/s"), ("paced", ""), ("burst", "8@0ms"), ("multistream", "0")],
)
def test_figures_that_mean_nothing_are_refused_in_the_scenarios_own_words(
    editor: SweepEditor, field: ScenarioField, qtbot: QtBot, kind: ScenarioKind, text: str
) -> None:
    with pytest.raises(ValueError) as error:
        Scenario.parse(f"{kind}:{text}")
    cause, _, remedy = str(error.value).partition("; ")
    field.boxes[kind].click()
    _type(field, kind, text)
    field.figures[kind].textEdited.emit(text)
    qtbot.waitUntil(
        lambda: cause in editor.footer.verdict.text() and remedy in editor.footer.verdict.text()
    )
    assert field.figures[kind].property("invalid")
    assert not editor.footer.run_button.isEnabled()
    field.boxes[kind].click()
    qtbot.waitUntil(editor.footer.run_button.isEnabled)


@pytest.mark.parametrize("text", ["paced:20us", "rate:10/s", "poisson:10/s", "burst:2@5ms"])
def test_how_a_pause_is_waited_out_can_be_chosen_where_there_is_one(
    editor: SweepEditor, text: str
) -> None:
    form = editor.grid_form
    assert not form.wait_policy.isEnabled()
    for other in ("offline", "multistream"):
        form.scenarios.boxes[other].click()
    assert not form.wait_policy.isEnabled()
    grid = FIRST.sweeps[0].model_copy(update={"scenarios": (str(Scenario.parse(text)),)})
    editor.set_draft(FIRST.model_copy(update={"sweeps": (grid,)}), "open")
    assert form.wait_policy.isEnabled()
    kind = Scenario.parse(text).kind
    assert form.scenarios.boxes[kind].isChecked()
    assert [str(Scenario.parse(f"{kind}:{form.scenarios.figures[kind].text()}"))] == list(
        grid.scenarios
    )


def test_conditions_and_batchers_are_axes_of_their_own(
    editor: SweepEditor, field: ScenarioField, qtbot: QtBot
) -> None:
    plain = editor.grid_form._parts
    QTest.keyClicks(plain["conditions"], "none, cold:64MB")
    QTest.keyClicks(plain["batcher"], "none; max=8,wait=2ms")
    (sweep,) = editor.plan().sweeps
    assert sweep.batcher == ("none", "max=8,wait=2ms")
    assert len(sweep.conditions) == 2 and sweep.conditions[0] == "none"
    editor.set_draft(FIRST, "again")
    editor.undo_stack.undo()
    assert plain["batcher"].text() == "none; max=8,wait=2ms"
    plain["batcher"].clear()
    QTest.keyClicks(plain["batcher"], "max=0,wait=2ms")
    qtbot.waitUntil(lambda: "collects 0 requests" in editor.footer.verdict.text())
