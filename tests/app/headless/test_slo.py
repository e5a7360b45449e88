"""Searches for the highest rate: real rounds, an end, and budgets that end before."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.app.headless.batch import FAKE, launch, recorded, rows, run, samples_of, wait_for_rounds

LONGEST_S = 60


SCRIPT = ("--option", "fake.latency_us=20000", "--option", "fake.wait=sleep")


SHORT = ("--preset", "glance", "--rounds", "4")


SEARCH = ("--headless", "--models", "add.onnx", *FAKE, *SCRIPT, "--idle-policy", "sleep", *SHORT)


@pytest.mark.rare
def test_a_search_that_was_stopped_goes_on_where_it_was(work: Path) -> None:
    """To its end in `python -m tests.benchmarks search`, which takes minutes."""
    process = launch(*SEARCH, "--slo", "p90=1ms", "--out", "run")
    wait_for_rounds(work / "run", 1, process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130
    assert "resume run" in " ".join(out.split())
    old_samples = samples_of(work / "run")
    code, out, log = run("resume", "run")
    assert code == 0, log
    assert "the least possible" in out
    final_samples = samples_of(work / "run")
    assert final_samples.items() >= old_samples.items(), "finished rounds are not measured again"
    code, again, _ = run("resume", "run")
    assert code == 0
    assert "the least possible" in again
    assert samples_of(work / "run") == final_samples, "a search that is over measures nothing"


def test_a_target_below_one_service_ends_at_once_with_the_least_possible(work: Path) -> None:
    """Beside another model at work, which is there in every round of a search."""
    condition_options = ("--condition", "with:add.onnx")
    code, out, log = run(*SEARCH, *condition_options, "--slo", "p90=1ms", "--out", "run")
    assert code == 0, log
    assert "holds no rate at p90 <= 1.00 ms: unloaded its p90 is" in out
    assert "the least possible" in out
    assert recorded(work / "run") == 4
    (row,) = rows(work / "run")
    assert float(row["colocated_runs_per_s"]) > 0


def test_a_runtime_that_fails_is_not_searched(work: Path) -> None:
    failing = ("--headless", "--models", "add.onnx", *FAKE, "--option", "fake.fail=run")
    code, out, _ = run(*failing, "--slo", "p90=1ms", "--out", "run")
    assert code == 1
    assert "holds no rate at p90 <= 1.00 ms: fake was set to fail this run" in out
    assert recorded(work / "run") == 1


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
