"""Batchers, shapes, gaps and neighbours, from the command line to the rows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.runs.reader import read_run
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


@pytest.mark.rare
def test_what_a_pause_costs_is_told_and_drawn(work: Path) -> None:
    """The scripted engine takes half a millisecond longer after more than 5 ms."""
    script = ("--option", "fake.latency_us=50", "--option", "fake.after_pause_us=500")
    arguments = ("--headless", "--models", "add.onnx", *FAKE, *script, "--rounds", "1")
    flags = ("--idle-sweep", "2ms..20ms", "--plot", "gaps.svg", "--out", "run")
    code, out, errors = run(*arguments, *flags)
    assert code == 0, errors
    assert "latency after a pause: add" in out
    lines = (line.split() for line in out.split("latency after a pause")[1].splitlines())
    p50_us = {" ".join(words[:2]): words[2] for words in lines if words[1:2] == ["ms"]}
    assert list(p50_us) == ["2.00 ms", "5.00 ms", "10.0 ms", "20.0 ms"]
    assert float(p50_us["20.0 ms"]) >= 550
    picture = ElementTree.parse(work / "gaps.svg").getroot()
    assert list(picture.iter("{http://www.w3.org/2000/svg}polyline"))


def test_a_picture_of_no_gaps_is_refused_before_anything_is_written(work: Path) -> None:
    code, _, errors = run("--headless", "--models", "add.onnx", *FAKE, "--plot", "x.svg")
    assert code == 2
    assert "the plan has fewer than three: add --idle-sweep 20us..1s" in errors
    assert not (work / "graphlap-results").exists()


def test_each_row_tells_its_neighbour_and_one_that_fails_costs_its_own_row(work: Path) -> None:
    write_add_graph(work / "neighbour.onnx")
    damaged_model = work / "damaged.onnx"
    damaged_model.write_bytes(b"no graph")
    arguments = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu", "--rounds", "1")
    code, _, errors = run(*arguments, "--condition", "none,with:neighbour.onnx", "--out", "run")
    assert code == 0, errors
    alone, neighbour_row = rows(work / "run")
    assert (alone["condition"], alone["colocated_runs_per_s"]) == ("", "")
    assert (neighbour_row["condition"], neighbour_row["status"]) == ("with:neighbour.onnx", "ok")
    assert float(neighbour_row["colocated_runs_per_s"]) > 0
    code, _, errors = run(*arguments, "--condition", "with:damaged.onnx", "--out", "other")
    assert code == 2
    assert "with:damaged.onnx names no single model whose sizes are all known" in errors


def test_a_model_is_its_own_neighbour_and_exported_once(work: Path) -> None:
    arguments = ("--headless", "--models", "add.onnx", "--runtimes", "fake", "--rounds", "1")
    code, _, errors = run(*arguments, "--condition", "with:add.onnx", "--out", "run")
    assert code == 0, errors
    assert errors.count("exported add.onnx") == 1
    (row,) = rows(work / "run")
    assert float(row["colocated_busy_fraction"]) > 0
