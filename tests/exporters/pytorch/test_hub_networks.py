"""Networks of the public model hubs are measured as they are, with nothing wrapped around them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from exporters.codec import to_json
from exporters.diagnostics.catalogue import codes
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, load_reference
from exporters.worker.__main__ import answer
from tests.exporters.pytorch import hub_networks
from tests.exporters.pytorch.agreement import assert_agrees
from tests.exporters.support import WorkerProcess

FILE = str(Path(hub_networks.__file__))


def _export(worker: WorkerProcess, model: str, *points: dict[str, int]) -> ExportedModel:
    reply = worker.ask(ExportRequest(model, points=points))
    assert reply.model is not None, reply.reason
    return reply.model


@pytest.mark.rare
def test_a_bert_as_it_is_gives_both_of_its_outputs_at_every_length(worker: WorkerProcess) -> None:
    pytest.importorskip("transformers")
    points = {"batch": 2, "sequence": 7}, {"batch": 1, "sequence": 70}
    model = _export(worker, f"{FILE}:bert", *points)
    assert [spec.name for spec in model.outputs] == ["last_hidden_state", "pooler_output"]
    assert model.warnings == ()
    for point in points:
        assert_agrees(model, point)


@pytest.mark.rare
def test_a_t5_encoder_that_the_new_exporter_cannot_take_is_measured_and_says_why(
    worker: WorkerProcess,
) -> None:
    pytest.importorskip("transformers")
    model = _export(worker, f"{FILE}:t5_encoder", {"batch": 2, "sequence": 5})
    assert_agrees(model, {"batch": 2, "sequence": 5})
    assert all("modeling_t5.py:" in str(warning.parameters) for warning in model.warnings)


@pytest.mark.rare
def test_a_segmentation_network_gives_its_dict(worker: WorkerProcess) -> None:
    pytest.importorskip("torchvision", exc_type=ImportError)
    model = _export(worker, f"{FILE}:segmentation", {"batch": 2})
    assert [spec.name for spec in model.outputs] == ["out"]
    assert_agrees(model, {"batch": 2})


@pytest.mark.rare
def test_a_network_of_timm_is_measured(worker: WorkerProcess) -> None:
    pytest.importorskip("timm")
    assert_agrees(_export(worker, f"{FILE}:regnet", {"batch": 3}), {"batch": 3})


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


def test_a_name_that_is_not_on_this_disk_is_refused_without_asking_anybody(
    worker: WorkerProcess,
) -> None:
    pytest.importorskip("transformers")
    reply = worker.ask(ExportRequest("hf:nobody/no-such-model"))
    assert reply.status == "export_failed"
    assert "transformers cannot load nobody/no-such-model from this disk" in reply.reason
    assert "\n" not in reply.reason


def test_without_transformers_the_row_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    reply = answer(json.dumps(to_json(ExportRequest("hf:some-model"))), 0)
    assert (reply.status, reply.model) == ("unavailable", None)
    assert "needs the package transformers" in reply.reason
