"""One session that serves the shapes of a file: the rows and the table of a user's run."""

from __future__ import annotations

from pathlib import Path

from app.runs.reader import read_run
from tests.app.headless.batch import rows, run
from tests.app.sweep.sweeps import write_add_graph


def test_the_first_runs_of_shapes_are_told_beside_the_later_ones(work: Path) -> None:
    write_add_graph(work / "open.onnx", ("batch", 3))
    (work / "mix.csv").write_text("batch,weight\n1,3\n1000,1\n")
    code, out, errors = run(
        *("--headless", "--models", "open.onnx", "--runtimes", "ort-cpu", "--out", "run"),
        *("--condition", "shapes:mix.csv", "--preset", "quick", "--rounds", "1"),
    )
    assert code == 0, errors
    assert "latency by shape: open · ort-cpu" in out
    assert "batch 1000" in out
    (row,) = rows(work / "run")
    assert (row["batch_size"], row["axes"], row["throughput_per_s"]) == ("", "", "")
    assert (row["shapes"], row["first_runs"]) == ("2", "1")
    assert row["first_run_p50_us"] == "", "one run bounds no median"
    assert float(row["first_run_slowdown"]) > 0
    assert row["input_sets"] == "one set for each shape"
    (work / "mix.csv").unlink()
    assert read_run(work / "run").cases[0].condition.points == ({"batch": 1}, {"batch": 1000})
