"""The exported file is what its definition says, with the user's weights and its references."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from exporters import cache as versions
from exporters.cache import Done, done
from exporters.diagnostics import codes
from exporters.inputs import seeded_inputs
from exporters.messages import ExportRequest
from exporters.models.catalogue import find, names
from exporters.pytorch import source
from exporters.pytorch.module import build, load_weights, save_weights
from exporters.pytorch.table import table
from exporters.pytorch.to_onnx import output_shapes, to_onnx
from exporters.types import (
    EVALUATED,
    UNOPTIMISED,
    Definition,
    ExportError,
    Factory,
    TensorSpec,
    load_reference,
)
from exporters.worker import export
from runtimes.pytorch.session import build_module
from tests.checkout import ROOT
from tests.exporters.pytorch.agreement import assert_agrees
from tests.exporters.support import WorkerProcess, by_engine, only_reference


def _export(worker: WorkerProcess, name: str, *points: dict[str, int]) -> tuple:
    model = worker.export(ExportRequest(name, points=points))
    return model, onnx.load(model.path)


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("cnn_tiny", {"batch": 11}),  # of which three rows are those of others
        ("cnn_tiny_seq", {"batch": 2, "sequence": 1}),
        ("lstm_tiny", {"batch": 4}),
        pytest.param("lstm_tiny_seq", {"batch": 1, "sequence": 40}, marks=pytest.mark.rare),
        pytest.param("char_cnn", {"batch": 2}, marks=pytest.mark.rare),
    ],
)
def test_the_file_has_its_states_holds_at_new_sizes_and_tells_nothing_of_where_it_was_made(
    worker: WorkerProcess, name: str, point: dict[str, int]
) -> None:
    model, proto = _export(worker, name, point)
    assert (proto.ir_version, proto.opset_import[0].version) == (10, 20)
    metadata = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(metadata["graphlap.states"]) == [[s.input, s.output] for s in model.states]
    assert metadata["graphlap.name"] == name
    assert set(metadata) == {f"graphlap.{key}" for key in ("name", "definition", "axes", "states")}
    assert str(ROOT).encode() not in proto.SerializeToString()
    assert not proto.graph.metadata_props
    assert not any(node.metadata_props for node in proto.graph.node)
    shapes = {
        value.name: tuple(d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim)
        for value in proto.graph.input
    }
    assert shapes == {spec.name: spec.shape for spec in find(name).inputs}
    operators = [node.op_type for node in proto.graph.node]
    if name == "lstm_tiny":
        assert operators.count("LSTM") == find(name).layers, "a layer is one node"
        assert not {"Slice", "Shape", "Reshape"} & set(operators)
    assert_agrees(model, point)
    reference = only_reference(model)
    for pair in model.states:
        assert np.all(reference.inputs[pair.input].std() > 0.5), "a state of zeros hides faults"


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


DEFINITION = Definition(
    name="small",
    suite="",
    family="",
    source="",
    factory=Factory("none:none"),
    inputs=(TensorSpec("x", "float32", ("batch", 4)),),
    outputs=("y",),
    axes={"batch": 1},
)


def test_a_module_that_cannot_be_exported_is_refused_by_its_axes() -> None:
    two_axes = replace(
        DEFINITION,
        inputs=(*DEFINITION.inputs, TensorSpec("z", "float32", ("rows", 4))),
        axes={"batch": 1, "rows": 2},
    )
    with pytest.raises(ExportError, match="'batch' and 'rows'"):
        to_onnx(two_axes, _Sum().eval(), {"y": ("batch", 4)})
    with pytest.raises(ExportError, match="dimension 0 of output 'y'"):
        output_shapes(["y"], ({"batch": 1}, {"batch": 3}), [[(2, 4)], [(9, 4)]])


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


_FACTORIES = """
import torch

class Plain(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1

class Broken(torch.nn.Module):
    def forward(self, x):
        return x * 2 if torch.onnx.is_in_onnx_export() else x * 3

def plain():
    return Plain(), {"x": torch.zeros(2, 8)}

def broken():
    return Broken(), {"x": torch.zeros(2, 8)}
"""


def _request(folder: Path, function: str) -> ExportRequest:
    file = folder / "modules.py"
    file.write_text(_FACTORIES, "utf-8")
    return ExportRequest(f"{file}:{function}", cache_dir=str(folder / "cache"))


@pytest.fixture
def wrong_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime computes every output wrongly."""
    right = onnxruntime.InferenceSession.run

    def run(self: Any, names: Sequence[str], feed: Any, *options: Any) -> list[np.ndarray]:
        return [array + np.float32(5) for array in right(self, names, feed, *options)]

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", run)


def test_torch_and_onnx_runtime_vouch_for_a_module(tmp_path: Path) -> None:
    model, _ = export(_request(tmp_path, "plain"))
    reference = only_reference(model)
    assert (model.reference, reference.by) == ("torch", ("torch", UNOPTIMISED))
    assert (model.warnings, dict(reference.missing)) == ((), {})


@pytest.mark.usefixtures("wrong_runtime")
def test_a_graph_that_onnx_runtime_alone_computes_wrongly_is_measured_and_marked(
    tmp_path: Path,
) -> None:
    model, _ = export(_request(tmp_path, "plain"))
    reference = only_reference(model)
    assert (reference.by, list(reference.others)) == (("torch", EVALUATED), [UNOPTIMISED])
    pairs = [(disagreement.first, disagreement.second) for disagreement in reference.disagreements]
    assert pairs == [("torch", UNOPTIMISED), (EVALUATED, UNOPTIMISED)]
    assert reference.disagreements[1].node
    assert "engine_disputes_graph" in codes(model.warnings)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_graph_that_is_not_its_module_is_refused_however_many_evaluators_there_are(
    wrong: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if wrong:
        request.getfixturevalue("wrong_runtime")
    with pytest.raises(ExportError, match="differs from its torch module"):
        export(_request(tmp_path, "broken"))


def test_another_onnx_runtime_exports_a_module_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has run the graph, and whether it could is kept with the graph."""
    stored_flags: list[bool] = []

    def record_step(*given: Any, **rest: Any) -> Done:
        stored_flags.append((step := done(*given, **rest)).stored)
        return step

    monkeypatch.setattr(source, "done", record_step)
    request = ExportRequest("mlp", cache_dir=str(tmp_path))
    export(request)
    export(request)
    version = versions._version
    monkeypatch.setattr(
        versions, "_version", lambda name: "9.9" if name == "onnxruntime" else version(name)
    )
    versions.made_by.cache_clear()
    try:
        export(request)
    finally:
        versions.made_by.cache_clear()
    assert stored_flags == [False, True, False]


COMMITTED = files("assets").joinpath("catalogue.csv").read_text("utf-8")


@pytest.mark.rare
def test_the_table_is_what_the_definitions_give_now() -> None:
    """If this fails, `python -m exporters.pytorch.table` and commit what it writes."""
    assert table() == COMMITTED


def test_every_model_has_its_line_and_its_sizes() -> None:
    rows = list(csv.DictReader(COMMITTED.splitlines()))
    assert [row["name"] for row in rows] == list(names())
    for row in rows:
        assert int(row["parameters_with_buffers"]) >= int(row["parameters"]) >= 0
        assert row["macs"].isdecimal(), row["name"]


def _mlp_weights() -> dict[str, Tensor]:
    state = build(find("mlp").factory).state_dict()
    generator = torch.Generator().manual_seed(8)
    return {name: torch.randn(t.shape, generator=generator) * 0.1 for name, t in state.items()}


def _trained(weights: Path) -> ExportRequest:
    return ExportRequest("mlp", points=({"batch": 2},), weights=str(weights))


def test_the_graph_the_reference_and_torch_have_the_users_weights(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    path = tmp_path / "trained.safetensors"
    save_file(_mlp_weights(), path)
    model = worker.export(_trained(path))
    seeded_model = worker.export(ExportRequest("mlp", points=({"batch": 2},)))
    assert seeded_model.sha256 != model.sha256
    path.unlink()
    reference = load_reference(model.references["batch=2"])
    (actual,) = by_engine(model, reference)
    assert np.abs(actual - reference.outputs["y"]).max() <= 1e-4 * np.abs(actual).max()
    assert model.factory is not None
    with torch.inference_mode():
        native = build_module(model.factory).module(torch.from_numpy(reference.inputs["x"])).numpy()
    assert np.array_equal(native, reference.outputs["y"])


def test_weights_that_do_not_match_or_are_none_are_named(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    weights = _mlp_weights()
    names = list(weights)
    path = tmp_path / "wrong.safetensors"
    wrong = {**weights, names[0]: torch.zeros(3, 5), "head.bias": torch.zeros(2)}
    del wrong[names[1]]
    save_file(wrong, path)
    reply = worker.ask(_trained(path))
    assert (reply.status, reply.model) == ("export_failed", None)
    shape = list(weights[names[0]].shape)
    for word in (names[1], "head.bias", f"{names[0]} [3, 5] for {shape}"):
        assert word in reply.reason
    path.write_text("weights")
    for file in (path, tmp_path / "none.safetensors"):
        assert file.name in worker.ask(_trained(file)).reason


def test_the_count_of_training_batches_is_no_weight(tmp_path: Path) -> None:
    path = tmp_path / "norm.safetensors"
    norm = nn.BatchNorm1d(2)
    state = {n: t + 1 for n, t in norm.state_dict().items() if n != "num_batches_tracked"}
    save_file(state, path)
    load_weights(norm, path, "norm")
    assert norm.running_mean is not None
    assert torch.equal(norm.running_mean, torch.ones(2))
    save_weights(norm, path)
    assert set(load_file(path)) == set(norm.state_dict()), "a runtime loads them strictly"
