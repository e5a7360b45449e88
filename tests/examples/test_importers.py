"""The example scripts make of another program's file one that `graphlap import` reads."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.analysis.columns.tables import read_rows
from app.cases.column import Row
from tests.checkout import ROOT

FILES = Path(__file__).with_name("files")
EXAMPLES = ROOT / "assets" / "examples"


def imported(script: str, source: Path, folder: Path) -> list[Row]:
    """The rows of what a script made of a file."""
    made = folder / "made.json"
    command = [sys.executable, str(EXAMPLES / script), str(source), str(made)]
    subprocess.run(command, check=True)
    assert main(["import", str(made), "--out", str(folder / "run")]) == 0
    return list(read_rows(folder / "run" / "results.full.csv").values())


def printed(name: str, pattern: str) -> float:
    """A figure that the program printed of the run."""
    match = re.search(pattern, (FILES / f"{name}.printed.txt").read_text("utf-8"), re.MULTILINE)
    assert match is not None, pattern
    return float(match[1])


def test_a_log_of_loadgen(tmp_path: Path) -> None:
    name = "loadgen_Server.txt"
    (row,) = imported("import_loadgen.py", FILES / name, tmp_path)
    for column, pattern in (
        ("latency_min_us", r"^Min latency \(ns\) +: (\d+)"),
        ("latency_mean_us", r"^Mean latency \(ns\) +: (\d+)"),
        ("latency_max_us", r"^Max latency \(ns\) +: (\d+)"),
        ("latency_p50_us", r"^50.00 percentile latency \(ns\) +: (\d+)"),
        ("latency_p99_us", r"^99.00 percentile latency \(ns\) +: (\d+)"),
    ):
        assert row[column] == pytest.approx(printed(name, pattern) / 1e3), column
    rate = printed(name, r"^Completed samples per second +: ([\d.]+)")
    assert row["throughput_per_s"] == pytest.approx(rate, rel=1e-3)
    assert "api=LoadGen Server INVALID" in str(row["options"])


def test_a_file_of_polygraphy(tmp_path: Path) -> None:
    (row,) = imported("import_polygraphy.py", FILES / "polygraphy.json", tmp_path)
    mean_ms = printed("polygraphy.json", r"Average inference time: ([\d.]+) ms")
    assert row["latency_mean_us"] == pytest.approx(1e3 * mean_ms, rel=1e-2)
    assert row["iterations"] == printed("polygraphy.json", r"Completed (\d+) iteration")


def test_a_file_of_perf_test_has_a_round_for_each_process_that_appended(tmp_path: Path) -> None:
    """As `DumpToFile` of ONNX Runtime's onnxruntime/test/perftest/performance_runner.cc writes it,
    with the statistics that `-s` adds."""
    seconds = [0.002, 0.001, 0.004, 0.003]
    lines = [f"nets/a,b.onnx,{took},{64 << 20},97,{run}\n" for run, took in enumerate(seconds)]
    process = "".join(lines) + "\nMin Latency: 0.001 s\nP50 Latency: 0.002 s\n"
    (tmp_path / "result.csv").write_text(process * 2, "utf-8")
    (row,) = imported("import_perf_test.py", tmp_path / "result.csv", tmp_path)
    assert row["model"] == "nets/a,b.onnx", "a comma in its path"
    assert (row["rounds"], row["iterations"]) == (2, 8)
    assert row["latency_mean_us"] == pytest.approx(2500.0)
    assert row["latency_p50_us"] == pytest.approx(2500.0)
