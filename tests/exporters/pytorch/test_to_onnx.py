"""The exported file is what its definition says, with the same bytes from everywhere."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from exporters.inputs import seeded_inputs
from exporters.messages import ExportRequest
from exporters.models.catalogue import find
from exporters.pytorch.module import ModuleEvaluator
from exporters.pytorch.to_onnx import output_shapes, to_onnx
from exporters.types import Definition, ExportError, Factory, TensorSpec, load_reference
from exporters.validation import relative_error
from tests.checkout import ROOT
from tests.exporters.support import WorkerProcess

MODELS = ["cnn_tiny", "cnn_tiny_seq", "lstm_tiny", "lstm_tiny_seq", "mlp"]


def _export(worker: WorkerProcess, name: str, *points: dict[str, int]) -> tuple:
    reply = worker.ask(ExportRequest(name, points=points))
    assert reply.model is not None, reply.reason
    return reply.model, onnx.load(reply.model.path)


@pytest.mark.parametrize("name", MODELS)
def test_the_file_carries_its_states_and_nothing_of_where_it_was_made(
    worker: WorkerProcess, name: str
) -> None:
    model, proto = _export(worker, name)
    assert (proto.ir_version, proto.opset_import[0].version) == (10, 20)
    metadata = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(metadata["graphlap.states"]) == [[s.input, s.output] for s in model.states]
    assert metadata["graphlap.name"] == name
    assert set(metadata) == {f"graphlap.{key}" for key in ("name", "definition", "axes", "states")}
    assert str(ROOT).encode() not in proto.SerializeToString()
    assert not proto.graph.metadata_props
    assert not any(node.metadata_props for node in proto.graph.node)


@pytest.mark.parametrize("name", MODELS)
def test_each_declared_axis_is_symbolic_under_its_name(worker: WorkerProcess, name: str) -> None:
    _, proto = _export(worker, name)
    shapes = {
        value.name: tuple(d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim)
        for value in proto.graph.input
    }
    assert shapes == {spec.name: spec.shape for spec in find(name).inputs}


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("cnn_tiny", {"batch": 5}),
        ("cnn_tiny_seq", {"batch": 2, "sequence": 1}),
        ("lstm_tiny", {"batch": 4}),
        ("lstm_tiny_seq", {"batch": 1, "sequence": 40}),
        pytest.param("char_cnn", {"batch": 2}, marks=pytest.mark.rare),
    ],
)
def test_references_hold_at_sizes_that_the_exporter_did_not_trace(
    worker: WorkerProcess, name: str, point: dict[str, int]
) -> None:
    model, _ = _export(worker, name, point)
    (path,) = model.references.values()
    reference = load_reference(path)
    session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    results = session.run([spec.name for spec in model.outputs], dict(reference.inputs))
    for spec, actual in zip(model.outputs, results, strict=True):
        assert actual.shape == spec.shape_at(point)
        expected = reference.outputs[spec.name]
        assert np.abs(actual - expected).max() <= 1e-4 * np.abs(expected).max()
    for pair in model.states:
        assert np.all(reference.inputs[pair.input].std() > 0.5), "a state of zeros hides faults"


def test_a_layer_of_lstm_is_one_node(worker: WorkerProcess) -> None:
    _, proto = _export(worker, "lstm_tiny")
    operators = [node.op_type for node in proto.graph.node]
    assert operators.count("LSTM") == find("lstm_tiny").layers
    assert not {"Slice", "Shape", "Reshape"} & set(operators)


@pytest.mark.rare
def test_two_processes_in_two_checkouts_write_the_same_bytes(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    checkout = tmp_path / "another" / "checkout"
    shutil.copytree(
        ROOT / "exporters", checkout / "exporters", ignore=shutil.ignore_patterns("__pycache__")
    )
    boot = str(checkout / "exporters" / "boot.py")
    command = (sys.executable, "-P", boot, "first", str(checkout), "exporters.worker")
    other = WorkerProcess(tmp_path / "cache", command)
    try:
        for name in ("cnn_tiny", "lstm_tiny_seq"):
            first_export, second_export = _export(worker, name)[0], _export(other, name)[0]
            assert first_export.path != second_export.path
            assert first_export.sha256 == second_export.sha256
            assert list(first_export.references) == list(second_export.references)
    finally:
        other.close()


class _Sum(nn.Module):
    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return x + z


class _DoublingModule(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((x, x))


def _definition() -> Definition:
    return Definition(
        name="small",
        suite="",
        family="",
        source="",
        factory=Factory("none:none"),
        inputs=(TensorSpec("x", "float32", ("batch", 4)),),
        outputs=("y",),
        axes={"batch": 1},
    )


def test_two_axes_that_the_module_makes_one_are_refused_by_name() -> None:
    definition = replace(
        _definition(),
        inputs=(
            TensorSpec("x", "float32", ("batch", 4)),
            TensorSpec("z", "float32", ("rows", 4)),
        ),
        axes={"batch": 1, "rows": 2},
    )
    with pytest.raises(ExportError, match="the axes 'batch' and 'rows' of small to be one"):
        to_onnx(definition, _Sum().eval(), {"y": ("batch", 4)})


def test_an_output_that_follows_no_axis_is_refused() -> None:
    points = ({"batch": 1}, {"batch": 3})
    module = _DoublingModule()
    shapes = [[tuple(module(torch.zeros(p["batch"], 4)).shape)] for p in points]
    with pytest.raises(ExportError, match="dimension 0 of output 'y'"):
        output_shapes(["y"], points, shapes)


def test_a_module_that_torch_cannot_export_says_why() -> None:
    class Branching(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(ExportError, match="torch cannot export small"):
        to_onnx(_definition(), Branching().eval(), {"y": ("batch", 4)})


def test_inputs_follow_their_seed_and_their_range() -> None:
    specs = (
        TensorSpec("token", "int64", ("batch", 50), low=3, high=7),
        TensorSpec("flag", "bool", (50,)),
        TensorSpec("level", "float32", (50,), low=2.0, high=3.0),
    )
    first = seeded_inputs(specs, {"batch": 2}, seed=1)
    again = seeded_inputs(specs, {"batch": 2}, seed=1)
    other = seeded_inputs(specs, {"batch": 2}, seed=2)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["level"], other["level"])
    assert set(np.unique(first["token"])) == {3, 4, 5, 6}
    assert first["token"].shape == (2, 50)
    assert first["flag"].dtype == np.bool_
    assert first["level"].min() >= 2.0
    assert first["level"].max() < 3.0


@pytest.mark.rare
@pytest.mark.parametrize("name", ["mobilenet0.25", "lstm_tiny"])
def test_what_is_repeated_for_a_large_batch_is_what_the_module_computes(
    worker: WorkerProcess, name: str
) -> None:
    model, _ = _export(worker, name, {"batch": 8}, {"batch": 11})
    small, large = (model.references[f"batch={rows}"] for rows in (8, 11))
    assert Path(large).stat().st_size < 1.1 * Path(small).stat().st_size
    definition, reference = find(name), load_reference(large)
    outputs = ModuleEvaluator(definition).outputs(reference.inputs, {"batch": 11})
    for output, array in outputs.items():
        assert relative_error(array, reference.outputs[output]) <= 1e-5
