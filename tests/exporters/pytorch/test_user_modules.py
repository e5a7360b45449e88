"""Modules and hub networks become graphs that compute the same, and run on torch as they are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from exporters.codec import to_json
from exporters.diagnostics import codes, diagnostic
from exporters.messages import ExportRequest
from exporters.pytorch.to_onnx import WAYS, Way, nearest
from exporters.types import ExportedModel, ExportError, axes_key, load_reference
from exporters.validation import check_numbers, relative_error
from exporters.worker import export
from exporters.worker.__main__ import answer
from tests.exporters.pytorch import hub_networks, networks
from tests.exporters.pytorch.agreement import assert_agrees
from tests.exporters.support import WorkerProcess, only_reference

FILE = str(Path(networks.__file__))


def _export(worker: WorkerProcess, model: str, *points: dict[str, int]) -> ExportedModel:
    return worker.export(ExportRequest(model, points=points))


def test_keywords_and_a_dataclass_are_measured_at_every_sequence(worker: WorkerProcess) -> None:
    points = {"batch": 1, "sequence": 3}, {"sequence": 9}
    model = _export(worker, f"{FILE}:keywords", *points)
    assert [spec.shape for spec in model.inputs] == [("batch", "sequence")] * 2
    assert [spec.name for spec in model.outputs] == ["score", "parts.0", "parts.1.largest"]
    assert (model.batch, model.sequence) == ("batch", "sequence")
    for point in points:
        assert_agrees(model, point)


def test_nested_arguments_and_a_dict_keep_their_names_and_their_numbers(
    worker: WorkerProcess,
) -> None:
    model = _export(worker, f"{FILE}:nested", {"batch": 3})
    assert [spec.name for spec in model.inputs] == ["pair.left", "pair.right", "extra.b"]
    assert [spec.name for spec in model.outputs] == ["sum", "bias"]
    assert_agrees(model, {"batch": 3})


def test_ids_of_tables_of_different_sizes_are_those_of_the_example(worker: WorkerProcess) -> None:
    model = _export(worker, f"{FILE}:tables", {"batch": 1}, {"batch": 5})
    ids = load_reference(model.references["batch=5"]).inputs["ids"]
    assert ids.tolist() == [[2, 49, 899], [0, 20, 600]] * 2 + [[2, 49, 899]]
    assert model.inputs_drawn == "ids as in the example"
    assert_agrees(model, {"batch": 5})


def test_a_graph_of_nodes_and_edges_has_no_batch_and_needs_none(worker: WorkerProcess) -> None:
    model = _export(worker, f"{FILE}:graph")
    assert (dict(model.axes), model.batch) == ({}, None)
    assert [spec.shape for spec in model.inputs] == [(networks.ROWS, 4), (2, networks.EDGES)]
    assert_agrees(model, {})
    reply = worker.ask(ExportRequest(f"{FILE}:graph", points=({"batch": 2},)))
    assert "has no axis 'batch'" in reply.reason


def test_an_axis_that_is_no_batch_is_swept(worker: WorkerProcess) -> None:
    model = _export(worker, f"{FILE}:graph_with_axes", {"edges": 4}, {"edges": 40})
    for edges in (4, 40):
        assert_agrees(model, {"edges": edges})


def test_a_module_with_its_sizes_baked_in_has_a_graph_for_each_case_and_says_so(
    worker: WorkerProcess,
) -> None:
    points = {"batch": 2}, {"batch": 3}
    model = _export(worker, f"{FILE}:other_at_two", *points)
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
    ("factory", "named"),
    [
        ("none", "None"),
        ("generator", "generator"),
        ("on_meta", "'x'"),
        ("weights_on_meta", "'weight'"),
        ("narrow", "bfloat16"),
        ("no_tensor", "no_tensor"),
        ("misnamed_axes", "'input'"),
        ("too_many_axes", "'input'"),
        ("two_sizes", "4 in 'input_ids' and 5 in 'keep'"),
        ("misspelt_option", "'axis'"),
    ],
)
def test_a_factory_that_gives_something_else_is_told_in_one_sentence(
    worker: WorkerProcess, factory: str, named: str
) -> None:
    reply = worker.ask(ExportRequest(f"{FILE}:{factory}"))
    assert reply.status == "export_failed"
    assert named in reply.reason
    assert "\n" not in reply.reason


@pytest.mark.rare
def test_inputs_of_the_users_win_over_the_example(worker: WorkerProcess, tmp_path: Path) -> None:
    file = tmp_path / "ids.npz"
    np.savez(file, ids=np.array([[1, 2, 3]]))
    model = worker.export(ExportRequest(f"{FILE}:tables", inputs=str(file)))
    assert model.inputs_drawn.endswith(" given")
    assert load_reference(model.references["batch=1"]).inputs["ids"].tolist() == [[1, 2, 3]]
    np.savez(file, ids=np.array([[1, 2, 3], [0, 4, 5]]))
    wider = worker.export(ExportRequest(f"{FILE}:tables", inputs=str(file), points=({},)))
    assert wider.axes == {"batch": 2}, "the arrays set what nobody asked for"
    np.savez(file, ids=np.array([[1, 2, 3000]]))
    wrong = worker.ask(ExportRequest(f"{FILE}:tables", inputs=str(file)))
    assert "index out of range" in wrong.reason
    assert "give ids that its tables have" in wrong.reason


_FACTORIES = """
import torch
from torch import nn

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


def _made(tmp_path: Path, function: str) -> ExportedModel:
    file = tmp_path / "modules.py"
    file.write_text(_FACTORIES, "utf-8")
    return export(ExportRequest(f"{file}:{function}", cache_dir=str(tmp_path / "cache")))[0]


def test_a_module_that_gives_nan_is_its_graph_and_one_that_draws_is_said_to_draw(
    tmp_path: Path,
) -> None:
    model = _made(tmp_path, "logarithm")
    assert (model.reference, model.uncompared) == ("torch", None)
    (output,) = only_reference(model).outputs.values()
    assert np.isnan(output).any()
    drawn = _made(tmp_path, "noisy").uncompared
    assert drawn == diagnostic("reference_not_deterministic", references="torch")


def test_nan_on_one_side_only_is_infinitely_wrong() -> None:
    nan_array = np.array([np.nan, 1], np.float32)
    assert relative_error(nan_array, nan_array) == 0
    assert relative_error(np.ones(2, np.float32), nan_array) == np.inf
    assert relative_error(nan_array, np.ones(2, np.float32)) == np.inf


def test_a_module_in_half_is_exported_though_it_rounds_more_and_a_wrong_one_is_refused(
    tmp_path: Path,
) -> None:
    for function in ("half", "half_inside"):
        model = _made(tmp_path, function)
        assert (model.narrowest, model.reference, model.warnings) == ("fp16", "torch", ())
    reference = only_reference(model)
    for factor in (1.05, np.nan):
        wrong = {name: array * np.float32(factor) for name, array in reference.outputs.items()}
        with pytest.raises(ExportError):
            check_numbers(Path(model.path), "half", [(reference.inputs, wrong)], tolerance=1e-2)


def test_a_module_that_computes_in_bf16_is_there_for_engines_that_do(tmp_path: Path) -> None:
    model = _made(tmp_path, "brain_inside")
    assert (model.narrowest, model.reference) == ("bf16", "torch")
    assert codes(model.warnings) == ("graph_not_run",)


FAULTS = {way: ExportError(f"{way.exporter} {'fixed' if way.fixed else 'open'}") for way in WAYS}


def test_a_module_that_no_way_takes_is_told_what_fails_at_one_size() -> None:
    """That a size is no axis is nothing to mend where the graph could have it baked in."""
    assert nearest(FAULTS).cause == "new fixed"
    assert nearest({Way("new", False): FAULTS[Way("new", False)]}).cause == "new open"


HUB = str(Path(hub_networks.__file__))


@pytest.mark.rare
def test_a_t5_encoder_that_the_new_exporter_cannot_take_is_measured_and_says_why(
    worker: WorkerProcess,
) -> None:
    pytest.importorskip("transformers")
    model = _export(worker, f"{HUB}:t5_encoder", {"batch": 2, "sequence": 5})
    assert_agrees(model, {"batch": 2, "sequence": 5})
    assert all("modeling_t5.py:" in str(warning.parameters) for warning in model.warnings)


@pytest.mark.rare
def test_a_folder_of_hugging_face_is_measured_by_its_path_alone(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    module, _, _ = hub_networks.bert()
    module.save_pretrained(tmp_path / "tiny-bert")
    point = {"batch": 2, "sequence": 9}
    model = _export(worker, f"hf:{tmp_path / 'tiny-bert'}", point)
    assert model.name == "tiny-bert"
    assert model.inputs_drawn.startswith("input_ids as in the example")
    reference = load_reference(model.references["batch=2,sequence=9"])
    assert sorted(reference.inputs) == ["attention_mask", "input_ids", "token_type_ids"]
    assert len(np.unique(reference.inputs["input_ids"])) > 5
    assert_agrees(model, point)


@pytest.mark.rare
@pytest.mark.parametrize("name", ["gpt2", "vit", "mobilenet_v3_small", "convnextv2"])
def test_networks_of_the_hubs_agree_with_their_graphs(worker: WorkerProcess, name: str) -> None:
    for package in ("timm", "torchvision", "transformers"):
        pytest.importorskip(package)
    assert_agrees(_export(worker, f"{HUB}:{name}", {"batch": 2}), {"batch": 2})


class Trace:
    """A pickle that leaves a file behind when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


def test_weights_that_are_a_pickle_are_refused_and_not_read(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    folder, trace = tmp_path / "pickled", tmp_path / "was-read"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "bert", "architectures": ["BertModel"]}')
    torch.save({"weights": Trace(trace)}, folder / "pytorch_model.bin")
    reply = worker.ask(ExportRequest(f"hf:{folder}"))
    assert reply.status == "export_failed"
    assert "its weights in .safetensors" in reply.reason
    assert not trace.exists()


@pytest.mark.rare
def test_a_folder_of_a_model_that_sees_has_a_place_for_each_feature_of_its_picture(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    """torch's new exporter has no translation of how such models check that the places fit."""
    pytest.importorskip("transformers")
    hub_networks.llava().save_pretrained(tmp_path / "tiny-llava")
    model = _export(worker, f"hf:{tmp_path / 'tiny-llava'}", {"batch": 2})
    ids = load_reference(model.references["batch=2"]).inputs["input_ids"]
    assert [list(row).count(89) for row in ids] == [16, 16]
    assert "old_exporter" not in codes(model.warnings)
    assert_agrees(model, {"batch": 2})


def test_a_name_that_is_not_on_this_disk_is_refused_and_so_is_any_without_transformers(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    reply = worker.ask(ExportRequest("hf:nobody/no-such-model"))
    assert reply.status == "export_failed"
    assert "nobody/no-such-model" in reply.reason and "\n" not in reply.reason
    monkeypatch.setitem(sys.modules, "transformers", None)
    reply = answer(json.dumps(to_json(ExportRequest("hf:some-model"))), 0)
    assert (reply.status, reply.model) == ("unavailable", None)
