"""The report of two runs, and the schedule that a simulated card draws."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.analysis.plot_data.card import CardRun, card_runs, question
from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.scenario import Scenario
from app.cli.notebook import open as open_run
from app.present.report.comparison_figures import ratio_figures
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.runs.history.run_comparison import RunSide, compare_runs, side_of
from app.runs.reader import read_run
from tests.app.run_folder.runs import manifest_of, record
from tests.app.runs.history.pasts import night_at
from tests.runtimes.graphs import Graphs

FAST, SLOW = (Case("net", runtime) for runtime in ("ort-cpu", "openvino-cpu"))


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Of the second run one case takes twice as long, the other as long as before."""
    paths = tmp_path / "before", tmp_path / "after"
    for path, factor in zip(paths, (1.0, 2.0), strict=True):
        with RunFolder.create(path, manifest_of((FAST, SLOW), rounds=5)) as folder:
            for number in range(5):
                spread = 1.0 + 0.001 * number
                record(folder, FAST, number, [10.0 * spread] * 400)
                record(folder, SLOW, number, [20.0 * spread * factor] * 400)
    return paths


def side(path: Path) -> RunSide:
    run = read_run(path)
    return side_of(run, Rows().measured(run))


def test_each_mark_is_a_ratio_with_the_interval_of_its_verdict(folders: tuple[Path, Path]) -> None:
    comparison = compare_runs(side(folders[0]), side(folders[1]))
    for name, figure in zip(("p50", "p99"), ratio_figures(comparison), strict=False):
        marks = {int(mark.y): mark for mark in figure.marks}
        for place, case in enumerate(comparison.cases):
            sides = case.percentiles[name]
            assert marks[place].x == sides.ratio
            if (interval := sides.verdict.interval) is not None:
                assert (marks[place].low, marks[place].high) == (interval.low, interval.high)
        (twice,) = (marks[k].x for k, label in enumerate(figure.y.names) if "openvino" in label)
        assert twice == pytest.approx(2.0, rel=0.01)
    assert not list(ratio_figures(replace(comparison, cases=())))
    page = folders[0].with_name("page.html")
    assert main(["report", *map(str, folders), "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.index("<h1>after against before</h1>") < text.index('id="run-0"')


def test_the_page_judges_two_runs_by_the_history_as_the_command_does(tmp_path: Path) -> None:
    for number in range(6):
        night_at(tmp_path / "past" / f"{number}", number)
    first = night_at(tmp_path / "a" / "run", 6)
    second = night_at(tmp_path / "b" / "run", 7, 1.1)
    page = tmp_path / "page.html"

    def is_slower(*more: object) -> bool:
        line = ("report", first, second, "-o", page, *more)
        assert main([str(word) for word in line]) == 0
        (figure,) = re.findall(r"<figure.*?</figure>", page.read_text("utf-8"), re.S)[:1]
        return ", slower" in figure

    assert not is_slower()
    assert is_slower("--history", tmp_path / "past")
    for number in range(6):
        night_at(tmp_path / "a" / f"{number}", number)
    assert is_slower(), "the runs beside the first"


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
