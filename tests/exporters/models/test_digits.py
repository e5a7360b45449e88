"""The digit classifiers: the same trained weights wherever they are built, and a fair test set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from exporters.codec import from_json, to_json
from exporters.inputs import seeded_inputs
from exporters.messages import ExportReply, ExportRequest
from exporters.models import digits as data
from exporters.models.catalogue import by_suite, find
from exporters.models.digits import training_set
from exporters.models.digits_training import train
from exporters.pytorch.module import build
from tests.checkout import ROOT
from tests.exporters.support import WorkerProcess

PRINT_WEIGHTS = """
import hashlib, torch
from exporters.models.catalogue import find
from exporters.pytorch.module import build
weights = build(find("digits_cnn_2").factory).state_dict()
print(hashlib.sha256(b"".join(t.numpy().tobytes() for t in weights.values())).hexdigest())
"""

WITHOUT_SCIKIT_LEARN = """
import sys
sys.modules["sklearn.datasets"] = None
from exporters.worker.__main__ import main
main()
"""


def weights_in_a_process(cache: Path, threads: int) -> str:
    environment = {**os.environ, "GRAPHLAP_CACHE": str(cache), "OMP_NUM_THREADS": str(threads)}
    run = subprocess.run(
        [sys.executable, "-c", PRINT_WEIGHTS],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    return run.stdout


@pytest.mark.rare
def test_training_again_elsewhere_gives_the_same_weights(tmp_path: Path) -> None:
    first = weights_in_a_process(tmp_path / "a", threads=1)
    assert weights_in_a_process(tmp_path / "b", threads=2) == first
    assert weights_in_a_process(tmp_path / "a", threads=2) == first  # from the cache


def test_no_tested_image_was_trained_on() -> None:
    learnt, test_images = training_set()[0], data.test_set()[0]
    assert len(learnt) + len(test_images) == 1797
    training_images = {image.tobytes() for image in learnt}
    assert not any(image.tobytes() in training_images for image in test_images)


def test_a_graph_answers_most_unseen_digits_rightly(worker: WorkerProcess) -> None:
    """Guessing is right for one in ten; the graph and the torch module are far beyond it."""
    reply = worker.ask(ExportRequest("digits_cnn_4"))
    assert reply.model is not None, reply.reason
    images, labels = data.test_set()
    session = onnxruntime.InferenceSession(reply.model.path, providers=["CPUExecutionProvider"])
    answers = session.run(["y"], {"x": images})[0].argmax(axis=1)
    assert (answers == labels).mean() > 0.8


def test_six_widths_of_each_kind_take_the_digits() -> None:
    definitions = by_suite()["digits"]
    assert [d.family for d in definitions] == ["digits_mlp"] * 6 + ["digits_cnn"] * 6
    images, _ = data.test_set()
    for definition in definitions:
        assert definition.inputs[0].shape_at({"batch": len(images)}) == images.shape
        assert definition.labelled
    assert images.min() >= 0.0
    assert images.max() <= 1.0


def test_training_leaves_the_process_as_it_was() -> None:
    with torch.device("meta"):
        module = build(find("digits_mlp_8").factory)
    network = module.to_empty(device="cpu")
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    with torch.inference_mode():
        train(network)
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.equal(torch.rand(3), expected)


def test_sizes_are_told_without_training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    with torch.device("meta"):
        module = build(find("digits_cnn_64").factory)
    assert all(parameter.is_meta for parameter in module.parameters())
    assert not (tmp_path / "cache").exists()


@pytest.mark.rare
def test_without_scikit_learn_the_rows_say_what_to_install(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_SCIKIT_LEARN],
        input=json.dumps(to_json(ExportRequest("digits_mlp_8"))) + "\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "GRAPHLAP_CACHE": str(tmp_path)},
    )
    reply = from_json(ExportReply, json.loads(run.stdout))
    assert reply.status == "unavailable"
    assert "graphlap[accuracy]" in reply.reason


def test_generated_inputs_are_in_the_range_of_real_ones() -> None:
    definition = find("digits_mlp_8")
    random_inputs = seeded_inputs(definition.inputs, {"batch": 5}, seed=1)["x"]
    assert random_inputs.dtype == np.float32
    assert random_inputs.min() >= 0.0
    assert random_inputs.max() < 1.0
