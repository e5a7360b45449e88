"""Each operator of ours against its definition, written out element by element or by torch."""

from __future__ import annotations

from itertools import product
from math import exp, log
from typing import Any

import numpy as np
import onnx
import pytest

from exporters.semantics.evaluator import Evaluator
from tests.exporters.semantics.nodes import run


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def test_elements_are_gathered_along_an_axis_of_any_length() -> None:
    """Every BERT gathers its token types so; onnx's evaluator stops at 64 entries."""
    data = _normal(3, 200, 4)
    indices = np.random.default_rng(0).integers(-200, 200, (2, 5, 3))
    for axis in (1, -2):
        (actual,) = run("GatherElements", [data, indices], 13, axis=axis)
        for i, j, k in np.ndindex(indices.shape):
            assert actual[i, j, k] == data[i, indices[i, j, k], k]


def test_scatter_of_old_files_writes_where_the_indices_say() -> None:
    data, updates, indices = _normal(3, 5), _normal(1, 2), np.array([[1, 3]])
    (actual,) = run("Scatter", [data, indices, updates], 9, axis=1)
    expected = data.copy()
    expected[0, 1], expected[0, 3] = updates[0]
    assert np.array_equal(actual, expected)


def test_axes_to_insert_are_places_in_the_output() -> None:
    for axes, shape in (([2, 0], (1, 3, 1, 4)), ([-1, 0], (1, 3, 4, 1))):
        (actual,) = run("Unsqueeze", [_normal(3, 4)], 11, axes=axes)
        assert actual.shape == shape


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_softmax_of_old_files_sums_over_all_that_follows_the_axis(axis: int | None) -> None:
    """A SqueezeNet of opset 9 ends in a Softmax of [1, 1000, 1, 1]: 1 is not its answer."""
    x = _normal(2, 3, 4)
    attributes = {} if axis is None else {"axis": axis}
    (actual,) = run("Softmax", [x], 12, **attributes)
    (logs,) = run("LogSoftmax", [x], 12, **attributes)
    (hard,) = run("Hardmax", [x], 12, **attributes)
    rows = int(np.prod(x.shape[: 1 if axis is None else axis]))
    for row, soft, logarithms, hard_maxima in zip(
        *(a.reshape(rows, -1) for a in (x, actual, logs, hard)), strict=True
    ):
        total = sum(exp(value) for value in row)
        assert soft == pytest.approx([exp(value) / total for value in row], rel=1e-5)
        assert logarithms == pytest.approx([value - log(total) for value in row], abs=1e-5)
        assert [int(value) for value in hard_maxima] == [int(value == max(row)) for value in row]


def test_softmax_of_new_files_sums_along_the_last_axis_alone() -> None:
    (actual,) = run("Softmax", [_normal(2, 3, 4)], 13)
    assert np.allclose(actual.sum(-1), 1)
    (actual,) = run("Softmax", [_normal(2, 3, 4)], 13, axis=0)
    assert np.allclose(actual.sum(0), 1)


def test_the_logarithm_of_a_softmax_is_finite_where_the_softmax_is_not_told_from_zero() -> None:
    (actual,) = run("LogSoftmax", [np.array([[0, -200]], np.float32)], 13)
    assert actual.tolist() == [[0, -200]]


@pytest.mark.parametrize("opset", [7, 9, 13])
def test_old_batch_norms_use_the_statistics_that_they_are_given(opset: int) -> None:
    x, scale, bias, mean = _normal(2, 3, 4, 4), _normal(3), _normal(3) + 1, _normal(3) - 1
    variance = np.abs(_normal(3)) + 0.1
    (actual,) = run("BatchNormalization", [x, scale, bias, mean, variance], opset, epsilon=1e-3)
    for n, c, h, w in np.ndindex(x.shape):
        expected = scale[c] * (x[n, c, h, w] - mean[c]) / (variance[c] + 1e-3) ** 0.5 + bias[c]
        assert actual[n, c, h, w] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_a_norm_takes_absolute_values() -> None:
    x = np.array([[3, -4], [0, 0]], np.float32)
    assert run("LpNormalization", [x], 7, p=1)[0] == pytest.approx(np.array([[3, -4], [0, 0]]) / 7)
    assert run("LpNormalization", [x], 7)[0] == pytest.approx(np.array([[3, -4], [0, 0]]) / 5)


def test_a_mean_broadcasts_its_operands() -> None:
    a, b = _normal(3, 1), _normal(4)
    assert np.allclose(run("Mean", [a, b], 8)[0], (a + b) / 2)


@pytest.mark.parametrize("opset", [10, 13])
def test_quantised_files_below_opset_19_are_understood(opset: int) -> None:
    x, scale, zero = np.array([-128, 0, 127], np.int8), np.array(0.5, np.float32), np.int8(3)
    (actual,) = run("DequantizeLinear", [x, scale, np.array(zero)], opset)
    assert actual.tolist() == [-65.5, -1.5, 62]


_POOLS: list[dict[str, Any]] = [
    {"auto_pad": auto_pad, "ceil_mode": ceil, "strides": [stride] * 2, "kernel_shape": [kernel, 2]}
    for auto_pad in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    for ceil in (0, 1)
    for stride in (1, 2, 3)
    for kernel in (2, 3)
    if not (auto_pad == "VALID" and ceil)
] + [{"kernel_shape": [3, 3], "pads": [1, 0, 1, 1], "strides": [2, 2], "ceil_mode": 1}]


@pytest.mark.parametrize("asked", _POOLS, ids=str)
def test_pools_look_at_the_windows_of_the_definition(asked: dict[str, Any]) -> None:
    x = _normal(1, 2, 7, 8)
    counts, befores = zip(*(_windows(x.shape[2 + a], a, asked) for a in (0, 1)), strict=True)
    largest, places = run("MaxPool", [x], 12, 2, **asked)
    (mean,) = run("AveragePool", [x], 11, **asked)
    assert largest.shape == mean.shape == (1, 2, *counts)
    for n, c, i, j in np.ndindex(largest.shape):
        window = {}
        for dy, dx in product(*map(range, asked["kernel_shape"])):
            y = i * asked["strides"][0] - befores[0] + dy
            z = j * asked["strides"][1] - befores[1] + dx
            if 0 <= y < x.shape[2] and 0 <= z < x.shape[3]:
                window[(c * x.shape[2] + y) * x.shape[3] + z] = x[n, c, y, z]
        assert largest[n, c, i, j] == max(window.values())
        assert window[places[n, c, i, j]] == largest[n, c, i, j]
        assert mean[n, c, i, j] == pytest.approx(np.mean(list(window.values())), abs=1e-6)


def _windows(size: int, axis: int, attributes: dict[str, Any]) -> tuple[int, int]:
    """How many windows there are along an axis, and how far the first begins before it."""
    kernel, stride = attributes["kernel_shape"][axis], attributes["strides"][axis]
    if attributes.get("auto_pad", "NOTSET").startswith("SAME"):
        count = -(-size // stride)
        total = max(0, (count - 1) * stride + kernel - size)
        return count, total // 2 if attributes["auto_pad"] == "SAME_UPPER" else -(-total // 2)
    pads = attributes.get("pads", [0] * 4)
    room = size + pads[axis] + pads[2 + axis] - kernel
    if attributes["ceil_mode"]:
        count = -(-room // stride) + 1
        return count - ((count - 1) * stride >= size + pads[axis]), pads[axis]
    return room // stride + 1, pads[axis]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_a_pool_whose_windows_onnx_counts_in_two_ways_is_left_to_an_engine(op: str) -> None:
    """Its text has two windows of 2 in a row of 5, its shape inference and every engine three."""
    attributes: dict[str, Any] = {"auto_pad": "VALID", "ceil_mode": 1, "strides": [2, 2]}
    with pytest.raises(NotImplementedError, match="no window over the end for VALID"):
        run(op, [_normal(1, 1, 5, 5)], 20, kernel_shape=[2, 2], **attributes)
    (actual,) = run(op, [_normal(1, 1, 4, 6)], 20, kernel_shape=[2, 2], **attributes)
    assert actual.shape == (1, 1, 2, 3)


def test_a_mean_counts_the_padding_where_it_is_asked_to() -> None:
    x = np.ones((1, 1, 4), np.float32)
    attributes: dict[str, Any] = {"kernel_shape": [3], "pads": [1, 1], "strides": [1]}
    assert run("AveragePool", [x], 11, **attributes)[0].tolist() == [[[1, 1, 1, 1]]]
    (actual,) = run("AveragePool", [x], 11, count_include_pad=1, **attributes)
    assert actual[0, 0] == pytest.approx([2 / 3, 1, 1, 2 / 3])


@pytest.mark.parametrize("size", [(9, 17), (3, 4), (12, 14)])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_images_are_resized_as_torch_does(size: tuple[int, int], corners: bool, mode: str) -> None:
    """To 17 columns from 7, onnx's evaluator takes a neighbour too far for two of them."""
    torch = pytest.importorskip("torch")
    x = _normal(1, 2, 6, 7)
    sizes = np.array([1, 2, *size])
    coordinates = "align_corners" if corners else "pytorch_half_pixel"
    (actual,) = run(
        "Resize", [x, None, None, sizes], 13, mode=mode, coordinate_transformation_mode=coordinates
    )
    torch_mode = {"linear": "bilinear", "cubic": "bicubic"}[mode]
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(x), size=size, mode=torch_mode, align_corners=corners
    )
    assert actual == pytest.approx(expected.numpy(), abs=1e-5)


@pytest.mark.parametrize(("op", "opset"), [("Upsample", 7), ("Upsample", 9), ("Resize", 10)])
def test_old_enlargements_repeat_the_element_below(op: str, opset: int) -> None:
    x, scales = _normal(1, 2, 3, 4), [1.0, 1.0, 2.0, 3.0]
    if opset < 9:
        (actual,) = run(op, [x], opset, mode="nearest", scales=scales)
    else:
        (actual,) = run(op, [x, np.array(scales, np.float32)], opset, mode="nearest")
    assert np.array_equal(actual, x.repeat(2, axis=2).repeat(3, axis=3))


def test_what_the_turns_of_a_loop_give_is_stacked_whatever_its_shape() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 16]>
        agraph (int64 turns, float[2,3] x) => (float[2,3] last, float[n,2,3] all, int64[n] numbers)
        {
            last, all, numbers = Loop (turns, , x) <body = turn (int64 i, bool go, float[2,3] now)
                => (bool on, float[2,3] next, float[2,3] given, int64 number)
            {
                on = Identity (go)
                next = Add (now, now)
                given = Identity (now)
                number = Identity (i)
            }>
        }"""
    )
    x = _normal(2, 3)
    last, every, numbers = Evaluator(model).run(None, {"turns": np.array(3), "x": x})
    assert np.array_equal(last, 8 * x)
    assert np.array_equal(every, np.stack([x, 2 * x, 4 * x]))
    assert list(numbers) == [0, 1, 2]
