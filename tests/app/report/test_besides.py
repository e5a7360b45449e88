"""What a plan asked for beside its rows is on the page: searches, ladders, verdicts, replicas."""

from __future__ import annotations

import html
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.case import Case
from app.console.run_summary import FASTEST
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.manifest import read_manifest
from exporters import install_layout
from tests.app.capabilities.slo_search import searched
from tests.app.capabilities.tuning import tuned_runs
from tests.app.columns.filled import MODEL
from tests.app.report.pages import CHROMIUM, rendered
from tests.app.run_folder.runs import manifest_of, record

ORT, OV = (Case("mlp", runtime, axes={"batch": 1}) for runtime in ("ort-cpu", "openvino-cpu"))
TWO = replace(ORT, options={"sessions": 2})
ASKED = Plan(
    sweeps=(
        Sweep(
            models=("mlp",),
            runtimes=("ort-cpu", "openvino-cpu"),
            options={"ort-cpu.sessions": (1, 2)},
        ),
    ),
    baseline="ort-cpu",
)


APART = {"name", "sweeps"}
"""What may be written otherwise; of the grids the cases are compared."""


def words_of(run: Path) -> str:
    """The page without the figures, a tag a line."""
    out = run.with_suffix(".html")
    assert main(["report", str(run), "-o", str(out)]) == 0
    text = out.read_text("utf-8")
    text = re.sub(r"<script.*?</script>", "", text[text.index("<main>") :], flags=re.DOTALL)
    return html.unescape(re.sub(r"(<[^>]*>)+", "\n", text))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("besides") / "run"
    manifest = manifest_of((ORT, TWO, OV), rounds=3)
    with RunFolder.create(path, replace(manifest, plan=ASKED.model_dump(mode="json"))) as folder:
        folder.record(ModelExported("mlp", "fp32", MODEL))
        for number in range(3):
            record(folder, ORT, number, [10.0 + 0.01 * number] * 400)
            record(folder, TWO, number, [20.0 + 0.01 * number] * 400, concurrency=2)
            record(folder, OV, number, [30.0 + 0.01 * number] * 400)
    return path


def test_a_baselines_verdicts_and_what_replicas_serve_are_told(several: Path) -> None:
    text = words_of(several)
    assert "\nagainst ort-cpu, round by round\n" in text
    assert re.search(r"openvino-cpu\np50\n.*\n.*\n.*\nslower\n", text)
    assert "\nscaling\n" in text
    assert "50%" in text, "two that take twice as long each serve as much as one"


def test_the_command_without_the_folder_measures_the_same_cases(several: Path) -> None:
    by_folder, by_flags = (
        line
        for line in words_of(several).splitlines()
        if line.startswith(f"{install_layout.PROGRAM} run ")
    )
    assert shlex.split(by_folder) == [*install_layout.PROGRAM.split(), "run", str(several)], (
        "from any folder"
    )
    words = shlex.split(by_flags)
    parsed_plan = plan_from_options(parse(words[words.index("run") + 1 :]))
    requested_plan = read_manifest(several).requested_plan
    assert [case.case_id for case in expand(parsed_plan)] == [
        case.case_id for case in expand(requested_plan)
    ]
    assert parsed_plan.model_dump(exclude=APART) == requested_plan.model_dump(exclude=APART)


def test_a_search_for_a_rate_tells_its_steps_and_its_end(tmp_path: Path) -> None:
    with searched.new_search(tmp_path / "run", "p99=5ms") as folder:
        searched.play(folder, searched.Script())
    text = words_of(tmp_path / "run")
    assert text.index("\nAnswer\n") < text.index("\nrates at") < text.index("\nEvidence\n")
    assert "\nrates at p99 <= 5.00 ms\n" in text
    assert "unloaded" in text
    assert re.search(r"\nfake holds .*/s", text), "the sentence"
    assert main(["export", str(tmp_path / "run"), "-f", "markdown"]) == 0
    assert re.search(r"\n- fake holds .*/s", (tmp_path / "run" / "results.md").read_text())


def test_a_search_over_options_shows_its_ladder_and_no_winner_by_luck(tmp_path: Path) -> None:
    with tuned_runs.new_tune(tmp_path / "run", "mean") as folder:
        tuned_runs.play(folder)
    words = words_of(tmp_path / "run")
    assert words.index("\nAnswer\n") < words.index("latency_us=100.0") < words.index("\nEvidence\n")
    assert "the winner against itself" in words
    assert main(["export", str(tmp_path / "run"), "-f", "markdown"]) == 0
    for text in (words, (tmp_path / "run" / "results.md").read_text()):
        assert "the winner against itself" in text
        assert FASTEST not in text, "its cases were chosen by what they took"


@pytest.mark.parametrize("there", ["manifest.json", "results.csv", "."])
def test_a_slip_of_the_output_costs_no_file_of_a_run(
    several: Path, there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = several / there
    if there == "results.csv":
        path.write_text("schema_version\n")
    content = path.read_bytes() if path.is_file() else b""
    assert main(["report", str(several), "-o", str(path)]) == 2
    assert str(path) in capsys.readouterr().err
    assert not content or path.read_bytes() == content


PRINT = """
addEventListener("load", () => setTimeout(() => {
  const folded = () => document.querySelectorAll("details:not([open])").length;
  const told = [];
  for (const name of ["beforeprint", "afterprint"]) {
    dispatchEvent(new Event(name));
    told.push(folded() > 0);
  }
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify({
    told, reached: [...document.querySelectorAll(".scroll, pre")].every((one) =>
      one.id === "answer" || one.tabIndex === 0) });
  document.body.append(answer);
}, 500));
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt install chromium")
def test_a_page_is_printed_with_all_that_is_folded(several: Path) -> None:
    out = several.with_name("print") / "r.html"
    assert main(["report", str(several), "-o", str(out)]) == 0
    elements, console = rendered(out, PRINT, dark=True)
    assert not console
    match = re.search(r'<pre id="answer">(.*?)</pre>', elements, re.DOTALL)
    assert match is not None
    answer = json.loads(match[1])
    assert answer == {"told": [False, True], "reached": True}
