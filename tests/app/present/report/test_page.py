"""The page of a run in a real browser: marks, filters, and hostile names that do nothing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.case import Case
from app.cases.scenario import Scenario
from app.run_folder.folder import RunFolder
from tests.app.present.report.pages import CHROMIUM, answer_in
from tests.app.run_folder.runs import damage_line, manifest_of, record

RUNTIMES = ("ort-cpu", "openvino-cpu")
HOSTILE = "</script><img src=x onerror=alert(1)><b>&amp;.onnx"
CASES = (
    *(Case("net.onnx", runtime, axes={"batch": n}) for runtime in RUNTIMES for n in (1, 8)),
    *(Case("other.onnx", runtime) for runtime in RUNTIMES),
    *(Case("net.onnx", "ort-cpu", scenario=Scenario("rate", rate_hz=hz)) for hz in (100.0, 400.0)),
    Case(HOSTILE, "ort-cpu"),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "run"
    with RunFolder.create(path, manifest_of(CASES, rounds=3)) as folder:
        for place, case in enumerate(CASES[:-1]):
            for number in range(3):
                latencies = [10.0 + place + 0.1 * number + 0.01 * run for run in range(500)]
                record(folder, case, number, latencies)
        record(folder, CASES[-1], 0, status="crashed", reason=f"signal SIGSEGV: {HOSTILE}")
    return path


@pytest.fixture(scope="module")
def page(run: Path) -> Path:
    path = run.parent / "page" / "report.html"
    assert main(["report", str(run), "-o", str(path)]) == 0
    return path


def test_it_asks_for_nothing_beyond_itself(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
    assert "@import" not in text
    assert len(text) < 500_000, "small enough to be sent"
    assert "content=\"default-src 'none';" in text, "and a browser would not let it"


def test_a_large_run_has_figures_and_rows_of_some_cases_and_an_answer_from_all(
    run: Path, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.present.report.page.MAXIMUM_CASES", 2)
    monkeypatch.setattr("app.present.html.MAXIMUM_ROWS", 1)
    brief = tmp_path / "brief.html"
    assert main(["report", str(run), "-o", str(brief)]) == 0
    whole, part = (path.read_text("utf-8") for path in (page, brief))
    assert "8 of 9 cases measured" in part, "all of them count"
    models = [re.findall(r"Figures of ([\w.]+)<", text) for text in (whole, part)]
    assert models == [["net.onnx", "other.onnx"], ["net.onnx"]], "whole models, at least one"
    rows = [re.findall(r'<tr data-case="(\w+)"', text) for text in (whole, part)]
    assert rows[1] and set(rows[1]) < set(rows[0])
    answers = [text.partition("<tbody>")[2].partition("</tbody>")[0] for text in (whole, part)]
    assert [answer.count("<tr") for answer in answers] == [answers[0].count("<tr"), 1]
    assert answers[0] != answers[1]


needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: apt install chromium"
)

MEASURE = """
addEventListener("load", () => setTimeout(() => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const drawings = [...document.querySelectorAll("svg")].filter((one) => one.clientWidth);
  const outside = drawings.flatMap((one) => [...one.querySelectorAll("text")].filter((text) => {
    const [all, own] = [one.getBoundingClientRect(), text.getBoundingClientRect()];
    return own.left < all.left - 1 || own.right > all.right + 1 || own.bottom > all.bottom + 1;
  })).map((text) => text.textContent);
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify({ wide: document.documentElement.scrollWidth,
    room: innerWidth, drawn: drawings.length, outside });
  document.body.append(answer);
}, 500));
"""

LOOK = """
addEventListener("load", () => setTimeout(() => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const plots = [...document.querySelectorAll(".wide svg")];
  const parts = (plot) => [...plot.querySelectorAll("[data-cases]")];
  const told = () => plots.map((plot) => parts(plot).filter((g) => g.style.display === "").length);
  const before = told();
  const box = document.querySelector("input");
  box.value = "openvino-cpu net";
  box.dispatchEvent(new Event("input"));
  setTimeout(() => {
    const rows = [...document.querySelectorAll("tbody tr[data-case]")];
    const filtered = rows.filter((row) => !row.hidden).map((row) => row.textContent);
    const after = told();
    box.value = "";
    box.dispatchEvent(new Event("input"));
    const buttons = [...document.querySelectorAll("th button")];
    const heading = buttons.find((button) => button.textContent === "p50");
    heading.click(); heading.click();
    const place = [...heading.closest("tr").children].indexOf(heading.closest("th"));
    const sorted = [...document.querySelectorAll("tbody tr[data-case]")]
      .map((row) => row.children[place].dataset.value);
    const marks = plots.map((plot) => plot.querySelectorAll("g[data-cases] > *").length);
    const wide = document.documentElement.scrollWidth;
    const answer = document.createElement("pre");
    answer.id = "answer";
    answer.textContent = JSON.stringify({ before, after, filtered, sorted, marks, wide,
      strange: document.querySelectorAll("main img, main b").length });
    document.body.append(answer);
  }, 500);
}, 500));
"""


@needs_chromium
@pytest.mark.parametrize("width", [1400, 400])
def test_a_page_has_room_at_any_width(page: Path, width: int) -> None:
    answer = answer_in(page, MEASURE, width=width)
    assert answer["wide"] <= answer["room"], "nothing is scrolled sideways"
    assert answer["drawn"] > 0 and not answer["outside"]


@needs_chromium
def test_in_a_browser_figures_have_marks_filters_work_and_nothing_of_a_name_runs(
    page: Path,
) -> None:
    answer = answer_in(page, LOOK)
    assert answer["strange"] == 0
    assert len(answer["before"]) == 1 + 6 + 3, "of both models, and of each what it has"
    assert all(answer["marks"]), "every figure shows something"
    assert len(answer["filtered"]) == 2
    assert all("openvino-cpu" in row for row in answer["filtered"])
    assert answer["after"] != answer["before"], "figures follow the filter"
    values = [float(value) for value in answer["sorted"] if value]
    assert values == sorted(values, reverse=True)
    assert not answer["sorted"][-1], "what was not measured comes last"


def test_two_runs_that_share_no_case_are_one_page_and_those_of_one_name_told_apart(
    run: Path, tmp_path: Path
) -> None:
    third, out = Case("third.onnx", "ort-cpu"), tmp_path / "both.html"
    for other, cases in ((tmp_path / "apart", (third,)), (tmp_path / "new" / run.name, CASES)):
        with RunFolder.create(other, manifest_of(cases)) as folder:
            record(folder, cases[0], 0, [10.0] * 20)
        assert main(["report", str(run), str(other), "-o", str(out)]) == 0
        text = out.read_text("utf-8")
        if cases == (third,):
            assert "third" in text and f" against {run.name}" not in text
        else:
            sides = [f"{path.parent.name}/{path.name}" for path in (run, other)]
            assert f"<h1>{sides[1]} against {sides[0]}</h1>" in text
            assert all(f": {side}</h1>" in text for side in sides)


def test_a_damaged_line_is_told_and_the_rest_is_shown(run: Path, tmp_path: Path) -> None:
    copy, out = Path(shutil.copytree(run, tmp_path / "run")), tmp_path / "r.html"
    damage_line(copy, 3)
    for runs in ((copy,), (run, copy)):
        assert main(["report", *map(str, runs), "-o", str(out)]) == 1
        text = out.read_text("utf-8")
        assert "line 3 is damaged" in text and "openvino-cpu" in text
