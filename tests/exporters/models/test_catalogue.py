"""The catalogue: its table, its networks' published sizes, and their streaming forms."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from exporters.codec import from_json, to_json
from exporters.inputs import seeded_inputs
from exporters.messages import ExportReply, ExportRequest
from exporters.models import catalogue, digits_training
from exporters.models import digits as data
from exporters.models.catalogue import find
from exporters.models.digits import training_set
from exporters.pytorch.counts import macs, parameter_counts
from exporters.pytorch.module import ModuleEvaluator, build
from tests.checkout import ROOT
from tests.exporters.pytorch.agreement import assert_agrees
from tests.exporters.support import WorkerProcess
from tests.processes import python
from tests.seldom import seldom_but


def test_every_alias_leads_to_its_definition() -> None:
    definitions = [d for suite in catalogue.by_suite().values() for d in suite]
    assert len(definitions) == len(catalogue.names())
    for definition in definitions:
        for alias in definition.aliases:
            assert catalogue.find(alias) is definition


NETWORKS = (
    *("mobilenet0.25", "squeezenet1.1", "mobilenetv2_0.25", "densenet121"),
    *("resnet18_v2", "resnet18_v1", "inceptionv3"),
)
"""The smallest of each family that is below 30 million parameters."""
LIKE_2D = ("conv1d", "conv3d", "avgpool1d", "maxpool1d", "pad1d")
BY_SUITE = {
    suite: [one.name for one in catalogue.by_suite()[suite]] for suite in ("layers", "cells")
}
OFTEN = [
    "resnet18_v1",
    *(n for names in BY_SUITE.values() for n in names[::8] if not n.startswith(LIKE_2D)),
]
"""One of each row of eight and kind; the others are `make soak`'s."""


@pytest.mark.parametrize(
    "name", seldom_but(OFTEN, [*NETWORKS, *BY_SUITE["layers"], *BY_SUITE["cells"]])
)
def test_it_exports_with_a_symbolic_batch(worker: WorkerProcess, name: str) -> None:
    points = tuple({"batch": batch} for batch in ((2,) if name in NETWORKS else (2, 5)))
    model = worker.export(ExportRequest(name, points=points))
    graph = onnx.load(model.path).graph
    for value in (*graph.input, *graph.output):
        sizes = value.type.tensor_type.shape.dim
        assert sizes[0].dim_param == "batch"
        assert all(size.dim_value > 0 for size in sizes[1:])
    for point in points:
        assert_agrees(model, point)


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
    run = python("-c", PRINT_WEIGHTS, check=True, cwd=ROOT, env=environment)
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
    model = worker.export(ExportRequest("digits_cnn_4"))
    images, labels = data.test_set()
    session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    answers = session.run(["y"], {"x": images})[0].argmax(axis=1)
    assert (answers == labels).mean() > 0.8


def test_training_leaves_the_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits_training, "_EPOCHS", 1)
    with torch.device("meta"):
        module = build(find("digits_mlp_8").factory)
    network = module.to_empty(device="cpu")
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    with torch.inference_mode():
        digits_training.train(network)
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.rare
def test_without_scikit_learn_the_rows_say_what_to_install(tmp_path: Path) -> None:
    line = json.dumps(to_json(ExportRequest("digits_mlp_8"))) + "\n"
    own = {**os.environ, "GRAPHLAP_CACHE": str(tmp_path)}
    run = python("-c", WITHOUT_SCIKIT_LEARN, check=True, input=line, cwd=ROOT, env=own)
    reply = from_json(ExportReply, json.loads(run.stdout))
    assert reply.status == "unavailable"
    assert "graphlap[accuracy]" in reply.reason


PARAMETERS = {
    "cnn_tiny": 393_600,
    "cnn_small": 1_573_632,
    "cnn_med": 3_147_264,
    "lstm_tiny": 268_320,
    "lstm_small": 1_587_232,
    "lstm_med": 5_556_512,
    "lstm_med_deep": 4_940_832,
    "lstm_large": 22_172_192,
    # Weights, two biases of each gate, and the linear layer after them.
    "lowlat_small_step": 4 * 96 * (128 + 96 + 96 + 96 + 4) + 96 + 1,
    "lowlat_medium_step": 4 * 160 * (192 + 160 + 4 * 160 + 6) + 160 + 1,
    "lowlat_large_step": 4 * 736 * (512 + 736 + 6 * 736 + 8) + 736 + 1,
    "mlp": 295_808,
    "char_cnn": 11_908_100,
}

# Biases aside, every weight of these meets one vector a step.
MACS = {
    "cnn_tiny": 3 * 128 * 128 * 8,
    "lstm_tiny": 2 * 4 * 128 * (128 + 128) + 128 * 32,
    "lstm_tiny_seq": 16 * (2 * 4 * 128 * (128 + 128) + 128 * 32),
    "cnn_small_seq": 16 * 3 * 256 * 256 * 8,
    "lowlat_medium_window": 96 * 634_880 + 160,
    "mlp": 256 * 384 + 384 * 384 + 384 * 128,
    "char_cnn": 370_372_608,
}


@pytest.mark.parametrize("name", dict.fromkeys((*PARAMETERS, *MACS)))
def test_parameters_are_the_published_ones_and_macs_follow_from_the_sizes(name: str) -> None:
    definition = find(name)
    module = build(definition.factory)
    if name in PARAMETERS:
        assert parameter_counts(module) == (PARAMETERS[name], PARAMETERS[name])
    if name in MACS:
        inputs = seeded_inputs(definition.inputs, definition.axes, seed=0)
        assert macs(module, [torch.from_numpy(a) for a in inputs.values()]) == MACS[name]


def test_a_low_latency_lstm_is_compared_with_its_double() -> None:
    definition = find("lowlat_small_window")
    point, errors = {"batch": 1, "sequence": 9}, list[float]()
    module = ModuleEvaluator(definition)
    for seed in range(10):
        inputs = seeded_inputs(definition.inputs, point, seed=seed)
        expected = module.expected(inputs, point)
        single = module.outputs(inputs, point)["y"]
        assert [*expected] == ["torch in fp64"]
        double = expected["torch in fp64"]["y"]
        assert double.dtype == single.dtype == np.float32
        errors.append(float(np.abs(double - single).max()))
    # Some roundings of 2^-24 apart; one may be the same to the last bit, by the processor.
    assert 0 < max(errors) < 1e-6


@pytest.mark.parametrize(
    ("step_name", "whole_name", "time_axis"),
    [
        ("cnn_tiny", "cnn_tiny_seq", 2),
        ("lstm_tiny", "lstm_tiny_seq", 1),
        ("lowlat_small_step", "lowlat_small_window", 1),
    ],
)
def test_single_steps_equal_one_run_over_the_sequence(
    step_name: str, whole_name: str, time_axis: int
) -> None:
    """From zero state; of a window there is the last step alone."""
    step, whole, point = find(step_name), find(whole_name), {"batch": 2, "sequence": 21}
    x = seeded_inputs(whole.inputs, point, seed=7)["x"]
    expected = ModuleEvaluator(whole).outputs({"x": x}, point)["y"]
    module, outputs = ModuleEvaluator(step), []
    feeds = {spec.name: np.zeros(spec.shape_at(point), np.float32) for spec in step.inputs}
    for moment in np.split(x, 21, axis=time_axis):
        out = module.outputs({**feeds, "x": np.ascontiguousarray(moment)}, {"batch": 2})
        feeds |= {pair.input: out[pair.output] for pair in step.states}
        outputs.append(out["y"])
    steps = np.concatenate(outputs, axis=time_axis)
    actual = steps if steps.ndim == expected.ndim else steps[:, -1]
    assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()
