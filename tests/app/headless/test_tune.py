"""A search over options as a user runs it: real rounds of a scripted runtime, and an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.plan.expand import expand
from app.plan.plan_files import load_plan
from app.tune import search
from tests.app.headless.batch import FAKE, recorded, rows, run

SCRIPT = (
    *("--option", "fake.latency_us=3000,50", "--option", "fake.sessions=1"),
    *("--option", "fake.wait=sleep", "--threads", "1"),
)
TUNE = ("--headless", "--models", "add.onnx", *FAKE, *SCRIPT, "--preset", "glance")


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
    assert "has p50" in out
    assert "against itself" in out
    assert {row["status"] for row in rows(work / "run")} == {"ok"}
    assert (work / "run" / "ladder.csv").exists()
    round_count = recorded(work / "run")
    code, again, _ = run("resume", "run")
    assert code == 0
    assert "p50, step by step" in again
    assert recorded(work / "run") == round_count, "a search that is over measures nothing"
    (case,) = expand(load_plan(work / "run" / "tuned.toml"))
    assert case.options == {"latency_us": 50.0, "wait": "sleep"}


def test_a_default_that_fails_has_no_answer(work: Path) -> None:
    failing = ("--option", "fake.fail=run")
    code, out, _ = run(*TUNE, *failing, "--tune", "p50", "--out", "run")
    assert code == 1
    assert "fake was set to fail this run" in out


def test_what_can_not_be_asked_writes_nothing(work: Path) -> None:
    code, _, log = run(*TUNE, "--tune", "soon", "--out", "run")
    assert code == 2
    assert "'soon' is no goal: write it like p99" in log
    assert not (work / "run").exists()


def test_a_budget_that_ends_a_search_leaves_a_plan_and_goes_on(work: Path) -> None:
    """And a resume has a budget of its own."""
    tune = (*TUNE, "--tune", "p50", "--rounds", "3")
    code, out, log = run(*tune, "--budget", "3s", "--out", "run")
    assert code == 1, "it has no answer"
    assert "at least" in log.splitlines()[0] and "at most 3 s" in log.splitlines()[0]
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


def test_a_run_of_known_length_is_announced_with_it(work: Path) -> None:
    rounds = ("--preset", "glance", "--rounds", "1", "--out", "run")
    _, _, log = run("--headless", "--models", "add.onnx", *FAKE, *rounds)
    assert "at least" not in log and "or more" not in log and "about" in log.splitlines()[0]
    code, _, log = run("resume", "run", "--budget", "1m")
    assert code == 0, log


def test_a_check_takes_no_budget_when_it_goes_on(work: Path) -> None:
    run("check", "--models", "add.onnx", *FAKE, "--out", "run")
    assert run("resume", "run", "--budget", "1m")[0] == 2
