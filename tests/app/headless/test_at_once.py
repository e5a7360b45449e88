"""Several requests at once as a user asks for them: rows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import helper

from tests.app.headless.batch import FAKE, SLEEPING, rows, run

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
    ends = [helper.make_tensor_value_info(n, 1, [size, 8]) for n, size in (("x", 2), ("h", 3))]
    output = helper.make_tensor_value_info("y", 1, [5, 8])
    graph = helper.make_graph(
        [helper.make_node("Concat", ["x", "h"], ["y"], axis=0)], "joined", ends, [output]
    )
    opsets = [helper.make_opsetid("", 17)]
    path = work / "joined.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )
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


def test_a_query_that_leaves_a_lane_idle_is_a_row_that_says_so(work: Path) -> None:
    flags = ("--scenario", "multistream:2", "--option", "fake.sessions=3", "--rounds", "1")
    run(*MEASURED, *flags, "--out", "run")
    (row,) = rows(work / "run")
    assert row["status"] == "unsupported"
    assert "use multistream:3, or fewer sessions or streams" in row["reason"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--scenario", "multistream:0"), "use 1 to 10000"),
        (("--scenario", "multistream"), "multistream:8"),
        (("--scenario", "offline:4"), "'offline:4' is not known"),
        (("--deadline", "3"), "write it like 100us or 2ms"),
    ],
)
def test_what_means_nothing_is_one_sentence_before_anything_is_written(
    work: Path, flags: tuple[str, ...], told: str
) -> None:
    code, _, errors = run(*MEASURED, *flags)
    assert code == 2
    assert told in errors
    assert not (work / "graphlap-results").exists()
