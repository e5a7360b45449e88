"""Operators against their definition where onnx's evaluator differs: by torch, or by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exporters.semantics.nodes import run


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("opset", [11, 12])
@pytest.mark.parametrize("axis", [-3, -2, -1, 3])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_a_negative_axis_of_old_files_counts_from_the_end(op: str, axis: int, opset: int) -> None:
    x = _normal(2, 3, 4)
    positive = axis % 3 if axis < 0 else axis
    (actual,) = run(op, [x], opset, axis=axis)
    (rows,) = run(op, [x.reshape(int(np.prod(x.shape[:positive])), -1)], 13, axis=-1)
    assert np.allclose(actual, rows.reshape(x.shape), atol=1e-6)


@pytest.mark.parametrize("size", [1, 3, 5, 7])
def test_channels_are_normalised_by_their_neighbours_whatever_the_batch(size: int) -> None:
    torch = pytest.importorskip("torch")
    x = _normal(1, 8, 3, 3)
    (actual,) = run("LRN", [x], 13, size=size, alpha=0.5, beta=0.6, bias=1.5)
    expected = torch.nn.functional.local_response_norm(torch.tensor(x), size, 0.5, 0.6, 1.5)
    assert actual == pytest.approx(expected.numpy(), abs=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dilation", [1, 2])
def test_transposed_convolutions_are_those_of_torch(groups: int, bias: bool, dilation: int) -> None:
    torch = pytest.importorskip("torch")
    x, w, b = _normal(2, 4, 5, 4), _normal(4, 3, 3, 2), _normal(3 * groups)
    (actual,) = run(
        "ConvTranspose",
        [x, w, b if bias else None],
        11,
        group=groups,
        strides=[2, 3],
        pads=[1, 0, 1, 0],
        output_padding=[1, 1],
        dilations=[dilation] * 2,
    )
    expected = torch.nn.functional.conv_transpose2d(
        *map(torch.tensor, (x, w)),
        torch.tensor(b) if bias else None,
        stride=(2, 3),
        padding=(1, 0),
        output_padding=(1, 1),
        groups=groups,
        dilation=dilation,
    )
    assert actual == pytest.approx(expected.numpy(), abs=1e-5)


def test_a_transposed_convolution_is_cut_to_the_shape_it_is_given() -> None:
    """Of 7 elements 4 are asked for: 3 are cut off, the odd one at the end for SAME_UPPER."""
    x, w = np.ones((1, 1, 3), np.float32), np.array([[[1, 2, 4]]], np.float32)
    every = [1, 2, 5, 2, 5, 2, 4]
    for auto_pad, start in (("NOTSET", 2), ("SAME_LOWER", 2), ("SAME_UPPER", 1)):
        attributes: dict[str, Any] = {"strides": [2], "output_shape": [4], "auto_pad": auto_pad}
        (actual,) = run("ConvTranspose", [x, w], 11, **attributes)
        assert actual.ravel().tolist() == every[start : start + 4]
    (same,) = run("ConvTranspose", [x, w], 11, strides=[2], auto_pad="SAME_UPPER")
    assert same.ravel().tolist() == every[:6]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_corners_are_those_of_the_output_whose_length_is_whole(mode: str) -> None:
    torch = pytest.importorskip("torch")
    x = _normal(1, 1, 7, 5)
    scales = np.array([1, 1, 1.5, 2.3], np.float32)
    (actual,) = run(
        "Resize",
        [x, None, scales],
        13,
        mode=mode,
        coordinate_transformation_mode="align_corners",
    )
    expected = torch.nn.functional.interpolate(
        torch.tensor(x),
        size=(10, 11),
        mode={"linear": "bilinear", "cubic": "bicubic"}[mode],
        align_corners=True,
    )
    assert actual == pytest.approx(expected.numpy(), abs=1e-5)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images_are_sampled_as_torch_does(mode: str, padding: str, corners: int) -> None:
    torch = pytest.importorskip("torch")
    x, grid = _normal(2, 3, 5, 4), _normal(2, 6, 7, 2)
    expected = torch.nn.functional.grid_sample(
        torch.tensor(x),
        torch.tensor(grid),
        mode=mode,
        padding_mode=padding,
        align_corners=bool(corners),
    )
    attributes: dict[str, Any] = {"padding_mode": padding, "align_corners": corners}
    for opset, mode_name in (
        (16, mode),
        (20, {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)),
    ):
        (actual,) = run("GridSample", [x, grid], opset, mode=mode_name, **attributes)
        assert actual == pytest.approx(expected.numpy(), abs=1e-5)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (1, 2, 3, 4, 1)])
def test_grids_are_those_of_torch(size: tuple[int, ...], corners: int) -> None:
    torch = pytest.importorskip("torch")
    theta = _normal(size[0], len(size) - 2, len(size) - 1)
    (actual,) = run("AffineGrid", [theta, np.array(size)], 20, align_corners=corners)
    expected = torch.nn.functional.affine_grid(torch.tensor(theta), size, bool(corners))
    assert actual == pytest.approx(expected.numpy(), abs=1e-5)


@pytest.mark.parametrize(
    ("size", "start", "end", "step", "expected"),
    [
        (1, -2, -3, -1, [0]),
        (4, -9, -9, -1, [0]),
        (4, 9, -9, -2, [3, 1]),
        (4, 2, -(2**63), -1, [2, 1, 0]),
        (4, -9, 9, 3, [0, 3]),
        (4, 3, 1, 1, []),
    ],
)
def test_bounds_beyond_an_axis_are_clamped(
    size: int, start: int, end: int, step: int, expected: list[int]
) -> None:
    bounds = [np.array([value]) for value in (start, end, 0, step)]
    (actual,) = run("Slice", [np.arange(size), *bounds], 13)
    assert actual.tolist() == expected


def test_slices_of_old_files_have_their_bounds_as_attributes() -> None:
    x = _normal(3, 4)
    (actual,) = run("Slice", [x], 9, starts=[-9, 1], ends=[2, 99], axes=[1, 0])
    assert np.array_equal(actual, x[1:, :2])


def test_a_part_of_a_shape_is_clamped() -> None:
    assert run("Shape", [_normal(2, 3, 4)], 15, end=-5)[0].tolist() == []
    assert run("Shape", [_normal(2, 3, 4)], 15, start=-9, end=9)[0].tolist() == [2, 3, 4]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_a_pool_whose_window_fits_nowhere_has_no_elements(op: str) -> None:
    (actual,) = run(op, [_normal(1, 2, 2, 5)], 18, kernel_shape=[3, 3])
    assert actual.shape == (1, 2, 0, 3)


def test_an_index_of_a_pool_is_never_one_of_the_padding() -> None:
    x = np.zeros((1, 1, 3), np.uint8)
    _, places = run("MaxPool", [x], 12, 2, kernel_shape=[2], pads=[1, 0])
    assert places.ravel().tolist() == [0, 0, 1]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_global_pools_take_all_axes_of_a_channel(rank: int) -> None:
    x = _normal(2, 3, *range(4, 4 + rank))
    flat = x.reshape(2, 3, -1)
    ends = (2, 3, *[1] * rank)
    assert np.array_equal(run("GlobalMaxPool", [x], 13)[0], flat.max(-1).reshape(ends))
    norms = np.linalg.norm(flat, 3, -1).reshape(ends)
    assert run("GlobalLpPool", [x], 13, p=3)[0] == pytest.approx(norms, rel=1e-5)


@pytest.mark.parametrize("op", ["ReduceSumSquare", "ReduceL1", "ReduceLogSum", "ReduceL2"])
def test_a_reduction_keeps_the_type_of_its_input(op: str) -> None:
    x = np.array([[1, 2], [3, 4]], np.int32)
    for opset in (11, 18):
        (actual,) = run(op, [x], opset, keepdims=0)
        assert actual.dtype == np.int32
        assert actual.shape == ()


def test_columns_are_added_into_an_image_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    x = _normal(2, 12, 8)
    attributes: dict[str, Any] = {"dilations": [2, 1], "pads": [1, 0, 1, 0], "strides": [1, 2]}
    (actual,) = run("Col2Im", [x, np.array([6, 5]), np.array([3, 2])], 18, **attributes)
    expected = torch.nn.functional.fold(
        torch.tensor(x), (6, 5), (3, 2), dilation=(2, 1), padding=(1, 0), stride=(1, 2)
    )
    assert actual == pytest.approx(expected.numpy(), abs=1e-5)


def test_columns_of_one_axis_are_those_of_an_image_of_one_row() -> None:
    torch = pytest.importorskip("torch")
    x = _normal(2, 6, 5)
    (actual,) = run("Col2Im", [x, np.array([7]), np.array([2])], 18, dilations=[2])
    expected = torch.nn.functional.fold(torch.tensor(x), (1, 7), (1, 2), dilation=(1, 2))
    assert actual == pytest.approx(expected.numpy()[:, :, 0], abs=1e-5)


def test_a_value_is_inserted_at_the_end_of_a_sequence() -> None:
    from onnx import helper, numpy_helper

    from exporters.semantics.evaluator import Evaluator

    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
    graph = helper.make_graph(
        [helper.make_node("SequenceInsert", ["s", "v", "at"], ["out"])],
        "inserted",
        [helper.make_value_info("s", kind), helper.make_tensor_value_info("v", 1, [])],
        [helper.make_value_info("out", kind)],
        [numpy_helper.from_array(np.array(2), "at")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    parts = [np.array(1, np.float32), np.array(2, np.float32)]
    (actual,) = Evaluator(model).run(None, {"s": parts, "v": np.array(3, np.float32)})
    assert [float(part) for part in actual] == [1, 2, 3]


def test_axes_to_remove_are_places_in_the_input() -> None:
    for axes in ([-1, -3], [0, -1], [2, 0]):
        assert run("Squeeze", [_normal(1, 3, 1)], 13, **{})[0].shape == (3,)
        assert run("Squeeze", [_normal(1, 3, 1), np.array(axes)], 13)[0].shape == (3,)


def test_missing_bounds_are_the_last_numbers_of_the_type() -> None:
    x = np.array([-np.inf, 0, np.inf], np.float32)
    largest = float(np.finfo(np.float32).max)
    assert run("Clip", [x], 13)[0].tolist() == [-largest, 0, largest]
    assert run("Clip", [x, None, np.array(1, np.float32)], 13)[0].tolist() == [-largest, 0, 1]


def test_distinct_values_stand_in_the_order_of_their_first_occurrence() -> None:
    x = np.array([[2, -2, 2, 5]], np.float32)
    assert run("Unique", [x], 11, sorted=0)[0].tolist() == [2, -2, 5]
    values, first, where, counts = run("Unique", [x], 11, 4, sorted=0)
    assert (values.tolist(), first.tolist()) == ([2, -2, 5], [0, 1, 3])
    assert (where.tolist(), counts.tolist()) == ([0, 1, 0, 2], [2, 1, 1])


def test_a_normalisation_gives_its_statistics_in_the_type_to_keep_them_in() -> None:
    x = _normal(2, 3).astype(np.float16)
    outputs = run("LayerNormalization", [x, np.ones(3, np.float16)], 17, 3)
    assert [value.dtype for value in outputs] == [np.float16, np.float32, np.float32]
    statistics = [np.zeros(3, np.float64), np.ones(3, np.float64)]
    training_outputs = run(
        "BatchNormalization",
        [_normal(2, 3), *[np.ones(3, np.float32)] * 2, *statistics],
        15,
        3,
        training_mode=1,
    )
    assert [value.dtype for value in training_outputs] == [np.float32, np.float64, np.float64]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_each_sequence_of_a_batch_ends_at_its_own_length(op: str, direction: str) -> None:
    """A shorter one gives what it gives alone, and zeros behind its end."""
    gates, both = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], 2 if direction == "bidirectional" else 1
    x, w, r = _normal(5, 2, 3), _normal(both, gates * 4, 3), _normal(both, gates * 4, 4)
    attributes: dict[str, Any] = {"hidden_size": 4, "direction": direction, "clip": 0.7}
    lengths = np.array([5, 3], np.int32)
    y, last, *_ = run(op, [x, w, r, None, lengths], 14, 2, **attributes)
    alone, end, *_ = run(op, [x[:3, 1:], w, r], 14, 2, **attributes)
    assert y[:3, :, 1:] == pytest.approx(alone, abs=1e-6)
    assert last[:, 1:] == pytest.approx(end, abs=1e-6)
    assert not y[3:, :, 1].any()
    assert np.abs(y[3:, :, 0]).min() > 0


def test_recurrent_layers_compute_with_the_activations_they_are_given() -> None:
    x, w, r = np.array([[[1.0]]]), np.array([[[2.0]]]), np.array([[[1.0]]])
    single = [value.astype(np.float32) for value in (x, w, r)]
    (actual,) = run("RNN", single, 14, hidden_size=1, activations=["Relu"])
    assert actual.ravel().tolist() == [2]
    (actual,) = run("RNN", single, 14, hidden_size=1, activations=["Relu"], clip=0.5)
    assert actual.ravel().tolist() == [0.5]
    with pytest.raises(NotImplementedError, match="default parameters"):
        run("RNN", single, 14, hidden_size=1, activations=["Elu"], activation_alpha=[0.3])


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
def test_offsets_move_where_a_kernel_reads(groups: int, masked: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((2, 4, 6, 7)), rng.standard_normal((6, 4 // groups, 3, 2))
    offset = np.zeros((2, 2 * groups * 6, 3, 6))
    offset[:, 0::2] = 1  # rows: the same as an image that is one row higher
    mask = np.full((2, groups * 6, 3, 6), 0.5) if masked else None
    (actual,) = run(
        "DeformConv",
        [x, w, offset, None, mask],
        19,
        group=groups,
        offset_group=groups,
        strides=[2, 1],
        pads=[1, 0, 0, 0],
    )
    shifted_input = np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0)))
    expected = torch.nn.functional.conv2d(
        torch.tensor(shifted_input), torch.tensor(w), stride=(2, 1), groups=groups
    )
    assert actual == pytest.approx(expected.numpy()[:, :, :3] * (0.5 if masked else 1), abs=1e-12)


def test_between_two_elements_an_offset_reads_their_mean_in_double_precision() -> None:
    x = np.array([1 / 3, 2 / 3]).reshape(1, 1, 1, 2)
    offset = np.array([0.0, 0.5]).reshape(1, 2, 1, 1).repeat(2, 3)
    (actual,) = run("DeformConv", [x, np.ones((1, 1, 1, 1)), offset], 19)
    assert actual.ravel() == pytest.approx([0.5, 1 / 3], abs=1e-15)


def test_the_bounds_of_an_old_clip_do_not_hold_in_half_precision() -> None:
    x = np.array([-np.inf, 1.0, np.inf], np.float16)
    assert np.array_equal(run("Clip", [x], 6)[0], x)
    assert np.isfinite(run("Clip", [x], 11)[0]).all()


def test_channels_of_half_precision_are_normalised_in_a_wider_one() -> None:
    torch = pytest.importorskip("torch")
    x = (np.array([[[1.661, 1.665], [-2.603, -2.594]]])).astype(np.float16)
    scale, bias = np.array([1.5, 0.5], np.float16), np.array([0.25, -1.0], np.float16)
    (actual,) = run("InstanceNormalization", [x, scale, bias], 6)
    wide = (torch.tensor(a.astype(np.float64)) for a in (x, scale, bias))
    x64, scale64, bias64 = wide
    expected = torch.nn.functional.instance_norm(x64, weight=scale64, bias=bias64)
    assert actual == pytest.approx(expected.numpy(), abs=2e-3)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_an_antialiased_resize_is_that_of_torch(mode: str) -> None:
    torch = pytest.importorskip("torch")
    x = _normal(1, 2, 9, 12)
    (actual,) = run(
        "Resize",
        [x, None, None, np.array([1, 2, 4, 5])],
        18,
        mode=mode,
        antialias=1,
        cubic_coeff_a=-0.5,
        exclude_outside=1,
    )
    expected = torch.nn.functional.interpolate(
        torch.tensor(x),
        (4, 5),
        mode={"linear": "bilinear", "cubic": "bicubic"}[mode],
        antialias=True,
    )
    assert actual == pytest.approx(expected.numpy(), abs=1e-5)


@pytest.mark.parametrize(("policy", "size"), [("not_smaller", [7, 19]), ("not_larger", [2, 4])])
def test_proportions_are_kept_by_one_scale_for_all_axes(policy: str, size: list[int]) -> None:
    x = _normal(1, 1, 3, 8)
    options: dict[str, Any] = {
        "mode": "linear",
        "coordinate_transformation_mode": "asymmetric",
        "axes": [2, 3],
    }
    (actual,) = run(
        "Resize", [x, None, None, np.array([7, 4])], 18, keep_aspect_ratio_policy=policy, **options
    )
    scale = 7 / 3 if policy == "not_smaller" else 4 / 8
    (expected,) = run("Resize", [x, None, np.full(2, scale + 1e-4, np.float32)], 18, **options)
    assert list(actual.shape[2:]) == size
    rows, columns = (min(a, b) for a, b in zip(actual.shape[2:], expected.shape[2:], strict=True))
    assert actual[..., :rows, :columns] == pytest.approx(expected[..., :rows, :columns], abs=5e-3)
