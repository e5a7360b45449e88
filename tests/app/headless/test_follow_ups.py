"""Twins, cold starts, baselines and the A/A test as a user has them: files, resume, refusals."""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path

import pytest

from app.cases.jobs import PHASES
from app.runs.reader import read_run
from tests.app.headless.batch import (
    FAKE,
    kill,
    launch,
    recorded,
    rows,
    run,
    samples_of,
    wait_for_rounds,
)

pytestmark = pytest.mark.usefixtures("exported")

SHORT = ("--headless", "--rounds", "1")
INTERVAL = ("--rounds", "3")
"""So many rounds have one."""


def by_name(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    return {(row["model"], row["runtime"]): row for row in rows(folder)}


def test_a_model_minus_its_twin_is_its_compute_with_its_interval(work: Path) -> None:
    code, out, errors = run(
        *SHORT, "--models", "mlp", "--runtimes", "ort-cpu", "--overhead", "--batch", "64",
        *INTERVAL, "--out", "run",
    )  # fmt: skip
    assert code == 0, errors
    rows_by_name = by_name(work / "run")
    model, twin = rows_by_name["mlp", "ort-cpu"], rows_by_name["null(mlp)", "ort-cpu"]
    assert (model["status"], twin["status"]) == ("ok", "ok")
    assert twin["output_ok"] == "true"
    assert model["overhead_case_id"] == twin["case_id"]
    assert model["overhead_p50_us"] == twin["latency_p50_us"]
    assert model["overhead_p99_us"] == twin["latency_p99_us"]
    assert 0.0 < float(twin["latency_p50_us"]) < float(model["latency_p50_us"])
    both = float(model["latency_p50_us"]) - float(model["overhead_p50_us"])
    assert float(model["compute_p50_us"]) == pytest.approx(both)
    assert not twin["compute_p50_us"]
    assert (twin["parameters"], twin["macs"]) == ("0", "0")
    low, compute, high = (
        float(model[f"compute_p50_{name}us"]) for name in ("ci_low_", "", "ci_high_")
    )
    assert low < compute < high
    assert "model minus null" in out
    assert "null(mlp)" not in out, "a no-op copy is no contender"


def test_an_int8_model_has_a_twin_of_what_goes_in_and_out_of_it(work: Path) -> None:
    code, _, errors = run(
        *SHORT, "--models", "mlp", "--runtimes", "ort-cpu", "--precision", "int8", "--overhead",
        "--out", "run",
    )  # fmt: skip
    assert code == 0, errors
    twin = by_name(work / "run")["null(mlp)", "ort-cpu"]
    assert (twin["status"], twin["precision_requested"], twin["precision"]) == (
        "ok",
        "int8",
        "fp32",
    )
    assert "precision_changed" not in twin["warning_codes"]


@pytest.mark.rare
def test_a_resumed_run_measures_the_twins_that_it_lacks(work: Path) -> None:
    process = launch(*SHORT, *INTERVAL, "--models", "add.onnx", *FAKE, "--overhead", "--out", "run")
    wait_for_rounds(work / "run", 3, process)
    kill(process, work / "run")
    samples_before = samples_of(work / "run")
    code, out, _ = run("resume", "run")
    assert code == 0
    samples_after = samples_of(work / "run")
    assert len(samples_after) == 6 and samples_before.items() <= samples_after.items()
    assert by_name(work / "run")["add.onnx", "fake"]["compute_p50_us"]
    assert "model minus null" in out


@pytest.mark.rare
def test_what_comes_after_the_rounds_is_of_models_alone(work: Path) -> None:
    code, out, _ = run(
        *SHORT, "--models", "add.onnx", "--runtimes", "ort-cpu", "--overhead", "--op-times",
        "--out", "run",
    )  # fmt: skip
    assert code == 0
    assert "operators of add.onnx" in out and "operators of null(" not in out


COLD = ("--headless", "--models", "add.onnx", "--preset", "glance", "--rounds", "1")


def started(folder: Path) -> list[tuple[str, int]]:
    """Subject and number of each process that is recorded, in the journal's order."""
    cold_starts = read_run(folder).cold_starts
    return [(subject, number) for subject, starts in cold_starts.items() for number in starts]


def test_fresh_processes_are_a_distribution_with_its_interval(work: Path) -> None:
    code, out, errors = run(
        *COLD, "--runtimes", "ort-cpu,fpga:v80", "--cold-start", "6", "--out", "run"
    )
    assert code == 0, errors
    ort, card = rows(work / "run")
    assert (ort["cold_processes"], ort["cold_page_cache"]) == ("6", "warm")
    low, p50, high, longest = (
        float(ort[f"cold_total_{name}_ms"]) for name in ("p50_ci_low", "p50", "p50_ci_high", "max")
    )
    assert 0.0 < low <= p50 <= high <= longest
    assert all(0.0 < float(ort[f"cold_{phase}_p50_ms"]) < p50 for phase in PHASES)
    starts = read_run(work / "run").cold_starts_of(read_run(work / "run").cases[0])
    for start in starts:
        assert start.total_ms == pytest.approx(sum(start.phases_ms.values()))
        assert start.phases_ms["process"] > 1.0, "no interpreter starts in a millisecond"
        assert not start.files
    assert not card["cold_processes"]
    assert "a simulated card" in card["cold_missing_reason"]
    assert "cold start, medians over fresh processes" in out
    assert "6 processes each; page cache warm" in out


@pytest.mark.rare
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it drops files on Linux alone")
def test_files_that_are_dropped_are_seen_to_be(work: Path) -> None:
    code, _, errors = run(
        *COLD, *FAKE, "--cold-start", "2", "--page-cache", "dropped", "--out", "run"
    )
    assert code == 0, errors
    (starts,) = read_run(work / "run").cold_starts.values()
    assert sorted(starts) == [0, 1], "the process that tells the files is not counted"
    assert all(start.kept_share is not None for start in starts.values())


@pytest.mark.rare
def test_a_resumed_run_starts_only_what_is_missing(work: Path) -> None:
    process = launch(
        *COLD,
        *FAKE,
        "--option",
        "fake.latency_us=50,60",
        "--cold-start",
        "4",
        "--out",
        "run",
    )
    deadline = time.monotonic() + 90
    while not ((work / "run/manifest.json").exists() and len(started(work / "run")) >= 3):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    kill(process, work / "run")
    starts_before = read_run(work / "run").cold_starts
    code, out, _ = run("resume", "run")
    assert code == 0
    starts_after = read_run(work / "run").cold_starts
    assert sorted(map(len, starts_after.values())) == [4, 4]
    for subject, starts in starts_before.items():
        assert all(starts_after[subject][number] == start for number, start in starts.items())
    assert "8 processes" not in out and "4 processes each" in out


MEASURED = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "4")
TWICE = ("--option", "fake.latency_us=200,400", "--baseline", "fake.latency_us=200")


def test_markdown_is_all_that_is_printed_and_no_failure_without_being_asked(work: Path) -> None:
    few = ("--rounds", "3")
    code, out, _ = run(
        *MEASURED, *few, *TWICE, "-f", "markdown", "--threshold", "90%", "--out", "run"
    )
    assert code == 0
    assert out.startswith("## against fake.latency\\_us=200, round by round\n\n1 case against fake")
    assert "a change within 90% does not count" in out


def test_a_baseline_that_was_not_measured_is_told_and_fails_by_its_own_row(work: Path) -> None:
    code, out, _ = run(
        *MEASURED, "--option", "fake.fail=none,unsupported", "--baseline", "fake.fail=unsupported",
        "--rounds", "1", "--out", "run",
    )  # fmt: skip
    assert code == 0, "unsupported fails with --strict, or where a job fails on what is slower"
    assert "not compared: add · fake: its baseline add · fake · fail=unsupported is" in out


ASKED = ("--headless", "--models", "add.onnx", *FAKE, "--aa", "2")


@pytest.mark.rare
def test_a_killed_run_of_comparisons_goes_on_and_tells_wrong_verdicts(work: Path) -> None:
    process = launch(*ASKED, "--rounds", "3", "--out", "run")
    wait_for_rounds(work / "run", 3, process)
    kill(process, work / "run")
    code, out, _ = run("resume", "run", "--json", "aa.json")
    assert code == 0
    assert recorded(work / "run") == 2 * 2 * 3
    assert "each case with itself, 3 rounds a side" in out
    assert "would find a change of " in out
    with (work / "run" / "aa.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["comparisons"] for row in rows} == {"2"} and {row["rounds"] for row in rows} == {
        "3"
    }
    document = json.loads((work / "aa.json").read_text())
    assert document["format"] == "graphlap-aa" and document["together"][-1]["percentile"] == "all"


def test_what_ran_starts_cold_once_for_all_its_scenarios(work: Path) -> None:
    code, _, _ = run(
        *COLD, *FAKE, "--scenario", "closed_loop,paced:20us", "--option",
        "fake.fail=none,unsupported", "--cold-start", "1", "--out", "run",
    )  # fmt: skip
    assert code == 0
    assert len(started(work / "run")) == 1
    for row in rows(work / "run"):
        assert row["cold_processes"] == ("1" if row["status"] == "ok" else "")
        assert not row["cold_missing_reason"]


def test_a_runtime_or_a_model_that_does_not_take_the_twin_says_so_in_its_row(work: Path) -> None:
    """A user's file has no torch module behind it, nor has its twin."""
    (work / "bad.onnx").write_bytes(b"no graph")
    models = ("--models", "add.onnx,bad.onnx", "--runtimes", "ort-cpu,torch-cpu")
    code, out, _ = run(*SHORT, *models, "--overhead", "--out", "run")
    assert code == 1
    rows_by_name = by_name(work / "run")
    assert rows_by_name["null(add.onnx)", "torch-cpu"]["status"] == "unsupported"
    assert rows_by_name["add.onnx", "torch-cpu"]["compute_missing_reason"].startswith(
        "it is unsupported: "
    )
    assert rows_by_name["add.onnx", "ort-cpu"]["compute_p50_us"]
    assert "no compute of add · torch-cpu: it is unsupported" in out
    for name in ("bad.onnx", "null(bad.onnx)"):
        assert rows_by_name[name, "ort-cpu"]["status"] == "export_failed"
