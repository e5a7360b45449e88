"""A model is measured beside another one at work; one that can not be its neighbour is refused."""

from __future__ import annotations

from pathlib import Path

from tests.app.headless.batch import rows, run
from tests.app.sweep.sweeps import write_add_graph


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
