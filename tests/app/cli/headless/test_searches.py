"""Searches and sequential comparisons in real rounds: an end, and budgets that end before."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.plan.expand import expand
from app.plan.plan_files import load_plan
from app.stats.option_search import search
from tests.app.cli.headless.batch import FAKE, recorded, rows, run
from tests.app.cli.headless.faulty_runs import FAST_US, SLOW_US, made, plan_of

SCRIPT = ("--option", "fake.latency_us=2000", "--option", "fake.wait=sleep")


SEARCH = (
    *("--headless", "--models", "add.onnx", *FAKE, *SCRIPT),
    *("--idle-policy", "sleep", "--preset", "glance", "--rounds", "4"),
)


def test_a_target_below_one_service_ends_at_once_with_the_least_possible(work: Path) -> None:
    """Beside another model at work, which is there in every round of a search."""
    condition_options = ("--condition", "with:add.onnx")
    code, out, log = run(*SEARCH, *condition_options, "--slo", "p90=1ms", "--out", "run")
    assert code == 0, log
    assert "the least possible" in out
    assert recorded(work / "run") == 4
    (row,) = rows(work / "run")
    assert float(row["colocated_runs_per_s"]) > 0


@pytest.mark.parametrize(
    "search",
    [("--slo", "p99=5ms"), ("--tune", "p99"), ("--largest-batch", "--memory-limit", "4GiB")],
    ids=["slo", "tune", "largest"],
)
def test_a_search_whose_export_the_budget_ends_is_over_for_now(
    work: Path, monkeypatch: pytest.MonkeyPatch, search: tuple[str, ...]
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(work / "empty"))
    arguments = ("--models", "mlp", "--runtimes", "ort-cpu", "--preset", "glance", "--out", "run")
    code, out, errors = run("--headless", *arguments, *search, "--budget", "300ms")
    assert code == 1, (out, errors)
    assert {row["status"] for row in rows(work / "run")} == {"cancelled"}
    assert recorded(work / "run") <= 1
    assert "Traceback" not in errors


SCRIPT_TUNE = (
    *("--option", "fake.latency_us=3000,50", "--option", "fake.sessions=1"),
    *("--option", "fake.wait=sleep", "--threads", "1"),
)
TUNE = ("--headless", "--models", "add.onnx", *FAKE, *SCRIPT_TUNE)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty times is enough to tell in few rounds."""
    monkeypatch.setattr(search, "RUNGS", (1,))
    monkeypatch.setattr(search, "TRIAL", 3)
    monkeypatch.setattr(search, "GENERATIONS", 1)


def test_it_prints_the_ladder_and_leaves_a_plan(work: Path) -> None:
    code, out, log = run(*TUNE, "--tune", "p50", "--rounds", "3", "--out", "run")
    assert code == 0, log
    assert "p50, step by step" in out
    assert "latency_us=50.0" in out
    assert {row["status"] for row in rows(work / "run")} == {"ok"}
    assert (work / "run" / "ladder.csv").exists()
    round_count = recorded(work / "run")
    code, again, _ = run("resume", "run")
    assert code == 0
    assert "p50, step by step" in again
    assert recorded(work / "run") == round_count, "a search that is over measures nothing"
    (case,) = expand(load_plan(work / "run" / "tuned.toml"))
    assert case.options == {"latency_us": 50.0, "wait": "sleep"}


def test_a_budget_that_ends_a_search_leaves_a_plan_and_goes_on(work: Path) -> None:
    """And a resume has a budget of its own."""
    tune = (*TUNE, "--tune", "p50", "--rounds", "3")
    code, out, log = run(*tune, "--budget", "3s", "--out", "run")
    assert code == 1, "it has no answer"
    assert "at least" in log.splitlines()[1] and "at most 3 s" in log.splitlines()[1]
    round_count = recorded(work / "run")
    assert "resume the run" in out
    (case,) = expand(load_plan(work / "run" / "tuned.toml"))
    assert case.runtime == "fake"
    assert run("resume", "run", "--budget", "soon")[0] == 2
    assert run("resume", "run", "--rounds", "9")[0] == 2
    code, out, log = run("resume", "run", "--budget", "120s")
    assert code == 0, log
    assert "at most 2 min 00 s" in log.splitlines()[0]
    assert recorded(work / "run") > round_count and "resume the run" not in out


def gate_of(*command: str) -> tuple[int, list[str], set[str | None]]:
    """The exit code, the reasons in the JSON, and the types of the errors in the JUnit file."""
    code, _, errors = run(*command, "--json", "v.json", "--junit", "v.xml")
    gate = json.loads(Path("v.json").read_text("utf-8"))["gate"]
    assert gate["exit_code"] == code, errors
    suite = ElementTree.parse("v.xml").getroot()
    types = {element.get("type") for element in suite.findall("testcase/error")}
    return code, [reason["reason"] for reason in gate["reasons"]], types


@pytest.mark.parametrize(("detect", "code", "figures"), [("40%", 0, []), ("3%", 1, ["p50"])])
def test_a_gate_fails_where_it_could_not_find_the_slowdown_that_it_must(
    work: Path, detect: str, code: int, figures: list[str]
) -> None:
    """Two runs of the same code: the stated variation of 5 % hides a slowdown of 3 %."""
    plan = plan_of(work / "add.onnx", (SLOW_US, FAST_US), judge=["p50"])
    for name in ("old", "new"):
        made(work / name, plan)
    compare = ("compare", "old", "new", "--metrics", "p50", "--detect", detect)
    assert run(*compare)[0] == 0, "without a gate nothing fails"
    reasons = ["detection_limit"] * 2 * len(figures)
    assert gate_of(*compare, "--fail-on", "slower") == (code, reasons, set(reasons))
