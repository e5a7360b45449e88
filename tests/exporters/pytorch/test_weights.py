"""A user's weights are those of the graph and of its reference, or what differs is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from exporters.messages import ExportReply, ExportRequest
from exporters.pytorch.module import load_weights, save_weights
from exporters.types import load_reference
from runtimes.pytorch.session import build_module
from tests.exporters.support import WorkerProcess


def _mlp_weights() -> dict[str, Tensor]:
    from exporters.models.catalogue import find
    from exporters.pytorch.module import build

    state = build(find("mlp").factory).state_dict()
    generator = torch.Generator().manual_seed(8)
    return {name: torch.randn(t.shape, generator=generator) * 0.1 for name, t in state.items()}


def _ask(worker: WorkerProcess, weights: Path) -> ExportReply:
    return worker.ask(ExportRequest("mlp", points=({"batch": 2},), weights=str(weights)))


def test_the_graph_the_reference_and_torch_have_the_users_weights(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    path = tmp_path / "trained.safetensors"
    save_file(_mlp_weights(), path)
    reply = _ask(worker, path)
    model = reply.model
    assert model is not None, reply.reason
    seeded_model = worker.ask(ExportRequest("mlp", points=({"batch": 2},))).model
    assert seeded_model is not None
    assert seeded_model.sha256 != model.sha256
    path.unlink()
    reference = load_reference(model.references["batch=2"])
    session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    (actual,) = session.run(None, dict(reference.inputs))
    assert np.abs(actual - reference.outputs["y"]).max() <= 1e-4 * np.abs(actual).max()
    assert model.factory is not None
    with torch.inference_mode():
        native = build_module(model.factory).module(torch.from_numpy(reference.inputs["x"])).numpy()
    assert np.array_equal(native, reference.outputs["y"])


def test_what_does_not_match_is_named_with_its_shapes(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    weights = _mlp_weights()
    names = list(weights)
    path = tmp_path / "wrong.safetensors"
    wrong = {**weights, names[0]: torch.zeros(3, 5), "head.bias": torch.zeros(2)}
    del wrong[names[1]]
    save_file(wrong, path)
    reply = _ask(worker, path)
    assert (reply.status, reply.model) == ("export_failed", None)
    shape = list(weights[names[0]].shape)
    assert f"missing {names[1]}" in reply.reason
    assert "unknown head.bias" in reply.reason
    assert f"misshapen {names[0]} [3, 5] for {shape}" in reply.reason
    assert "\n" not in reply.reason


def test_a_file_that_is_no_safetensors_says_so(worker: WorkerProcess, tmp_path: Path) -> None:
    path = tmp_path / "text.safetensors"
    path.write_text("weights")
    assert "text.safetensors is not a .safetensors file" in _ask(worker, path).reason
    assert "cannot be read" in _ask(worker, tmp_path / "none.safetensors").reason


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
