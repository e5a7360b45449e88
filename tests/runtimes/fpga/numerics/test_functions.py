"""Activation functions and normalisations on the card against ONNX Runtime's CPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from tests.runtimes.fpga.numerics.agreement import agree, few, random, seeds
from tests.runtimes.fpga.ort_sessions import model


@dataclass(frozen=True, slots=True)
class Function:
    """Its attributes, its float32 roundings, and whether it takes nearly equal values apart."""

    roundings: int
    cancels: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)


FUNCTIONS = {
    "Celu": Function(8, True, {"alpha": 1.5}),
    "Elu": Function(8, True, {"alpha": 0.5}),
    "Selu": Function(8, True),
    "Mish": Function(16, True),
    "HardSwish": Function(8, True),
    "Gelu": Function(16, True),
    "LRN": Function(16, attributes={"size": 3}),
    "GlobalLpPool": Function(3 * 6 * 4 + 8, attributes={"p": 3}),
    "DepthToSpace": Function(0, attributes={"blocksize": 2, "mode": "CRD"}),
    "SpaceToDepth": Function(0, attributes={"blocksize": 2}),
}


@few
@given(st.sampled_from(sorted(FUNCTIONS)), seeds)
def test_a_function_of_one_input_is_within_one_rounding_of_the_cpu(op: str, seed: int) -> None:
    x = random(seed, 2, 4, 6, 4)
    function = FUNCTIONS[op]
    node = helper.make_node(op, ["x"], ["y"], **function.attributes)
    proto = model([node], {"x": x.shape}, {"y": None})
    # An exponential less one, or one side of an S, times a slope of at most two or the input.
    magnitude = 2 + np.abs(x) if function.cancels else 0.0
    agree(proto, {"x": x}, function.roundings, magnitude)


def standardised(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """How large the values are that (x - mean) / std puts together.

    The variance may have been taken as the mean square less the squared mean.
    """
    wide = x.astype(np.float64)
    mean, variance = (statistic(wide, axis=axes, keepdims=True) for statistic in (np.mean, np.var))
    squares = np.square(wide).mean(axis=axes, keepdims=True)
    return np.asarray((np.abs(wide) + np.abs(mean)) / np.sqrt(variance) * (1 + squares / variance))


@few
@given(
    st.sampled_from(["BatchNormalization", "InstanceNormalization", "LayerNormalization"]),
    st.integers(1, 8),
    seeds,
)
def test_a_normalisation_is_within_one_rounding_of_the_cpu(
    op: str, channels: int, seed: int
) -> None:
    x = random(seed, 2, channels, 5, 8)
    size = 8 if op == "LayerNormalization" else channels
    weights = {"scale": random(seed + 1, size), "bias": random(seed + 2, size)}
    if op == "BatchNormalization":
        weights |= {"mean": random(seed + 3, size), "var": np.abs(random(seed + 4, size)) + 0.1}
    proto = model(
        [helper.make_node(op, ["x", *weights], ["y"])], {"x": x.shape}, {"y": x.shape}, weights
    )
    # Scale and bias stand along the last axis or along the channels.
    parameter_shape = (size,) if op == "LayerNormalization" else (size, 1, 1)
    values = {name: np.abs(array).reshape(parameter_shape) for name, array in weights.items()}
    if op == "BatchNormalization":
        parts, terms = (np.abs(x) + values["mean"]) / np.sqrt(values["var"]), 1
    else:
        axes = (3,) if op == "LayerNormalization" else (2, 3)
        parts, terms = standardised(x, axes), x[0, 0].size
    agree(proto, {"x": x}, terms + 16, parts * values["scale"] + values["bias"])


@few
@given(seeds)
def test_a_standardised_input_is_within_one_rounding_of_the_cpu(seed: int) -> None:
    x = random(seed, 2, 4, 6, 4)
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    proto = model([node], {"x": x.shape}, {"y": None})
    agree(proto, {"x": x}, x[:, 0].size + 16, standardised(x, (0, 2, 3)))
