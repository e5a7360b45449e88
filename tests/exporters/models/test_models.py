"""The models have the sizes that the tables publish, and their streaming forms are honest."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch

from exporters.inputs import seeded_inputs
from exporters.messages import ExportRequest
from exporters.models.catalogue import find
from exporters.pytorch.counts import macs, parameter_counts
from exporters.pytorch.module import ModuleEvaluator, build
from exporters.types import Definition
from tests.exporters.support import WorkerProcess

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


def _macs(definition: Definition) -> int | None:
    inputs = seeded_inputs(definition.inputs, definition.axes, seed=0)
    return macs(build(definition.factory), [torch.from_numpy(a) for a in inputs.values()])


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_the_published_ones_to_the_unit(name: str) -> None:
    module = build(find(name).factory)
    assert parameter_counts(module) == (PARAMETERS[name], PARAMETERS[name])


@pytest.mark.parametrize("name", MACS)
def test_macs_follow_from_the_sizes(name: str) -> None:
    assert _macs(find(name)) == MACS[name]


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
    assert expected.by == "torch in fp64"
    assert expected.outputs["y"].dtype == single.dtype == np.float32
    error = np.abs(expected.outputs["y"] - single).max()
    # Some roundings of 2^-24 apart, and not the same to the last bit.
    assert 0 < error < 1e-6


@pytest.mark.parametrize("name", ["cnn_tiny", "lstm_tiny", "lstm_med_deep"])
def test_both_forms_have_the_same_weights(name: str) -> None:
    step = build(find(name).factory).state_dict()
    sequence = build(find(f"{name}_seq").factory).state_dict()
    assert step.keys() == sequence.keys()
    assert all(torch.equal(step[key], sequence[key]) for key in step)


def test_a_convolution_sees_no_later_input() -> None:
    definition = find("cnn_tiny_seq")
    module, point = ModuleEvaluator(definition), {"batch": 1, "sequence": 12}
    inputs = seeded_inputs(definition.inputs, point, seed=1)
    output_before = module.outputs(inputs, point)["y"]
    inputs["x"][:, :, 7:] += 1.0
    output_after = module.outputs(inputs, point)["y"]
    assert np.array_equal(output_before[:, :, :7], output_after[:, :, :7])
    assert not np.allclose(output_before[:, :, 7:], output_after[:, :, 7:])


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
