"""The catalogue: its table, its networks' published sizes, and their streaming forms."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
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
from tests.exporters.support import WorkerProcess, assert_batch_is_symbolic_and_right
from tests.seldom import seldom_but


def test_every_alias_leads_to_its_definition() -> None:
    definitions = [d for suite in catalogue.by_suite().values() for d in suite]
    assert len(definitions) == len(catalogue.names())
    for definition in definitions:
        for alias in definition.aliases:
            assert catalogue.find(alias) is definition


def test_listing_imports_no_engine() -> None:
    code = (
        "import sys; from exporters.models import catalogue; catalogue.by_suite();"
        "print([m for m in ('torch', 'onnx', 'onnxruntime') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


NETWORKS = {
    row["model"]: int(row["parameters_with_running_stats"])
    for row in csv.DictReader(
        files("assets").joinpath("published/gluon_zoo.csv").read_text("utf-8").splitlines()
    )
}


LARGEST = 30_000_000


SIZE = re.compile(r"\d+\.\d+|\d{2,}")
"""What tells a network from its family: of resnet18_v2 the 18."""


def smallest_of_each_family() -> list[str]:
    ascending = sorted(NETWORKS, key=NETWORKS.__getitem__)
    first = {SIZE.sub("", name): name for name in reversed(ascending)}
    return [name for name in ascending if name in first.values() and NETWORKS[name] < LARGEST]


DEEP = ("densenet", "inception", "mobilenet", "resnet18_v1", "resnet18_v2")
"""Families that take longest, up to half a minute each; the others stand for them."""
LIKE_2D = ("conv1d", "conv3d", "avgpool1d", "maxpool1d", "pad1d")
OF_SUITES = [*enumerate(catalogue.by_suite()["layers"]), *enumerate(catalogue.by_suite()["cells"])]
OFTEN = [
    *(name for name in smallest_of_each_family() if not name.startswith(DEEP)),
    *(one.name for at, one in OF_SUITES if at % 4 == 0 and not one.name.startswith(LIKE_2D)),
]
"""One of each row of four and kind; the others are `make soak`'s."""


@pytest.mark.parametrize(
    "name",
    seldom_but(OFTEN, [*smallest_of_each_family(), *(one.name for _, one in OF_SUITES)]),
)
def test_it_exports_with_a_symbolic_batch(worker: WorkerProcess, name: str) -> None:
    assert_batch_is_symbolic_and_right(worker, name, (2,) if name in NETWORKS else (2, 5))


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


def test_steps_of_a_low_latency_lstm_end_where_its_window_does() -> None:
    window, step = find("lowlat_small_window"), find("lowlat_small_step")
    inputs = seeded_inputs(window.inputs, {"batch": 2, "sequence": 9}, seed=3)["x"]
    whole = ModuleEvaluator(window).outputs({"x": inputs}, {"batch": 2, "sequence": 9})["y"]
    module = ModuleEvaluator(step)
    feeds = {spec.name: np.zeros(spec.shape_at({"batch": 2}), np.float32) for spec in step.inputs}
    for time in range(9):
        out = module.outputs({**feeds, "x": inputs[:, time : time + 1]}, {"batch": 2})
        feeds |= {pair.input: out[pair.output] for pair in step.states}
    np.testing.assert_allclose(out["y"][:, 0], whole, rtol=0, atol=1e-6)


def test_a_low_latency_lstm_is_compared_with_its_double() -> None:
    definition = find("lowlat_small_window")
    point = {"batch": 1, "sequence": 9}
    inputs = seeded_inputs(definition.inputs, point, seed=3)
    module = ModuleEvaluator(definition)
    expected = module.expected(inputs, point)
    single = module.outputs(inputs, point)["y"]
    assert [*expected] == ["torch in fp64"]
    double = expected["torch in fp64"]["y"]
    assert double.dtype == single.dtype == np.float32
    error = np.abs(double - single).max()
    # Some roundings of 2^-24 apart, and not the same to the last bit.
    assert 0 < error < 1e-6


@pytest.mark.parametrize(("name", "time_axis"), [("cnn_tiny", 2), ("lstm_tiny", 1)])
def test_single_steps_equal_one_run_over_the_sequence(
    worker: WorkerProcess, name: str, time_axis: int
) -> None:
    """On ONNX Runtime, from zero state, at a batch and a length that were not traced."""
    sessions = []
    for model in (name, f"{name}_seq"):
        reply = worker.ask(ExportRequest(model))
        assert reply.model is not None, reply.reason
        sessions.append(
            onnxruntime.InferenceSession(reply.model.path, providers=["CPUExecutionProvider"])
        )
    step, sequence = sessions
    definition = find(f"{name}_seq")
    batch, length = 2, 21
    inputs = seeded_inputs(definition.inputs, {"batch": batch, "sequence": length}, seed=7)
    whole = sequence.run(["y"], inputs)[0]

    pairs = find(name).states
    shapes = {spec.name: spec.shape_at({"batch": batch}) for spec in find(name).inputs}
    state = {pair.input: np.zeros(shapes[pair.input], np.float32) for pair in pairs}
    steps = []
    for moment in np.split(inputs["x"], length, axis=time_axis):
        y, *following = step.run(
            ["y", *(pair.output for pair in pairs)], {"x": np.ascontiguousarray(moment), **state}
        )
        state = dict(zip(state, following, strict=True))
        steps.append(y)
    step_outputs = np.concatenate(steps, axis=time_axis)
    assert np.abs(step_outputs - whole).max() <= 1e-5 * np.abs(whole).max()
