"""LSTM and GRU layers on the card against torch's, step by step."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from runtimes.fpga.numerics.operator import round_bf16
from tests.runtimes.fpga.numerics.agreement import assert_within, few, random, seeds
from tests.runtimes.fpga.ort_sessions import card_session, model, taken

GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}
"""torch's gates in ONNX's order."""


def drawn_layer(
    kind: str, inputs: int, hidden_size: int, both: bool, seed: int
) -> torch.nn.RNNBase:
    torch.manual_seed(seed)
    layers = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}
    layer = layers[kind](inputs, hidden_size, bidirectional=both)
    for parameter in layer.parameters():
        parameter.data = torch.from_numpy(round_bf16(parameter.detach().numpy()))
    return layer


def onnx_weights(layer: torch.nn.RNNBase, kind: str) -> dict[str, np.ndarray]:
    """The layer's parameters as W, R and B, one row for each direction."""

    def stack_directions(name: str) -> np.ndarray:
        names = [name, f"{name}_reverse"][: 1 + layer.bidirectional]
        return np.stack([reorder_gates(getattr(layer, n).detach().numpy()) for n in names])

    def reorder_gates(array: np.ndarray) -> np.ndarray:
        return np.concatenate([np.split(array, len(GATES[kind]))[gate] for gate in GATES[kind]])

    biases = [stack_directions("bias_ih_l0"), stack_directions("bias_hh_l0")]
    return {
        "w": stack_directions("weight_ih_l0"),
        "r": stack_directions("weight_hh_l0"),
        "b": np.concatenate(biases, axis=1),
    }


def steps_from(layer: torch.nn.RNNBase, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """What torch gives for each step from the state that the card gave before it: [T,D,N,H].

    The card rounds the hidden state to bf16 after every step; begun from the card's own
    state, each step differs by its own rounding alone. A cell state is torch's own, rounded as the
    card rounds it.
    """
    steps, directions, batch, hidden_size = outputs.shape
    expected = np.empty_like(outputs)
    for d in range(directions):
        h, c = (
            torch.zeros(directions, batch, hidden_size),
            torch.zeros(directions, batch, hidden_size),
        )
        for t in range(steps)[:: -1 if d else 1]:
            state = (h, c) if isinstance(layer, torch.nn.LSTM) else h
            y, next_state = layer(torch.from_numpy(x[t : t + 1]), state)
            expected[t, d] = y[0, :, d * hidden_size : (d + 1) * hidden_size].numpy()
            h = torch.from_numpy(outputs[t].copy())
            if isinstance(next_state, tuple):
                c = torch.from_numpy(round_bf16(next_state[1].numpy()))
    return expected


@few
@given(
    st.sampled_from(["LSTM", "GRU"]),
    st.sampled_from(["forward", "bidirectional"]),
    st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    seeds,
)
def test_every_step_of_a_recurrent_layer_is_within_one_rounding_of_torch(
    kind: str, direction: str, sizes: tuple[int, int, int, int], seed: int
) -> None:
    steps, batch, inputs, hidden_size = sizes
    layer = drawn_layer(kind, inputs, hidden_size, direction == "bidirectional", seed)
    weights = onnx_weights(layer, kind)
    attributes: dict[str, Any] = {"hidden_size": hidden_size, "direction": direction}
    attributes |= {"linear_before_reset": 1} if kind == "GRU" else {}
    node = helper.make_node(kind, ["x", *weights], ["y"], **attributes)
    x = round_bf16(random(seed, steps, batch, inputs))
    session = card_session(model([node], {"x": x.shape}, {"y": None}, weights))
    assert taken(session) == [kind]
    (actual,) = session.run(None, {"x": x})
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = steps_from(layer, x, np.asarray(actual))
    # A gate is a function of slope one at most of a sum over inputs, state and biases.
    largest = max(1.0, float(np.abs(x).max()))
    weight_total = sum(
        float(np.abs(array).sum(axis=-1).max()) for array in (weights["w"], weights["r"])
    )
    magnitude = largest * weight_total + 2 * float(np.abs(weights["b"]).max()) + 1
    # A cell state beside the middle between two bf16 numbers may be rounded to either of them.
    flip_room = 2.0**-8 * steps if kind == "LSTM" and steps > 1 else 0.0
    room = inputs + hidden_size + 8 * steps
    assert_within(np.asarray(actual), expected, room, magnitude + flip_room * 2**23 / room)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_sequence_and_its_steps_give_equal_numbers(kind: str) -> None:
    steps, batch, inputs, hidden_size = 12, 2, 5, 7
    weights = onnx_weights(drawn_layer(kind, inputs, hidden_size, False, 3), kind)
    attributes: dict[str, Any] = {"hidden_size": hidden_size}
    attributes |= {"linear_before_reset": 1} if kind == "GRU" else {}
    x = round_bf16(random(3, steps, batch, inputs))
    whole = helper.make_node(kind, ["x", *weights], ["y"], **attributes)
    (expected,) = card_session(model([whole], {"x": x.shape}, {"y": None}, weights)).run(
        None, {"x": x}
    )
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    ends = [f"{name}_end" for name in states]
    node = helper.make_node(kind, ["x", *weights, "", *states], ["y", *ends], **attributes)
    shape = (1, batch, hidden_size)
    feeds = {"x": (1, batch, inputs), **dict.fromkeys(states, shape)}
    step = card_session(model([node], feeds, dict.fromkeys(["y", *ends]), weights))
    step_states = {name: np.zeros(shape, np.float32) for name in states}
    for t in range(steps):
        y, *next_states = step.run(None, {"x": x[t : t + 1], **step_states})
        np.testing.assert_array_equal(y[0], expected[t])
        step_states = dict(zip(states, next_states, strict=True))
