"""Each of the 22 cells is the drawing in its docstring: branches, merges, sizes, weights."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

from exporters.inputs import seeded_inputs
from exporters.models.catalogue import by_suite, find
from exporters.pytorch.counts import parameter_counts
from exporters.pytorch.module import build

DEFINITIONS = by_suite()["cells"]


def _run(name: str, module: nn.Module | None = None) -> tuple[np.ndarray, np.ndarray]:
    definition = find(name)
    x = seeded_inputs(definition.inputs, {"batch": 2}, seed=3)["x"]
    with torch.no_grad():
        y = (module or build(definition.factory))(torch.from_numpy(x)).numpy()
    return x, y


def _silence_last_norm(module: nn.Module) -> None:
    """Make the residual branch's last norm give zero everywhere."""
    *_, norm = module.get_submodule("body").children()
    assert isinstance(norm, nn.BatchNorm2d)
    with torch.no_grad():
        norm.weight.zero_()
        norm.bias.zero_()


def _conv(channels: int, filters: int, taps: int, bias: bool = False) -> int:
    return channels * filters * taps + (filters if bias else 0)


def _norm(channels: int) -> int:
    return 4 * channels


def _dense_block(filters: int, taps: int) -> int:
    inputs = [32 + layer * filters for layer in range(4)]
    return sum(_norm(c) + _conv(c, filters, taps) for c in inputs)


def _inverted_residual(filters: int) -> int:
    hidden_filters = 6 * filters
    norms = 2 * _norm(hidden_filters) + _norm(filters)
    return 2 * _conv(filters, hidden_filters, 1) + 9 * hidden_filters + norms


def _inception(space_axes: int, reduced: bool) -> int:
    point_taps, three, five = (taps**space_axes for taps in (1, 3, 5))
    if not reduced:
        return sum(_conv(32, 32, taps, bias=True) for taps in (point_taps, three, five))
    branches = [_conv(32, 16, 1, True) + _conv(16, 32, taps, True) for taps in (three, five)]
    return 2 * _conv(32, 32, 1, True) + sum(branches)


def _conv_block(filters: int) -> int:
    body = _conv(32, filters, 9) + _conv(filters, filters, 9)
    return body + _conv(32, filters, 1) + 3 * _norm(filters)


def _identity_block(filters: int) -> int:
    return 2 * _conv(filters, filters, 9) + 2 * _norm(filters)


# Name, output without the batch, weights with every norm's four vectors; from the drawings.
DRAWN = [
    ("skip_concat_2", (64, 32, 32), _conv(32, 32, 9, True)),
    ("skip_add_2", (32, 32, 32), _conv(32, 32, 9, True)),
    ("skip_concat_4", (128, 32, 32), 3 * _conv(32, 32, 9, True)),
    ("skip_add_4", (32, 32, 32), 3 * _conv(32, 32, 9, True)),
    *((f"resnet_conv_block_{f}", (f, 16, 16), _conv_block(f)) for f in (64, 128)),
    *((f"resnet_identity_block_{f}", (f, 32, 32), _identity_block(f)) for f in (64, 128)),
    *((f"densenet_block_1d_{f}", (32 + 4 * f, 32), _dense_block(f, 3)) for f in (32, 64)),
    *((f"densenet_block_2d_{f}", (32 + 4 * f, 32, 32), _dense_block(f, 9)) for f in (32, 64)),
    ("inception_naive_1d", (128, 32), _inception(1, reduced=False)),
    ("inception_reduced_1d", (128, 32), _inception(1, reduced=True)),
    ("inception_naive_2d", (128, 32, 32), _inception(2, reduced=False)),
    ("inception_reduced_2d", (128, 32, 32), _inception(2, reduced=True)),
    *((f"mobilenet_block_{f}", (f, 32, 32), _inverted_residual(f)) for f in (32, 64, 128, 256)),
    ("classifier_avg", (10,), 32 * 16 * 16 * 10 + 10),
    ("classifier_globalavg", (10,), 32 * 10 + 10),
]


def test_the_rows_of_the_page() -> None:
    assert {name for name, _, _ in DRAWN} == {definition.name for definition in DEFINITIONS}
    assert len(DEFINITIONS) == 22
    assert Counter(d.family for d in DEFINITIONS) == {
        "skip": 4,
        "resnet_block": 4,
        "densenet_block": 4,
        "inception_block": 4,
        "mobilenet_block": 4,
        "classifier": 2,
    }


@pytest.mark.parametrize(("name", "shape", "weights"), DRAWN, ids=[row[0] for row in DRAWN])
def test_shapes_and_weights_follow_the_drawing(
    name: str, shape: tuple[int, ...], weights: int
) -> None:
    _, y = _run(name)
    assert y.shape == (2, *shape)
    assert y.std() > 0.01
    assert parameter_counts(build(find(name).factory))[1] == weights


@pytest.mark.parametrize("branches", [2, 4])
def test_a_skip_connection_adds_what_it_would_concatenate(branches: int) -> None:
    x, joined_output = _run(f"skip_concat_{branches}")
    _, sum_output = _run(f"skip_add_{branches}")
    parts = np.split(joined_output, branches, axis=1)
    assert np.array_equal(parts[0], x)
    assert all(part.min() == 0 for part in parts[1:]), "ReLU ends every convolved branch"
    np.testing.assert_allclose(sum_output, sum(parts), atol=1e-5)


def test_a_silent_identity_block_passes_its_input_through_relu() -> None:
    block = build(find("resnet_identity_block_64").factory)
    _silence_last_norm(block)
    x, y = _run("resnet_identity_block_64", block)
    assert np.array_equal(y, np.maximum(x, 0))


def test_a_silent_inverted_residual_returns_its_input_without_relu() -> None:
    block = build(find("mobilenet_block_32").factory)
    _silence_last_norm(block)
    x, y = _run("mobilenet_block_32", block)
    assert np.array_equal(y, x)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_dense_block_hands_its_input_on(axes: int) -> None:
    x, y = _run(f"densenet_block_{axes}d_32")
    assert np.array_equal(y[:, :32], x)


def test_the_classifiers_pool_then_multiply() -> None:
    for name, side in (("classifier_avg", 2), ("classifier_globalavg", 32)):
        module = build(find(name).factory)
        x, y = _run(name, module)
        blocks = x.reshape(2, 32, 32 // side, side, 32 // side, side).mean(axis=(3, 5))
        *_, linear = module.children()
        assert isinstance(linear, nn.Linear)
        weight, bias = linear.weight.detach().numpy(), linear.bias.detach().numpy()
        np.testing.assert_allclose(y, blocks.reshape(2, -1) @ weight.T + bias, atol=1e-5)
