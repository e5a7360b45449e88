"""Twins, cold starts, baselines and the A/A test as a user has them: files, resume, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import save_model

from app.cases.jobs import PHASES, ColdStart
from app.runs.reader import read_run
from tests.app.cli.headless.batch import (
    FAKE,
    kill,
    launch,
    lines_of,
    recorded,
    rows,
    run,
    wait_for_rounds,
)
from tests.exporters.support import model_of

SHORT = ("--headless", "--rounds", "1")


def by_name(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    return {(row["model"], row["runtime"]): row for row in rows(folder)}


def test_a_model_minus_its_twin_is_its_compute_with_its_interval(work: Path) -> None:
    text = """(float[64,256] x) => (float[64,256] y)
    { a = MatMul(x, w) b = MatMul(a, w) y = MatMul(b, w) }"""
    save_model(model_of(text, {"w": np.eye(256, dtype=np.float32)}), work / "net.onnx")
    code, out, errors = run(
        *("--headless", "--models", "net.onnx", "--runtimes", "ort-cpu", "--overhead"),
        *("--rounds", "3", "--op-times", "--out", "run"),
    )
    assert code == 0, errors
    rows_by_name = by_name(work / "run")
    model, twin = rows_by_name["net.onnx", "ort-cpu"], rows_by_name["null(net.onnx)", "ort-cpu"]
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
    assert "model minus null" in out and "operators of net" in out
    assert "null(net" not in out, "a no-op copy is no contender, and has no operators"


COLD = ("--headless", "--models", "add.onnx", "--preset", "glance", "--rounds", "1")


def started(folder: Path) -> list[tuple[str, int]]:
    """Subject and number of each process that is recorded, in the journal's order."""
    cold_starts = read_run(folder).results[ColdStart]
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
    starts = read_run(work / "run").results_of(ColdStart, read_run(work / "run").cases[0])
    for start in starts:
        assert start.total_ms == pytest.approx(sum(start.phases_ms.values()))
        assert start.phases_ms["process"] > 1.0, "no interpreter starts in a millisecond"
        assert not start.files
    assert not card["cold_processes"]
    assert "a simulated card" in card["cold_missing_reason"]
    assert "6 processes each" in out


ASKED = ("--headless", "--models", "add.onnx", *FAKE, "--aa", "2")


@pytest.mark.rare
def test_a_killed_run_of_comparisons_goes_on_and_tells_wrong_verdicts(work: Path) -> None:
    process = launch(*ASKED, "--rounds", "3", "--out", "run")
    wait_for_rounds(work / "run", 3, process)
    kill(process, work / "run")
    code, _, _ = run("resume", "run", "--json", "aa.json")
    assert code == 0
    assert recorded(work / "run") == 2 * 2 * 3
    lines = lines_of(work / "run" / "aa.csv")
    assert {(line["comparisons"], line["rounds"]) for line in lines} == {("2", "3")}
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
    code, _, _ = run(*SHORT, *models, "--overhead", "--out", "run")
    assert code == 1
    rows_by_name = by_name(work / "run")
    assert rows_by_name["null(add.onnx)", "torch-cpu"]["status"] == "unsupported"
    assert rows_by_name["add.onnx", "torch-cpu"]["compute_missing_reason"].startswith(
        "it is unsupported: "
    )
    assert rows_by_name["add.onnx", "ort-cpu"]["compute_p50_us"]
    for name in ("bad.onnx", "null(bad.onnx)"):
        assert rows_by_name[name, "ort-cpu"]["status"] == "export_failed"
