"""Modules as people have them become graphs that compute the same, and run on torch as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exporters.diagnostics.catalogue import codes, diagnostic
from exporters.messages import ExportRequest
from exporters.pytorch.to_onnx import WAYS, Way, nearest, told
from exporters.types import ExportedModel, ExportError, axes_key, load_reference
from exporters.validation import check_numbers, relative_error
from exporters.worker.export import export
from tests.exporters.pytorch import networks
from tests.exporters.pytorch.agreement import assert_agrees
from tests.exporters.support import WorkerProcess

FILE = str(Path(networks.__file__))


def _export(worker: WorkerProcess, factory: str, *points: dict[str, int]) -> ExportedModel:
    reply = worker.ask(ExportRequest(f"{FILE}:{factory}", points=points))
    assert reply.model is not None, reply.reason
    return reply.model


def test_keywords_and_a_dataclass_are_measured_at_every_sequence(worker: WorkerProcess) -> None:
    points = {"batch": 1, "sequence": 3}, {"sequence": 9}
    model = _export(worker, "keywords", *points)
    assert [spec.shape for spec in model.inputs] == [("batch", "sequence")] * 2
    assert [spec.name for spec in model.outputs] == ["score", "parts.0", "parts.1.largest"]
    assert (model.batch, model.sequence) == ("batch", "sequence")
    for point in points:
        assert_agrees(model, point)


def test_nested_arguments_and_a_dict_keep_their_names_and_their_numbers(
    worker: WorkerProcess,
) -> None:
    model = _export(worker, "nested", {"batch": 3})
    assert [spec.name for spec in model.inputs] == ["pair.left", "pair.right", "extra.b"]
    assert [spec.name for spec in model.outputs] == ["sum", "bias"]
    assert_agrees(model, {"batch": 3})


def test_ids_of_tables_of_different_sizes_are_those_of_the_example(worker: WorkerProcess) -> None:
    model = _export(worker, "tables", {"batch": 1}, {"batch": 5})
    ids = load_reference(model.references["batch=5"]).inputs["ids"]
    assert ids.tolist() == [[2, 49, 899], [0, 20, 600]] * 2 + [[2, 49, 899]]
    assert model.inputs_drawn == "ids as in the example"
    assert_agrees(model, {"batch": 5})


def test_a_graph_of_nodes_and_edges_has_no_batch_and_needs_none(worker: WorkerProcess) -> None:
    model = _export(worker, "graph")
    assert (dict(model.axes), model.batch) == ({}, None)
    assert [spec.shape for spec in model.inputs] == [(networks.ROWS, 4), (2, networks.EDGES)]
    assert_agrees(model, {})
    reply = worker.ask(ExportRequest(f"{FILE}:graph", points=({"batch": 2},)))
    assert "has no axis 'batch'" in reply.reason


def test_an_axis_that_is_no_batch_is_swept(worker: WorkerProcess) -> None:
    model = _export(worker, "graph_with_axes", {"edges": 4}, {"edges": 40})
    for edges in (4, 40):
        assert_agrees(model, {"edges": edges})


@pytest.mark.parametrize(
    ("factory", "points"),
    [("one_row", ({"batch": 1},)), ("other_at_two", ({"batch": 2}, {"batch": 3}))],
)
def test_a_module_with_its_sizes_baked_in_has_a_graph_for_each_case_and_says_so(
    worker: WorkerProcess, factory: str, points: tuple[dict[str, int], ...]
) -> None:
    model = _export(worker, factory, *points)
    assert list(model.fixed) == [axes_key(point) for point in points]
    assert model.warnings[0].code == "sizes_fixed"
    for point in points:
        assert_agrees(model, point)


def test_what_torch_cannot_export_is_told_with_the_users_own_line(worker: WorkerProcess) -> None:
    reply = worker.ask(ExportRequest(f"{FILE}:branching"))
    if reply.model is not None:
        assert reply.model.warnings[0].code == "old_exporter"
        error_text = str(reply.model.warnings[0].parameters["error"])
    else:
        error_text = reply.reason
    assert "networks.py:" in error_text
    assert "if x.sum() > 0:" in error_text


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("none", "networks.py:none returned None"),
        ("generator", "returned a generator: write return instead of yield"),
        ("on_meta", "input 'x' of networks.py:on_meta is on the device meta"),
        ("weights_on_meta", "weight 'weight' of networks.py:weights_on_meta is on the device meta"),
        ("narrow", "input 'x' of networks:narrow is bfloat16, which no plain array holds"),
        ("no_tensor", "there is no tensor among its example inputs"),
        ("misnamed_axes", "the axes of 'inputs', which is no input: did you mean 'input'?"),
        ("too_many_axes", "gives 'input' of 2 dimensions the axes"),
        ("two_sizes", "'sequence' of networks.py:two_sizes is 4 in 'input_ids' and 5 in 'keep'"),
        ("misspelt_option", "gives the option 'axis'"),
    ],
)
def test_a_factory_that_gives_something_else_is_told_in_one_sentence(
    worker: WorkerProcess, factory: str, words: str
) -> None:
    reply = worker.ask(ExportRequest(f"{FILE}:{factory}"))
    assert reply.status == "export_failed"
    assert words in reply.reason
    assert "\n" not in reply.reason


@pytest.mark.rare
def test_inputs_of_the_users_win_over_the_example(worker: WorkerProcess, tmp_path: Path) -> None:
    file = tmp_path / "ids.npz"
    np.savez(file, ids=np.array([[1, 2, 3]]))
    reply = worker.ask(ExportRequest(f"{FILE}:tables", inputs=str(file)))
    assert reply.model is not None, reply.reason
    assert reply.model.inputs_drawn.endswith(" given")
    assert load_reference(reply.model.references["batch=1"]).inputs["ids"].tolist() == [[1, 2, 3]]
    np.savez(file, ids=np.array([[1, 2, 3], [0, 4, 5]]))
    wider = worker.ask(ExportRequest(f"{FILE}:tables", inputs=str(file), points=({},))).model
    assert wider is not None
    assert wider.axes == {"batch": 2}, "the arrays set what nobody asked for"
    np.savez(file, ids=np.array([[1, 2, 3000]]))
    wrong = worker.ask(ExportRequest(f"{FILE}:tables", inputs=str(file)))
    assert "index out of range" in wrong.reason
    assert "give ids that its tables have" in wrong.reason


def test_a_floating_example_of_zeros_only_gives_a_shape(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    file = tmp_path / "zeros.py"
    file.write_text(
        "import torch\n"
        "def build():\n"
        "    return torch.nn.Linear(4, 2), {'input': torch.zeros(1, 4)}\n"
    )
    model = worker.ask(ExportRequest(f"{file}:build")).model
    assert model is not None
    assert model.inputs_drawn == "input normal"
    assert load_reference(model.references["batch=1"]).inputs["input"].std() > 0.1


_FACTORIES = """
import torch

class Logarithm(torch.nn.Module):
    def forward(self, x):
        return torch.log(x)

class Noisy(torch.nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)

def logarithm():
    return Logarithm(), {"x": torch.zeros(2, 64)}

def noisy():
    return Noisy(), {"x": torch.zeros(2, 64)}
"""


def _request(tmp_path: Path, function: str) -> ExportRequest:
    file = tmp_path / "modules.py"
    file.write_text(_FACTORIES, "utf-8")
    return ExportRequest(f"{file}:{function}", cache_dir=str(tmp_path / "cache"))


def test_a_module_that_gives_nan_is_its_graph_where_both_do(tmp_path: Path) -> None:
    model, _ = export(_request(tmp_path, "logarithm"))
    assert (model.reference, model.uncompared) == ("torch", None)
    (file,) = model.references.values()
    (output,) = load_reference(file).outputs.values()
    assert np.isnan(output).any()


def test_a_module_that_draws_is_exported_and_said_to_draw(tmp_path: Path) -> None:
    model, _ = export(_request(tmp_path, "noisy"))
    assert model.uncompared == diagnostic("reference_not_deterministic", references="torch")


def test_nan_on_one_side_only_is_infinitely_wrong() -> None:
    nan_array = np.array([np.nan, 1], np.float32)
    assert relative_error(nan_array, nan_array) == 0
    assert relative_error(np.ones(2, np.float32), nan_array) == np.inf
    assert relative_error(nan_array, np.ones(2, np.float32)) == np.inf


_NARROW_FACTORIES = """
import torch
from torch import nn

class Cast(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        layers = nn.Linear(64, 96), nn.LayerNorm(96), nn.ReLU(), nn.Linear(96, 8)
        self.net, self.dtype = nn.Sequential(*layers).to(dtype), dtype

    def forward(self, x):
        return self.net(x.to(self.dtype)).float()

def half():
    return Cast(torch.float16).net, {"x": torch.randn(1, 64).half()}

def half_inside():
    return Cast(torch.float16), {"x": torch.randn(1, 64)}

def brain_inside():
    return Cast(torch.bfloat16), {"x": torch.randn(1, 64)}
"""


def _export_narrow(tmp_path: Path, function: str) -> ExportedModel:
    file = tmp_path / "modules.py"
    file.write_text(_NARROW_FACTORIES, "utf-8")
    return export(ExportRequest(f"{file}:{function}", cache_dir=str(tmp_path / "cache")))[0]


@pytest.mark.parametrize("function", ["half", "half_inside"])
def test_a_module_in_half_is_exported_though_it_rounds_more_than_a_float_one(
    function: str, tmp_path: Path
) -> None:
    model = _export_narrow(tmp_path, function)
    assert (model.narrowest, model.reference, model.warnings) == ("fp16", "torch", ())


def test_a_graph_in_half_that_is_not_its_module_is_refused(tmp_path: Path) -> None:
    model = _export_narrow(tmp_path, "half_inside")
    (file,) = model.references.values()
    reference = load_reference(file)
    expected = {name: array * np.float32(1.05) for name, array in reference.outputs.items()}
    points = [(reference.inputs, expected)]
    with pytest.raises(ExportError, match=r"differs from its torch module by 0\.04"):
        check_numbers(Path(model.path), "half_inside", points, tolerance=1e-2)
    nan_outputs = {name: array * np.float32(np.nan) for name, array in reference.outputs.items()}
    with pytest.raises(ExportError, match="is finite where that is not"):
        check_numbers(
            Path(model.path), "half_inside", [(reference.inputs, nan_outputs)], tolerance=1e-2
        )


def test_a_module_that_computes_in_bf16_is_there_for_engines_that_do(tmp_path: Path) -> None:
    model = _export_narrow(tmp_path, "brain_inside")
    assert (model.narrowest, model.reference) == ("bf16", "torch")
    assert codes(model.warnings) == ("graph_not_run",)


FAULTS = {way: ExportError(f"{way.exporter} {'fixed' if way.fixed else 'open'}") for way in WAYS}


def test_each_thing_that_was_done_is_told_with_its_own_cause() -> None:
    assert told(Way("new", False), {}) == ()
    sizes_finding = diagnostic("sizes_fixed", error="new open")
    assert told(Way("new", True), FAULTS) == (sizes_finding,)
    assert told(Way("old", True), FAULTS) == (
        sizes_finding,
        diagnostic("old_exporter", error="new fixed"),
    )


def test_a_module_that_no_way_takes_is_told_what_fails_at_one_size() -> None:
    """That a size is no axis is nothing to mend where the graph could have it baked in."""
    assert nearest(FAULTS).cause == "new fixed"
    assert nearest({Way("new", False): FAULTS[Way("new", False)]}).cause == "new open"
