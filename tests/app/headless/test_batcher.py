"""Batchers side by side, from the command line to the rows."""

from __future__ import annotations

from pathlib import Path

from tests.app.headless.batch import FAKE, rows, run
from tests.app.sweep.sweeps import write_add_graph


def test_batchers_are_compared_in_one_run(tmp_path: Path) -> None:
    """At 2,000 a second and 1 ms a batch, batches of up to four keep up and single requests
    don't."""
    model = write_add_graph(tmp_path / "add.onnx", ("N", 3))
    code, out, errors = run(
        *("--headless", "--models", str(model), *FAKE, "--preset", "glance", "--rounds", "1"),
        *("--option", "fake.latency_us=1000", "--scenario", "poisson:2000/s"),
        *("--batcher", "none", "--batcher", "max=4,wait=1ms", "--out", str(tmp_path / "run")),
    )
    assert code == 0, out + errors
    single_row, batched_row = rows(tmp_path / "run")
    assert (single_row["batcher"], batched_row["batcher"]) == ("", "max=4,wait=1ms")
    assert single_row["batch_size_mean"] == ""
    assert batched_row["batch_size"] == "1", "a request is one input"
    assert batched_row["output_ok"] == "true"
    assert 1 <= float(batched_row["batch_size_mean"]) <= 4
    assert 0.75 <= float(batched_row["batch_fill_fraction"]) <= 1, "three of four places at least"
    assert "batchers" in out
    assert "max=4,wait=1ms" in out


def test_a_runtime_that_is_simulated_says_why_it_has_no_batcher(tmp_path: Path) -> None:
    model = write_add_graph(tmp_path / "add.onnx", ("N", 3))
    run(
        *("--headless", "--models", str(model), "--runtimes", "fpga:v80", "--rounds", "1"),
        *("--scenario", "rate:500/s", "--batcher", "max=4,wait=1ms"),
        *("--out", str(tmp_path / "run")),
    )
    (row,) = rows(tmp_path / "run")
    assert row["status"] == "unsupported"
    assert "remove --batcher" in row["reason"]
