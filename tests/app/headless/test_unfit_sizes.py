"""Sizes that a graph does not take together cost their own rows, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from app.cases.column import pairs_in
from exporters.messages import ExportRequest
from exporters.types import load_reference
from exporters.worker.export import export
from tests.app.headless.batch import rows, run
from tests.exporters.graphs import graph, tensor

AXES = ("--axis", "past=1", "--axis", "step=1,2", "--axis", "total=2,3")


def save_cached(path: Path) -> None:
    """y = concat(kept, x) @ w + mask, as a decoder's step: `total` has to be `past` + `step`."""
    ends = [tensor("kept", ["past", 4]), tensor("x", ["step", 4]), tensor("mask", ["total", 4])]
    nodes = [
        helper.make_node("Concat", ["kept", "x"], ["all"], axis=0),
        helper.make_node("MatMul", ["all", "w"], ["product"]),
        helper.make_node("Add", ["product", "mask"], ["y"]),
    ]
    weights = {"w": np.eye(4, dtype=np.float32)}
    onnx.save(graph(nodes, ends, [tensor("y", ["total", 4])], weights), path)


@pytest.mark.parametrize("more", [("--precision", "int8"), ("--overhead",)], ids=str)
def test_a_combination_that_does_not_fit_is_one_row(work: Path, more: tuple[str, ...]) -> None:
    save_cached(work / "step.onnx")
    models = ("--models", "step.onnx", "--runtimes", "ort-cpu", *AXES, *more)
    lengths = ("--preset", "glance", "--rounds", "1", "--out", "run")
    code, out, log = run("--headless", *models, *lengths)
    assert code == 1, "two of four failed"
    unfit_rows = [row for row in rows(work / "run") if row["precision"] or row["status"] != "ok"]
    for row in (unfit_row for unfit_row in unfit_rows if "null" not in unfit_row["model"]):
        sizes = pairs_in(row["axes"])
        fits = int(sizes["past"]) + int(sizes["step"]) == int(sizes["total"])
        assert row["status"] == ("ok" if fits else "export_failed"), row["reason"]
        assert fits or f"total={sizes['total']}" in row["reason"]
    assert sum(row["status"] == "ok" for row in unfit_rows) >= 2, out + log


def test_a_file_that_takes_none_of_the_sizes_has_inputs_alone(tmp_path: Path) -> None:
    save_cached(tmp_path / "step.onnx")
    points = tuple({"past": 1, "step": 1, "total": total} for total in (4, 5))
    request = ExportRequest(str(tmp_path / "step.onnx"), points=points, cache_dir=str(tmp_path))
    model, _ = export(request)
    assert len(model.references) == len(model.unfit) == 2 and not model.reference
    assert all(not load_reference(file).outputs for file in model.references.values())
    fitting = {"past": 1, "step": 1, "total": 2}
    request = ExportRequest(
        str(tmp_path / "step.onnx"), points=(points[0], fitting), cache_dir=str(tmp_path)
    )
    model, _ = export(request)
    assert len(model.references) == 2 and len(model.unfit) == 1
    assert model.at(points[0]).uncompared and not model.at(fitting).uncompared
    assert model.at(points[0]).unfit_at and not model.at(fitting).unfit_at
    assert np.prod(model.inputs[0].shape_at(model.axes)) == 4
