"""How a run ends: its rows, what it prints, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.headless.batch import FAKE, rows, run
from tests.app.sweep.sweeps import write_add_graph


def test_a_sweep_leaves_rows_a_table_and_no_process(work: Path) -> None:
    code, out, log = run(
        *("--headless", "--models", "add.onnx", "--runtimes", "fake,ort-cpu", "--rounds", "1"),
        *("--scenario", "closed_loop,paced:20us", "--out", "run", "--export", "parquet"),
    )
    assert code == 0, log
    result_rows = rows(work / "run")
    assert [row["status"] for row in result_rows] == ["ok"] * 4
    assert {row["scenario"] for row in result_rows} == {"closed_loop", "paced"}
    assert all(float(row["latency_p99_us"]) > 0 for row in result_rows)
    assert "add.onnx" in out and "p50" in out
    assert "4 cases" in log and "round 1: ok" in log
    assert (work / "run" / "samples.parquet").exists()
    live = json.loads((work / "run" / "live.json").read_text())
    assert (live["state"], live["exit_code"], live["rounds_done"]) == ("finished", 0, 4)


def test_files_that_are_no_models_are_rows_with_their_reason(work: Path) -> None:
    (work / "text.onnx").write_text("this is no model")
    whole = (work / "add.onnx").read_bytes()
    (work / "half.onnx").write_bytes(whole[: len(whole) // 2])
    code, _, _ = run("--headless", "--models", "*.onnx", *FAKE, "--rounds", "1", "--out", "run")
    assert code == 1
    row_by_model = {row["model"]: row for row in rows(work / "run")}
    assert row_by_model["add.onnx"]["status"] == "ok"
    for name in ("text.onnx", "half.onnx"):
        assert row_by_model[name]["status"] == "export_failed"
        assert name in row_by_model[name]["reason"]
        assert row_by_model[name]["latency_p50_us"] == ""


def test_sizes_that_nobody_set_are_assumed_and_measured(work: Path) -> None:
    write_add_graph(work / "open.onnx", ("N", "height"))
    assert (
        run("--headless", "--models", "open.onnx", *FAKE, "--rounds", "1", "--out", "run")[0] == 0
    )
    (row,) = rows(work / "run")
    assert (row["status"], row["axes"]) == ("ok", "N=1;height=224")


def test_what_is_only_unsupported_fails_under_strict_alone(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1")
    some = ("--option", "fake.fail=unsupported,none")
    assert run(*base, *some, "--out", "one")[0] == 0
    assert run(*base, *some, "--out", "two", "--strict")[0] == 1


def test_a_run_that_could_measure_nothing_does_not_end_as_if_all_were_well(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1")
    assert run(*base, "--option", "fake.fail=unsupported", "--out", "run")[0] == 1
    (row,) = rows(work / "run")
    assert row["status"] == "unsupported"


def test_a_session_that_hangs_beside_others_is_killed_with_them(work: Path) -> None:
    script = ("fake.sessions=2", "fake.fail=hang", "fake.fail_session=1", "fake.fail_after=50")
    code, _, _ = run(
        *("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1", "--time-limit", "3"),
        *(text for option in script for text in ("--option", option)),
        *("--out", "run"),
    )
    assert code == 1
    (row,) = rows(work / "run")
    assert row["status"] == "timeout"


FACTORY = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        raise ValueError("neverruns")

def build():
    return Net(), {"x": torch.zeros(1, 4)}
"""


def test_one_cause_of_many_cases_is_printed_once(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    (work / "net.py").write_text(FACTORY)
    code, out, log = run(
        *("--headless", "--models", "net.py:build,add.onnx", "--runtimes", "ort-cpu,fake"),
        *("--threads", "1,2", "--rounds", "1", "--out", "run"),
    )
    assert code == 1
    assert "export of net.py:build: export_failed" in log
    assert (out + log).count("neverruns") == 1
    (message,) = [line for line in out.splitlines() if line.startswith("export failed: ")]
    assert "4 cases (net.py:build; ort-cpu, fake; threads 1, 2)" in message
    lines = [line for line in out.splitlines() if not line.startswith("  python -m app ")]
    assert max(map(len, lines)) <= 80, "but commands, which are to be copied"


def test_the_table_comes_in_the_order_that_is_asked_for_and_again_on_a_resume(work: Path) -> None:
    options = "fake.latency_us=300,150,200"
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1", "--option", options)
    code, out, _ = run(*base, "--out", "run", "--sort", "p50")
    assert code == 0
    assert _latencies(out) == ["150", "200", "300"]
    assert _latencies(run("resume", "run", "--sort", "options")[1]) == ["150", "200", "300"]
    assert _latencies(run("resume", "run", "--verbose")[1]) == ["300", "150", "200"]
    code, _, log = run(*base, "--out", "other", "--sort", "p5O")
    assert code == 2
    assert "p50" in log
    assert not (work / "other").exists()


def _latencies(out: str) -> list[str]:
    settings = (line.partition("latency_us=")[2].split(maxsplit=1) for line in out.splitlines())
    return [words[0].removesuffix(".0") for words in settings if words][:3]
