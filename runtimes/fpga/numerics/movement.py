"""Operators that only move values: nothing is computed, nothing is rounded."""

from __future__ import annotations

import numpy as np

from runtimes.fpga.numerics.operator import Call, Kernel, Refused, finite_bf16, operator


@operator("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", exact=True)
def reshape(call: Call) -> Kernel:
    """All of these are the graph's own fixed output shape over the same values."""
    if call.node.op == "Squeeze" and call.has(1) and call.shape(1) == (0,):
        raise Refused("its empty list of axes has two meanings")
    shape = call.output_shapes[0]
    return lambda x, _target=None: x.reshape(shape)


@operator("Dropout", oldest=7, exact=True)
def dropout(call: Call) -> Kernel:
    training = call.constant(2, "training_mode")
    if training is not None and training.any():
        raise Refused("it is in training mode")
    if len([name for name in call.node.outputs if name]) > 1:
        raise Refused("it asks for the mask of what was kept")
    return lambda x, *_: x


@operator("Expand", exact=True)
def expand(call: Call) -> Kernel:
    shape = call.output_shapes[0]
    return lambda x, _target: np.broadcast_to(x, shape)


@operator("Tile", oldest=6, exact=True)
def tile(call: Call) -> Kernel:
    call.constant(1, "repeats")
    return np.tile


@operator("Transpose", exact=True)
def transpose(call: Call) -> Kernel:
    order = call.integers("perm")
    return lambda x: x.transpose(order)


@operator("Concat", oldest=4, exact=True)
def concat(call: Call) -> Kernel:
    axis = call.axis(0)
    return lambda *x: np.concatenate(x, axis=axis)


@operator("Split", oldest=2, exact=True)
def split(call: Call) -> Kernel:
    """The sizes are those of the outputs, however the node was told to choose them."""
    axis = call.axis(0)
    if not all(call.node.outputs):
        raise Refused("one of its outputs is left out")
    ends = np.cumsum([shape[axis] for shape in call.output_shapes])[:-1]
    return lambda x, _sizes=None: tuple(np.split(x, ends, axis=axis))


_LARGEST_INTEGERS = (2**31 - 1, 2**63 - 1)
"""As an end with a negative step, the last element by ONNX, and none by ONNX Runtime."""


@operator("Slice", exact=True)
def slice_(call: Call) -> Kernel:
    """Attributes up to opset 9, constant inputs from 10."""
    rank = len(call.shape(0))
    starts = call.integers_or_input("starts", 1)
    ends = call.integers_or_input("ends", 2)
    if starts is None or ends is None:
        raise Refused("its starts and ends are missing")
    axes = call.integers_or_input("axes", 3) or tuple(range(len(starts)))
    steps = call.integers_or_input("steps", 4) or (1,) * len(starts)
    slices = [slice(None)] * rank
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step < 0 and end in _LARGEST_INTEGERS:
            raise Refused(f"its end {end} has two meanings with the negative step {step}")
        slices[axis] = python_slice(start, end, step, call.shape(0)[axis])
    index = tuple(slices)
    return lambda x, *_: x[index]


def python_slice(start: int, end: int, step: int, size: int) -> slice:
    """ONNX moves out-of-range bounds to the nearest element, backwards too; Python does not."""
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    first, last = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    if first <= last:
        return slice(0, 0)
    return slice(first, None if last < 0 else last, step)


@operator("Pad", oldest=2, exact=True)
def pad(call: Call) -> Kernel:
    """Amounts are an attribute up to opset 10, a constant input from 11."""
    mode = call.text("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise Refused(f"its mode '{mode}' is unknown")
    pads = call.integers_or_input("pads", 1)
    if pads is None:
        raise Refused("its pads are missing")
    rank = len(call.shape(0))
    axes = call.constant(3, "axes")
    padded_axes = (
        tuple(range(rank)) if axes is None else tuple(int(a) % rank for a in np.ravel(axes))
    )
    amounts = [(0, 0)] * rank
    for axis, pad_before, pad_after in zip(
        padded_axes, pads[: len(padded_axes)], pads[len(padded_axes) :], strict=True
    ):
        amounts[axis] = (pad_before, pad_after)
    for size, axis_pads in zip(call.shape(0), amounts, strict=True):
        if size + sum(min(amount, 0) for amount in axis_pads) < 0:
            raise Refused("its pads cut off more than an axis has")
    cut = tuple(slice(-min(b, 0), min(a, 0) or None) for b, a in amounts)
    positive_pads = [(max(b, 0), max(a, 0)) for b, a in amounts]
    default_fill = float(finite_bf16(call.number("value", 0.0)))

    def run(
        x: np.ndarray,
        _pads: np.ndarray | None = None,
        value: np.ndarray | None = None,
        _axes: np.ndarray | None = None,
    ) -> np.ndarray:
        if mode != "constant":
            return np.pad(x[cut], positive_pads, mode=mode)  # type: ignore[call-overload]
        fill = default_fill if value is None else np.ravel(value)[0]
        return np.pad(x[cut], positive_pads, constant_values=fill)

    return run


@operator("Gather", exact=True, indices=(1,))
def gather(call: Call) -> Kernel:
    axis = call.axis(0)
    return lambda x, indices: np.take(x, indices, axis=axis)


@operator("GatherElements", exact=True, indices=(1,))
def gather_elements(call: Call) -> Kernel:
    """The indices may be shorter than the data on every axis; their shape is the output's."""
    axis = call.axis(0)
    shape = call.shape(1)

    def run(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        index = list(np.ogrid[tuple(slice(size) for size in shape)])
        index[axis] = indices
        return x[tuple(index)]

    return run


@operator("GatherND", exact=True, indices=(1,))
def gather_nd(call: Call) -> Kernel:
    """`indices` [*batch, ..., k] address the k axes that follow the batch axes of the data."""
    batch = call.integer("batch_dims", 0)
    batch_shape = call.shape(0)[:batch]

    def run(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        spread = (1,) * (indices.ndim - 1 - batch)
        outer = np.ix_(*(np.arange(size) for size in batch_shape))
        lead = [axis.reshape(*axis.shape, *spread) for axis in outer]
        return x[(*lead, *np.moveaxis(indices, -1, 0))]

    return run


@operator("DepthToSpace", exact=True)
def depth_to_space(call: Call) -> Kernel:
    """[N,C*b*b,H,W] -> [N,C,H*b,W*b]; DCR takes blocks from the channels' outer part."""
    block = call.integer("blocksize", 1)
    n, c, h, w = call.shape(0)
    shape = call.output_shapes[0]
    if call.text("mode", "DCR") == "DCR":
        parts, order = (n, block, block, c // block**2, h, w), (0, 3, 4, 1, 5, 2)
    else:
        parts, order = (n, c // block**2, block, block, h, w), (0, 1, 4, 2, 5, 3)
    return lambda x: x.reshape(parts).transpose(order).reshape(shape)


@operator("SpaceToDepth", exact=True)
def space_to_depth(call: Call) -> Kernel:
    """[N,C,H*b,W*b] -> [N,C*b*b,H,W]."""
    block = call.integer("blocksize", 1)
    n, c, h, w = call.shape(0)
    shape = call.output_shapes[0]
    parts = (n, c, h // block, block, w // block, block)
    return lambda x: x.reshape(parts).transpose(0, 3, 5, 1, 2, 4).reshape(shape)
