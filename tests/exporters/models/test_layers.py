"""Each of the 60 layers computes what its name says, by a second way of computing it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import nn

from exporters.inputs import seeded_inputs
from exporters.models.catalogue import by_suite, find
from exporters.pytorch.module import build

DEFINITIONS = by_suite()["layers"]


def _family_names(*families: str) -> list[str]:
    return [d.name for d in DEFINITIONS if d.family in families]


def _run(name: str) -> tuple[nn.Module, np.ndarray, np.ndarray]:
    """The module, a seeded input of batch 2 and what the module makes of it."""
    definition = find(name)
    module = build(definition.factory)
    x = seeded_inputs(definition.inputs, {"batch": 2}, seed=3)["x"]
    with torch.no_grad():
        return module, x, module(torch.from_numpy(x)).numpy()


def _weights(module: nn.Module, *kinds: type[nn.Module]) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias of the module's one layer of these kinds."""
    (layer,) = (part for part in module.modules() if isinstance(part, kinds))
    return (
        layer.get_parameter("weight").detach().numpy(),
        layer.get_parameter("bias").detach().numpy(),
    )


def _windows(x: np.ndarray, window: int, stride: int) -> np.ndarray:
    """[batch, channels, positions ..., window ...] over every space axis."""
    axes = tuple(range(2, x.ndim))
    views = sliding_window_view(x, (window,) * len(axes), axis=axes)
    return views[(slice(None), slice(None), *(slice(None, None, stride),) * len(axes))]


def _arguments(name: str) -> dict[str, int]:
    """f, s and k as the name spells them."""
    return {letter: int(number) for letter, number in re.findall(r"_([fsk])(\d+)", name)}


def test_fifteen_rows_of_four() -> None:
    assert len({definition.name for definition in DEFINITIONS}) == 60
    assert sorted(Counter(d.family for d in DEFINITIONS).values()) == [4] * 15


@pytest.mark.parametrize(
    "name", _family_names("conv1d", "conv2d", "conv2d_kernel", "depthwise2d", "conv3d")
)
def test_convolutions(name: str) -> None:
    arguments = {"s": 1, "k": 3, **_arguments(name)}
    module, x, y = _run(name)
    weight, bias = _weights(module, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    weight = weight.astype(np.float64)
    assert weight.shape[0] == arguments["f"]
    # 32 is a multiple of both strides, so `same` pads kernel - stride in all, if positive.
    total = max(arguments["k"] - arguments["s"], 0)
    sides = (total // 2, total - total // 2)
    padded_input = np.pad(x, [(0, 0), (0, 0), *[sides] * (x.ndim - 2)])
    windows = _windows(padded_input, arguments["k"], arguments["s"])
    space = x.ndim - 2
    kernel_axes = list(range(2 + space, 2 + 2 * space))
    if name.startswith("depthwise"):
        expected = np.einsum("ncyxij,cij->ncyx", windows, weight[:, 0])
    else:
        products = np.tensordot(windows, weight, ([1, *kernel_axes], list(range(1, 2 + space))))
        expected = np.moveaxis(products, -1, 1)
    expected = np.maximum(expected + bias.reshape(-1, *[1] * space), 0)
    assert y.shape == (2, arguments["f"], *(32 // arguments["s"],) * space)
    np.testing.assert_allclose(y, expected, atol=2e-5)


@pytest.mark.parametrize("name", _family_names("dense"))
def test_dense(name: str) -> None:
    module, x, y = _run(name)
    weight, bias = _weights(module, nn.Linear)
    expected = x @ weight.T + bias
    assert name == f"dense_{x.shape[1]}_{y.shape[1]}"
    np.testing.assert_allclose(y, np.maximum(expected, 0), atol=2e-5)


@pytest.mark.parametrize("name", _family_names("avgpool1d", "avgpool2d", "maxpool1d", "maxpool2d"))
def test_pools_leave_out_windows_that_hang_over(name: str) -> None:
    arguments = _arguments(name)
    _, x, y = _run(name)
    windows = _windows(x, arguments["k"], arguments["s"])
    reduce = np.mean if name.startswith("avg") else np.max
    expected = reduce(windows, axis=tuple(range(x.ndim, windows.ndim)))
    assert (
        y.shape
        == expected.shape
        == (2, 3, *((32 - arguments["k"]) // arguments["s"] + 1,) * (x.ndim - 2))
    )
    np.testing.assert_allclose(y, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("activation_relu", lambda x: np.maximum(x, 0)),
        ("activation_sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("activation_relu6", lambda x: np.clip(x, 0, 6)),
        ("activation_tanh", np.tanh),
    ],
)
def test_activations(name: str, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    module = build(find(name).factory)
    x = np.linspace(-9, 9, 3 * 32 * 32, dtype=np.float32).reshape(1, 3, 32, 32)
    np.testing.assert_allclose(module(torch.from_numpy(x)).numpy(), expected(x), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "axes"),
    [("batchnorm_1d", 1), ("batchnorm_2d", 2), ("batchnorm_3d", 3), ("batchnorm_4d", 4)],
)
def test_batch_norms_apply_statistics_that_matter(name: str, axes: int) -> None:
    norm, x, y = _run(name)
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


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("reshape_1d", (3072,)),
        ("reshape_2d", (1024, 3)),
        ("reshape_3d", (32, 3, 32)),
        ("reshape_4d", (16, 32, 3, 2)),
    ],
)
def test_reshapes_keep_row_major_order(name: str, shape: tuple[int, ...]) -> None:
    _, x, y = _run(name)
    assert np.array_equal(y, x.reshape(2, *shape))


@pytest.mark.parametrize("name", _family_names("pad1d", "pad2d"))
def test_paddings(name: str) -> None:
    _, x, y = _run(name)
    widths = [(0, 0), (0, 0), *[(2, 2)] * (x.ndim - 2)]
    kind = name.partition("_")[2]
    if kind in ("zero", "constant"):
        value = 0.0 if kind == "zero" else 1.0
        assert np.array_equal(y, np.pad(x, widths, constant_values=value))
    else:
        assert np.array_equal(
            y, np.pad(x, widths, mode="reflect" if kind == "reflect" else "symmetric")
        )
