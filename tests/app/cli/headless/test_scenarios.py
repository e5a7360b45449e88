"""Requests at once, batchers, shapes, gaps, neighbours and long rounds: figures and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import save_model

from app.runs.reader import read_run
from tests.app.cli.headless.batch import FAKE, rows, run
from tests.app.sweep.sweeps import write_add_graph
from tests.exporters.support import model_of

SCRIPT = ("--option", "fake.latency_us=2000", "--option", "fake.wait=sleep")
MEASURED = ("--headless", "--models", "add.onnx", *FAKE, *SCRIPT, "--preset", "glance")


def test_queries_blocks_and_late_runs_have_their_figures(work: Path) -> None:
    flags = ("--scenario", "multistream:4,offline", "--option", "fake.sessions=2")
    code, out, errors = run(*MEASURED, *flags, "--deadline", "3ms", "--rounds", "3", "--out", "run")
    assert code == 0, errors
    assert "multistream:4" in out and "> 3.00 ms" in out
    queries, offline = rows(work / "run")
    # Two lanes make two runs of a query each, of at least 2 ms.
    assert float(queries["latency_min_us"]) >= 4000
    assert (queries["burst_size"], queries["deadline_miss_rate"]) == ("4", "1.0")
    per_query_s = float(queries["latency_mean_us"]) / 1e6
    inputs = 4 * int(queries["batch_size"])
    assert float(queries["throughput_per_s"]) == pytest.approx(inputs / per_query_s)
    assert float(offline["latency_min_us"]) >= 2000
    most = 2 * int(offline["batch_size"]) / 2000e-6
    assert 0 < float(offline["throughput_per_s"]) <= most
    assert offline["response_p50_us"] == offline["schedule_slip_p50_us"] == ""
    for row in (queries, offline):
        assert float(row["throughput_ci_low_per_s"]) <= float(row["throughput_per_s"])
        assert float(row["deadline_miss_rate_ci_low"]) <= float(row["deadline_miss_rate"])


def test_replicas_share_a_block_and_are_held_against_one(work: Path) -> None:
    code, out, errors = run(*MEASURED, "--replicas", "2", "--rounds", "3", "--out", "run")
    assert code == 0, errors
    assert "scaling" in out and "efficiency 95 %" in out
    alone, two = rows(work / "run")
    assert (alone["scenario"], two["scenario"]) == ("offline", "offline")
    assert (two["scaling_baseline_case_id"], two["concurrency"]) == (alone["case_id"], "2")
    speedup = float(two["throughput_per_s"]) / float(alone["throughput_per_s"])
    # Each run sleeps at least 2 ms.
    assert 0 < float(two["throughput_per_s"]) <= 2 * int(two["batch_size"]) / 2000e-6
    assert float(two["scaling_efficiency"]) == pytest.approx(speedup / 2)
    low, high = (float(two[f"scaling_efficiency_ci_{end}"]) for end in ("low", "high"))
    assert low <= speedup / 2 <= high
    assert alone["scaling_efficiency"] == ""


def test_what_has_no_queue_or_needs_time_between_two_runs_is_a_row_that_says_why(
    work: Path,
) -> None:
    once = ("--scenario", "ahead:4", "--preset", "glance", "--rounds", "1")
    run("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu,fpga", *once, "--out", "none")
    reasons = {row["runtime"]: row["reason"] for row in rows(work / "none")}
    assert "ort-cpu waits for each run by itself" in reasons["ort-cpu"]
    assert "a simulated card has no queue" in reasons["fpga"]
    queue = (*FAKE, *SCRIPT, "--option", "fake.queue=1")
    text = "(float[2,3] x, float[2,3] h) => (float[2,3] next) { next = Add(x, h) }"
    save_model(model_of(text), work / "step.onnx")
    for models, flags, expected in (
        ("step.onnx", ("--state", "next=h"), "step's state has to be fed back"),
        ("add.onnx", ("--rotate-inputs",), "remove --rotate-inputs"),
    ):
        run("--headless", "--models", models, *queue, *once, *flags, "--out", models[:3])
        (row,) = rows(work / models[:3])
        assert row["status"] == "unsupported"
        assert expected in row["reason"]


@pytest.mark.alone
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


def test_the_first_runs_of_shapes_are_told_beside_the_later_ones(work: Path) -> None:
    write_add_graph(work / "open.onnx", ("batch", 3))
    (work / "mix.csv").write_text("batch,weight\n1,3\n1000,1\n")
    code, out, errors = run(
        *("--headless", "--models", "open.onnx", "--runtimes", "ort-cpu", "--out", "run"),
        *("--condition", "shapes:mix.csv", "--preset", "quick", "--rounds", "1"),
    )
    assert code == 0, errors
    assert "batch 1000" in out
    (row,) = rows(work / "run")
    assert (row["batch_size"], row["axes"], row["throughput_per_s"]) == ("", "", "")
    assert (row["shapes"], row["first_runs"]) == ("2", "1")
    assert row["first_run_p50_us"] == "", "one run bounds no median"
    assert float(row["first_run_slowdown"]) > 0
    assert row["input_sets"] == "one set for each shape"
    (work / "mix.csv").unlink()
    assert read_run(work / "run").cases[0].condition.points == ({"batch": 1}, {"batch": 1000})


def test_each_row_tells_its_neighbour_and_one_that_fails_costs_its_own_row(work: Path) -> None:
    write_add_graph(work / "neighbour.onnx")
    damaged_model = work / "damaged.onnx"
    damaged_model.write_bytes(b"no graph")
    arguments = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu", "--rounds", "1")
    conditions = "none,with:neighbour.onnx,with:add.onnx"
    code, _, errors = run(*arguments, "--condition", conditions, "--out", "run")
    assert code == 0, errors
    assert errors.count("exported add.onnx") == 1, "its own neighbour is exported once"
    alone, neighbour_row, own = rows(work / "run")
    assert (alone["condition"], alone["colocated_runs_per_s"]) == ("", "")
    assert (neighbour_row["condition"], neighbour_row["status"]) == ("with:neighbour.onnx", "ok")
    assert float(neighbour_row["colocated_runs_per_s"]) > 0
    assert float(own["colocated_busy_fraction"]) > 0
    code, _, errors = run(*arguments, "--condition", "with:damaged.onnx", "--out", "other")
    assert code == 2
    assert "with:damaged.onnx names no single model whose sizes are all known" in errors
