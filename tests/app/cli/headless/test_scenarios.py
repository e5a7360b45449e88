"""Requests at once, batchers, shapes, gaps, neighbours and long rounds: figures and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import save_model

from app.runs.reader import read_run
from tests.app.cli.headless.batch import FAKE, SLEEPING, rows, run
from tests.app.sweep.sweeps import write_add_graph
from tests.exporters.support import model_of

SCRIPT = ("--option", "fake.latency_us=2000", "--option", "fake.wait=sleep")
MEASURED = ("--headless", "--models", "add.onnx", *FAKE, *SCRIPT, "--preset", "glance")

LATENCIES = (
    "latency_",
    "pooled_",
    "response_",
    "schedule_slip",
    "mlperf_",
    "deadline_miss",
    "deadline_us",
)
"""How the columns begin that are of single runs."""


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


def test_a_graph_without_a_batch_axis_has_runs_in_a_second(work: Path) -> None:
    """Its inputs share no leading size: a run counts as one input, so that replicas can scale."""
    path = work / "joined.onnx"
    text = "(float[2,8] x, float[3,8] h) => (float[5,8] y) { y = Concat <axis = 0> (x, h) }"
    save_model(model_of(text), path)
    flags = ("--runtimes", "fake", *SLEEPING, "--preset", "glance", "--rounds", "1")
    code, out, errors = run("run", str(path), *flags, "--replicas", "2", "--out", "run")
    assert code == 0, errors
    assert "efficiency" in out
    alone, two = rows(work / "run")
    assert alone["batch_size"] == two["batch_size"] == ""
    assert (two["scaling_missing_reason"], two["scaling_baseline_case_id"]) == (
        "",
        alone["case_id"],
    )
    # Each run sleeps at least 3 ms, in one or in two lanes.
    assert 0 < float(alone["throughput_per_s"]) <= 1 / 3000e-6
    assert 0 < float(two["throughput_per_s"]) <= 2 / 3000e-6


def test_replicas_are_dealt_over_devices_and_held_against_the_first(work: Path) -> None:
    words = list(MEASURED)
    words[words.index("fake")] = "fake:0+2"
    code, out, errors = run(*words, "--replicas", "2", "--rounds", "1", "--out", "run")
    assert code == 0, errors
    alone, both = rows(work / "run")
    assert (alone["runtime"], both["runtime"]) == ("fake:0", "fake:0+2")
    assert (both["scaling_baseline_case_id"], both["concurrency"]) == (alone["case_id"], "2")
    assert (both["device"], both["device_name"]) == ("0+2", "fake + another fake")
    assert "sessions=2" in both["options"]
    assert "devices_differ" in both["warning_codes"]
    assert 0 < float(both["throughput_per_s"]) <= 2 * int(both["batch_size"]) / 2000e-6
    assert "fake:0+2" in out and "efficiency" in out


@pytest.mark.rare
def test_runs_that_are_queued_have_inputs_a_second_and_no_latency(work: Path) -> None:
    flags = ("--scenario", "ahead:4,closed_loop", "--option", "fake.queue=1")
    code, out, errors = run(*MEASURED, *flags, "--deadline", "1ms", "--rounds", "3", "--out", "run")
    assert code == 0, errors
    assert "inputs/s" in out and "ahead:4" in out
    queued_row, closed_row = rows(work / "run")
    assert (queued_row["scenario"], queued_row["burst_size"], queued_row["status"]) == (
        "ahead",
        "4",
        "ok",
    )
    figures = {
        name: cell for name, cell in queued_row.items() if name.startswith(LATENCIES) and cell
    }
    assert figures == {}
    assert closed_row["latency_p50_us"] and closed_row["deadline_miss_rate"] == "1.0"
    # Each of the four runs takes at least 2 ms.
    most = int(queued_row["batch_size"]) / 2000e-6
    assert 0 < float(queued_row["throughput_per_s"]) <= most
    low, high = (float(queued_row[f"throughput_ci_{end}_per_s"]) for end in ("low", "high"))
    assert low <= float(queued_row["throughput_per_s"]) <= high


@pytest.mark.usefixtures("exported")
def test_what_has_no_queue_or_needs_time_between_two_runs_is_a_row_that_says_why(
    work: Path,
) -> None:
    once = ("--scenario", "ahead:4", "--preset", "glance", "--rounds", "1")
    run("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu,fpga", *once, "--out", "none")
    reasons = {row["runtime"]: row["reason"] for row in rows(work / "none")}
    assert "ort-cpu waits for each run by itself" in reasons["ort-cpu"]
    assert "a simulated card has no queue" in reasons["fpga"]
    queue = (*FAKE, *SCRIPT, "--option", "fake.queue=1")
    for models, flags, expected in (
        ("cnn_tiny", (), "cnn_tiny's state has to be fed back"),
        ("add.onnx", ("--rotate-inputs",), "remove --rotate-inputs"),
    ):
        folder = models.partition(".")[0]
        run("--headless", "--models", models, *queue, *once, *flags, "--out", folder)
        (row,) = rows(work / folder)
        assert row["status"] == "unsupported"
        assert expected in row["reason"]


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


@pytest.mark.alone
def test_an_engine_that_gets_slower_is_told_with_how_much_and_when(work: Path) -> None:
    """The scripted engine grows by 20 % of its time a second, from 1 on, warm-up included."""
    script = ("--option", "fake.latency_us=300", "--option", "fake.slowing=0.2")
    arguments = ("--headless", "--models", "add.onnx", *FAKE, *script, "--rounds", "1")
    code, _, errors = run(*arguments, "--condition", "sustained:3s", "--out", "run")
    assert code == 0, errors
    (row,) = rows(work / "run")
    assert row["condition"] == "sustained:3s"
    assert float(row["duration_s"]) >= 3.0
    begun_s = float(row["warmup_s"])
    first, last = (1.0 + 0.2 * (begun_s + at_s) for at_s in (0.15, 2.85))
    assert float(row["sustained_p50_ratio"]) == pytest.approx(last / first, rel=0.15)
    assert float(row["sustained_slowdown_after_s"]) == pytest.approx(1.5, abs=0.6)
