"""Layers, cells and networks compute what their names, drawings and publications say."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from exporters.inputs import seeded_inputs
from exporters.models.catalogue import by_suite, find
from exporters.pytorch.counts import macs, parameter_counts
from exporters.pytorch.module import build
from tests.seldom import seldom_but

DEFINITIONS = by_suite()["layers"]
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def _family_names(*families: str) -> list[str]:
    return [d.name for d in DEFINITIONS if d.family in families]


def _run(name: str, module: nn.Module | None = None) -> tuple[nn.Module, np.ndarray, np.ndarray]:
    """The module, a seeded input of batch 2 and what the module makes of it."""
    definition = find(name)
    module = module or build(definition.factory)
    x = seeded_inputs(definition.inputs, {"batch": 2}, seed=3)["x"]
    with torch.no_grad():
        return module, x, module(torch.from_numpy(x)).numpy()


def _arguments(name: str) -> dict[str, int]:
    """f, s and k as the name spells them."""
    return {letter: int(number) for letter, number in re.findall(r"_([fsk])(\d+)", name)}


@pytest.mark.parametrize(
    "name", _family_names("conv1d", "conv2d", "conv2d_kernel", "depthwise2d", "conv3d")
)
def test_convolutions(name: str) -> None:
    arguments = {"s": 1, "k": 3, **_arguments(name)}
    module, x, y = _run(name)
    (layer,) = (part for part in module.modules() if isinstance(part, CONVOLUTIONS))
    # 32 is a multiple of both strides, so `same` pads kernel - stride in all, if positive.
    total, space = max(arguments["k"] - arguments["s"], 0), x.ndim - 2
    padded_input = functional.pad(torch.from_numpy(x), (total // 2, total - total // 2) * space)
    convolve = (functional.conv1d, functional.conv2d, functional.conv3d)[space - 1]
    groups = x.shape[1] if name.startswith("depthwise") else 1
    with torch.no_grad():
        expected = convolve(
            padded_input, layer.weight, layer.bias, stride=arguments["s"], groups=groups
        ).relu()
    assert y.shape == (2, arguments["f"], *(32 // arguments["s"],) * space)
    np.testing.assert_allclose(y, expected.numpy(), atol=2e-5)


@pytest.mark.parametrize("name", _family_names("dense"))
def test_dense(name: str) -> None:
    module, x, y = _run(name)
    (layer,) = (part for part in module.modules() if isinstance(part, nn.Linear))
    expected = x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    assert name == f"dense_{x.shape[1]}_{y.shape[1]}"
    np.testing.assert_allclose(y, np.maximum(expected, 0), atol=2e-5)


@pytest.mark.parametrize("name", _family_names("avgpool1d", "avgpool2d", "maxpool1d", "maxpool2d"))
def test_pools_leave_out_windows_that_hang_over(name: str) -> None:
    arguments = _arguments(name)
    _, x, y = _run(name)
    pool = getattr(functional, name.split("_", maxsplit=1)[0].replace("pool", "_pool"))
    expected = pool(torch.from_numpy(x), arguments["k"], arguments["s"]).numpy()
    side = (32 - arguments["k"]) // arguments["s"] + 1
    assert y.shape == (2, 3, *(side,) * (x.ndim - 2))
    np.testing.assert_allclose(y, expected, atol=1e-6)


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_batch_norms_apply_statistics_that_matter(axes: int) -> None:
    norm, x, y = _run(f"batchnorm_{axes}d")
    assert x.ndim - 1 == axes
    per_channel = (1, 3, *[1] * (axes - 1))
    mean, variance, gamma, beta = (
        norm.state_dict()[name].numpy().reshape(per_channel)
        for name in ("running_mean", "running_var", "weight", "bias")
    )
    expected = (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta
    np.testing.assert_allclose(y, expected, atol=1e-5)
    for vector, neutral in ((mean, 0), (variance, 1), (gamma, 1), (beta, 0)):
        assert np.abs(vector - neutral).max() > 0.01, "a norm left out would go unseen"


def _padded(x: np.ndarray, **settings: Any) -> np.ndarray:
    return np.pad(x, [(0, 0), (0, 0), *[(2, 2)] * (x.ndim - 2)], **settings)


OF_NUMPY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "activation_relu": lambda x: np.maximum(x, 0),
    "activation_sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "activation_relu6": lambda x: np.clip(x, 0, 6),
    "activation_tanh": np.tanh,
    "reshape_1d": lambda x: x.reshape(2, 3072),
    "reshape_2d": lambda x: x.reshape(2, 1024, 3),
    "reshape_3d": lambda x: x.reshape(2, 32, 3, 32),
    "reshape_4d": lambda x: x.reshape(2, 16, 32, 3, 2),
    "_zero": _padded,
    "_constant": partial(_padded, constant_values=1),
    "_reflect": partial(_padded, mode="reflect"),
    "_symmetric": partial(_padded, mode="symmetric"),
}


@pytest.mark.parametrize("name", _family_names("activation", "reshape", "pad1d", "pad2d"))
def test_what_computes_no_product_is_as_in_numpy(name: str) -> None:
    compute = OF_NUMPY.get(name) or OF_NUMPY[name[name.index("_") :]]
    module, x, _ = _run(name)
    x *= 9
    np.testing.assert_allclose(module(torch.from_numpy(x)).numpy(), compute(x), atol=1e-6)


CELLS = by_suite()["cells"]


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


@pytest.mark.parametrize(("name", "shape", "weights"), DRAWN, ids=[row[0] for row in DRAWN])
def test_shapes_and_weights_follow_the_drawing(
    name: str, shape: tuple[int, ...], weights: int
) -> None:
    _, _, y = _run(name)
    assert y.shape == (2, *shape)
    assert y.std() > 0.01
    assert parameter_counts(build(find(name).factory))[1] == weights


@pytest.mark.parametrize("branches", [2, 4])
def test_a_skip_connection_adds_what_it_would_concatenate(branches: int) -> None:
    _, x, joined_output = _run(f"skip_concat_{branches}")
    _, _, sum_output = _run(f"skip_add_{branches}")
    parts = np.split(joined_output, branches, axis=1)
    assert np.array_equal(parts[0], x)
    assert all(part.min() == 0 for part in parts[1:]), "ReLU ends every convolved branch"
    np.testing.assert_allclose(sum_output, sum(parts), atol=1e-5)


@pytest.mark.parametrize("name", ["resnet_identity_block_64", "mobilenet_block_32"])
def test_a_block_whose_branch_is_silent_passes_its_input_and_only_resnets_through_relu(
    name: str,
) -> None:
    module = build(find(name).factory)
    *_, norm = module.get_submodule("body").children()
    assert isinstance(norm, nn.BatchNorm2d)
    with torch.no_grad():
        norm.weight.zero_()
        norm.bias.zero_()
    _, x, y = _run(name, module)
    assert np.array_equal(y, np.maximum(x, 0) if name.startswith("resnet") else x)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_dense_block_hands_its_input_on(axes: int) -> None:
    _, x, y = _run(f"densenet_block_{axes}d_32")
    assert np.array_equal(y[:, :32], x)


def test_the_classifiers_pool_then_multiply() -> None:
    for name, side in (("classifier_avg", 2), ("classifier_globalavg", 32)):
        module, x, y = _run(name)
        blocks = x.reshape(2, 32, 32 // side, side, 32 // side, side).mean(axis=(3, 5))
        *_, linear = module.children()
        assert isinstance(linear, nn.Linear)
        weight, bias = linear.weight.detach().numpy(), linear.bias.detach().numpy()
        np.testing.assert_allclose(y, blocks.reshape(2, -1) @ weight.T + bias, atol=1e-5)


# Millions of multiply-accumulates at the network's image size. MobileNet v1: Howard et al.
# 2017, tables 6 and 8. The rest: the FLOPs/2 column of the imgclsmob project's Gluon table,
# which counts norms and activations too, hence the 2 %.
PUBLISHED_MMACS = {
    "mobilenet1.0": (569, 0.002),
    "mobilenet0.25": (41, 0.01),
    "alexnet": (714.83, 0.02),
    "vgg11": (7615.87, 0.02),
    "vgg19": (19642.55, 0.02),
    "resnet18_v1": (1820.41, 0.02),
    "resnet50_v1": (3877.95, 0.02),
    "resnet152_v1": (11321.85, 0.02),
    "resnet18_v2": (1820.56, 0.02),
    "resnet50_v2": (4107.97, 0.02),
}

QUICK = ("mobilenet1.0", "mobilenetv2_1.0", "squeezenet1.0")
ONE_OF_EACH_KIND = (
    *QUICK,
    *("alexnet", "densenet121", "inceptionv3", "resnet50_v1", "resnet50_v2", "vgg11", "vgg11_bn"),
)


@pytest.mark.parametrize("name", PUBLISHED_MMACS)
def test_multiply_accumulates_are_those_of_the_literature(name: str) -> None:
    image = torch.empty(find(name).inputs[0].shape_at({"batch": 1}), device="meta")
    with torch.device("meta"):
        network = build(find(name).factory)
    mac_count = macs(network, [image])
    published_macs, tolerance = PUBLISHED_MMACS[name]
    assert mac_count == pytest.approx(published_macs * 1e6, rel=tolerance)


@pytest.mark.parametrize("name", seldom_but(QUICK, ONE_OF_EACH_KIND))
def test_outputs_are_sane_and_depend_on_the_image(name: str) -> None:
    """A comparison of outputs that vanish, explode or ignore the image would prove nothing."""
    definition = find(name)
    network = build(definition.factory)
    images = torch.from_numpy(seeded_inputs(definition.inputs, {"batch": 2}, seed=0)["x"])
    with torch.inference_mode():
        logits = network(images)
    assert logits.isfinite().all()
    assert logits.std(dim=1).min() > 0.01
    assert logits.abs().max() < 100
    assert (logits[0] - logits[1]).std() > 0.01 * logits.std()
