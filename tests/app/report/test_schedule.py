"""What a simulated card does with a request is drawn from its own compiler's answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.capabilities.simulated_card.inference import CardEvent, CardRun, card_runs, question
from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.scenario import Scenario
from app.columns.rows import Rows
from app.notebook import open as open_run
from app.report.execution_figures import MAXIMUM_EVENTS, schedule
from app.report.figures import timed_cases
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from exporters.types import GraphlapError
from tests.app.run_folder.runs import manifest_of, record
from tests.runtimes.graphs import Graphs

STEP = Case("step", "fpga:ia-420f", axes={"batch": 1})
PACED = replace(STEP, scenario=Scenario("paced", gap_us=50.0))
GONE = Case("gone", "fpga:v80", axes={"batch": 1})
MEASURED = Case("step", "ort-cpu", axes={"batch": 1})


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    return Graphs(tmp_path_factory.mktemp("graphs"))


@pytest.fixture(scope="module")
def path(graphs: Graphs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cards") / "run"
    with RunFolder.create(path, manifest_of((STEP, PACED, GONE, MEASURED), rounds=1)) as folder:
        folder.record(ModelExported("step", "fp32", graphs.step))
        folder.record(ModelExported("gone", "fp32", replace(graphs.step, path="nowhere/gone.onnx")))
        for case in (STEP, PACED, GONE):
            record(folder, case, 0, [5.0] * 40, clock="simulated")
        record(folder, MEASURED, 0, [20.0] * 40)
    return path


def test_its_bars_are_the_instructions_of_the_cards_own_schedule(
    path: Path, graphs: Graphs
) -> None:
    (answer,) = card_runs([question(STEP, graphs.step)])
    assert isinstance(answer, CardRun)
    issues, flows = open_run(path).schedule(STEP.case_id).figure.series
    starts = sorted(mark.start for mark in issues.marks)
    assert starts == sorted(event.begun for event in answer.events)
    assert max(mark.x for mark in flows.marks) == answer.cycles
    assert {round(mark.y) for mark in issues.marks} == set(range(len(answer.units)))


def test_a_page_has_one_of_each_model_and_says_what_is_left_out(path: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(path), "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.count("<figcaption>Schedule of step") == 1
    assert "Schedule of gone" in text and "not available (" in text
    assert "The schedules of 2 of 3 simulated cases are drawn" in text


def test_a_case_that_ran_on_no_card_has_none(path: Path) -> None:
    with pytest.raises(ResultsError, match="it did not run on a simulated card"):
        open_run(path).schedule(MEASURED.case_id)
    with pytest.raises(ResultsError, match=r"gone\.onnx"):
        open_run(path).schedule(GONE.case_id)


def test_of_very_many_instructions_the_longest_are_drawn(path: Path) -> None:
    run = open_run(path).run
    timed_case = timed_cases(run, Rows().measured(run))[0]
    events = tuple(
        CardEvent(f"n{place}", "matrix", 10 * place, 10 * place + 1, 10 * place + 1 + place % 9)
        for place in range(2 * MAXIMUM_EVENTS)
    )
    last = events[-1].done
    figure = schedule(timed_case, CardRun("m", "V80", "r", 800.0, 0.1, last, 1, 2, (1,), events))
    issues, flows = figure.series
    assert len(issues.marks) == len(flows.marks) == MAXIMUM_EVENTS
    assert min(mark.x - mark.start for mark in flows.marks) >= 4, "the short ones are left out"
    assert f"{MAXIMUM_EVENTS} of {2 * MAXIMUM_EVENTS}" in figure.note


@pytest.mark.rare
def test_a_question_that_ends_the_compiler_leaves_the_others_theirs(graphs: Graphs) -> None:
    answer = question(STEP, graphs.step)
    first, second, third = card_runs([answer, "no json", answer])
    assert isinstance(second, GraphlapError) and "exit code 1" in second.cause
    assert isinstance(first, CardRun)
    assert third == first
