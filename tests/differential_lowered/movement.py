"""Draws of operators that move values: shapes, cuts, joins, pads, gathers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from tests.differential_lowered.draw import Dice, Draw, node_draw

FLOAT = TensorProto.FLOAT


def _data(dice: Dice, shape: Sequence[int]) -> tuple[np.ndarray, int]:
    """Floats, now and then a mask or whole numbers; and their element type."""
    x = dice.floats(*shape)
    if dice.chance(0.15):
        return np.asarray(x > 0), TensorProto.BOOL
    if dice.chance(0.08):
        return np.zeros(x.shape, np.int64), TensorProto.INT64
    return x, FLOAT


def _integers(values: Sequence[int]) -> np.ndarray:
    return np.asarray(values, np.int64).reshape(-1)


def _factors(dice: Dice, size: int) -> list[int]:
    shape = []
    while size > 1 and dice.chance(0.8):
        divisor = dice.pick([d for d in range(1, size + 1) if size % d == 0])
        shape.append(divisor)
        size //= divisor
    return [*shape, size] if size != 1 or dice.chance(0.3) else shape


def reshape(dice: Dice) -> Draw:
    opset = dice.opset("Reshape")
    x, kind = _data(dice, dice.shape())
    target = _factors(dice, x.size) if x.size else list(x.shape)
    attributes = {}
    if x.size and target and dice.chance(0.3):
        target[dice.integer(0, len(target) - 1)] = -1
    elif x.size and target and x.ndim and target[0] == x.shape[0] and dice.chance(0.5):
        target[0] = 0
    if not x.size and opset >= 14 and dice.chance(0.5):
        attributes["allowzero"] = 1
    return node_draw(
        dice, "Reshape", opset, [x, _integers(target)], attributes, [kind], parameters=[1]
    )


def flatten(dice: Dice) -> Draw:
    opset = dice.opset("Flatten")
    x, kind = _data(dice, dice.shape())
    least = -x.ndim if opset >= 11 else 0
    axis = dice.integer(least, x.ndim) if dice.chance(0.8) else None
    return node_draw(dice, "Flatten", opset, [x], {"axis": axis}, [kind])


def squeeze(dice: Dice) -> Draw:
    opset = dice.opset("Squeeze")
    x, kind = _data(dice, [1 if dice.chance(0.5) else n for n in dice.shape()])
    unit_axes = [axis for axis, size in enumerate(x.shape) if size == 1]
    axes = [a for a in unit_axes if dice.chance(0.6)]
    if opset >= 11:
        axes = [a - x.ndim if dice.chance(0.4) else a for a in axes]
    axes_argument = axes if axes or (opset >= 13 and dice.chance(0.2)) else None
    return _with_axes(dice, "Squeeze", opset, x, axes_argument, kind)


def unsqueeze(dice: Dice) -> Draw:
    opset = dice.opset("Unsqueeze")
    x, kind = _data(dice, dice.shape(0, 3))
    rank = x.ndim + dice.integer(1, 2)
    axes = dice.rng.permutation(rank)[: rank - x.ndim].tolist()
    if opset >= 11:
        axes = [a - rank if dice.chance(0.4) else a for a in axes]
    return _with_axes(dice, "Unsqueeze", opset, x, axes, kind)


def _with_axes(
    dice: Dice, op: str, opset: int, x: np.ndarray, axes: list[int] | None, kind: int
) -> Draw:
    if opset < 13:
        return node_draw(dice, op, opset, [x], {"axes": axes}, [kind])
    axes_array = None if axes is None else _integers(axes)
    return node_draw(dice, op, opset, [x, axes_array], outputs=[kind], parameters=[1])


def dropout(dice: Dice) -> Draw:
    opset = dice.opset("Dropout")
    x = dice.floats(*dice.shape())
    outputs = [FLOAT, TensorProto.BOOL if opset >= 10 else FLOAT][: dice.integer(1, 2)]
    if opset < 12:
        return node_draw(dice, "Dropout", opset, [x], {"ratio": 0.3}, outputs)
    ratio = np.float32(0.3) if dice.chance(0.5) else None
    training = np.asarray(False) if dice.chance(0.5) else None
    return node_draw(
        dice, "Dropout", opset, [x, ratio, training], outputs=outputs, parameters=[1, 2]
    )


def expand(dice: Dice) -> Draw:
    target = dice.shape()
    x, kind = _data(dice, dice.broadcast(target))
    if dice.chance(0.3):
        target = dice.broadcast(target)
    return node_draw(
        dice,
        "Expand",
        dice.opset("Expand"),
        [x, _integers(target)],
        outputs=[kind],
        parameters=[1],
    )


def tile(dice: Dice) -> Draw:
    x, kind = _data(dice, dice.shape(0, 3))
    repeats = _integers([dice.pick([1, 2, 3, 1, 0]) for _ in x.shape])
    return node_draw(dice, "Tile", dice.opset("Tile"), [x, repeats], outputs=[kind], parameters=[1])


def transpose(dice: Dice) -> Draw:
    x, kind = _data(dice, dice.shape())
    order = dice.rng.permutation(x.ndim).tolist() if dice.chance(0.8) and x.ndim else None
    return node_draw(dice, "Transpose", dice.opset("Transpose"), [x], {"perm": order}, [kind])


def concat(dice: Dice) -> Draw:
    opset = dice.opset("Concat")
    x, kind = _data(dice, dice.shape(1))
    axis = dice.axis(x.ndim) if opset >= 11 else dice.integer(0, x.ndim - 1)
    parts = [x]
    for _ in range(dice.integer(0, 3)):
        shape = list(x.shape)
        shape[axis] = dice.integer(0 if dice.chance(0.2) else 1, 4)
        parts.append(np.asarray(dice.floats(*shape)).astype(x.dtype))
    return node_draw(dice, "Concat", opset, parts, {"axis": axis}, [kind])


def split(dice: Dice) -> Draw:
    opset = dice.opset("Split")
    x, kind = _data(dice, dice.shape(1, 3, 8))
    axis = dice.axis(x.ndim) if opset >= 11 else dice.integer(0, x.ndim - 1)
    size, count = x.shape[axis], dice.integer(1, 3)
    cuts = sorted(dice.integer(0, size) for _ in range(count - 1))
    sizes = np.diff([0, *cuts, size]).tolist()
    node_attributes = {"axis": axis if axis or dice.chance(0.5) else None}
    even = size % count == 0 and dice.chance(0.5)
    if opset < 13:
        attributes = node_attributes | ({} if even else {"split": sizes})
        return node_draw(dice, "Split", opset, [x], attributes, [kind] * count)
    sizes_array = None if even else _integers(sizes)
    if opset >= 18 and (even or dice.chance(0.3)):
        node_attributes, sizes_array = node_attributes | {"num_outputs": count}, None
    outputs = [kind] * count
    return node_draw(
        dice, "Split", opset, [x, sizes_array], node_attributes, outputs, parameters=[1]
    )


def slice_(dice: Dice) -> Draw:
    opset = dice.opset("Slice")
    x, kind = _data(dice, dice.shape(1))
    axes = dice.axes(x.ndim, 1)
    if dice.chance(0.3):
        axes = list(range(len(axes)))
    far = [2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
    starts, ends = (
        [dice.pick(far) if dice.chance(0.15) else dice.integer(-7, 7) for _ in axes]
        for _ in range(2)
    )
    if opset < 10:
        axes = [a % x.ndim for a in axes]
        axes_argument = axes if axes != list(range(len(axes))) else None
        attributes = {"starts": starts, "ends": ends, "axes": axes_argument}
        return node_draw(dice, "Slice", opset, [x], attributes, [kind])
    steps = [dice.pick([1, 1, 2, -1, -2, 3, -3, 2**31 - 1, -(2**31)]) for _ in axes]
    indices: tuple[type[np.signedinteger[Any]], ...] = (np.int32, np.int64)
    index = dice.pick(indices)

    def whole(values: list[int]) -> np.ndarray:
        limits = np.iinfo(index)
        return np.array([min(max(v, limits.min), limits.max) for v in values], index)

    has_steps = dice.chance(0.7)
    has_axes = axes != list(range(len(axes))) or dice.chance(0.5)
    inputs = [
        x,
        whole(starts),
        whole(ends),
        whole(axes) if has_axes else None,
        whole(steps) if has_steps else None,
    ]
    return node_draw(dice, "Slice", opset, inputs, outputs=[kind], parameters=[1, 2, 3, 4])


def pad(dice: Dice) -> Draw:
    opset = dice.opset("Pad")
    x, kind = _data(dice, dice.shape(1)) if opset >= 13 else (dice.floats(*dice.shape(1)), FLOAT)
    modes = ["constant", "reflect", "edge", *(["wrap"] if opset >= 19 else [])]
    mode = dice.pick(modes)
    axes = dice.axes(x.ndim, 1) if opset >= 18 and dice.chance(0.5) else None
    count = x.ndim if axes is None else len(axes)
    low = -2 if dice.chance(0.3) else 0
    pads = [dice.integer(low, 3) for _ in range(2 * count)]
    attributes: dict[str, Any] = {"mode": mode if mode != "constant" or dice.chance(0.5) else None}
    value = dice.pick([None, 1.5, -np.inf, -3.4028234663852886e38])
    if opset < 11:
        attributes |= {"pads": pads, "value": value}
        return node_draw(dice, "Pad", opset, [x], attributes, [kind])
    fill = None if value is None else np.asarray(value, np.float32).astype(x.dtype)
    axes_array = None if axes is None else np.asarray(axes, dice.pick([np.int32, np.int64]))
    inputs = [x, _integers(pads), fill, axes_array]
    return node_draw(dice, "Pad", opset, inputs, attributes, [kind], parameters=[1, 2, 3])


def _indices(dice: Dice, shape: Sequence[int], size: int) -> np.ndarray:
    low = -size if dice.chance(0.5) else 0
    values = dice.rng.integers(low, max(size, low + 1), shape)
    return np.asarray(values, dice.pick([np.int32, np.int64]))


def gather(dice: Dice) -> Draw:
    opset = dice.opset("Gather")
    x, kind = _data(dice, dice.shape(1))
    axis = dice.axis(x.ndim)
    indices = _indices(dice, dice.shape(0, 2), x.shape[axis])
    if opset < 11:
        indices %= max(x.shape[axis], 1)
    attributes = {"axis": axis if axis or dice.chance(0.5) else None}
    return node_draw(dice, "Gather", opset, [x, indices], attributes, [kind])


def gather_elements(dice: Dice) -> Draw:
    x, kind = _data(dice, dice.shape(1))
    axis = dice.axis(x.ndim)
    shape = [dice.integer(1, n) if n else 0 for n in x.shape]
    shape[axis] = dice.integer(0 if dice.chance(0.1) else 1, 6)
    indices = _indices(dice, shape, x.shape[axis])
    attributes = {"axis": axis if axis or dice.chance(0.5) else None}
    opset = dice.opset("GatherElements")
    return node_draw(dice, "GatherElements", opset, [x, indices], attributes, [kind])


def gather_nd(dice: Dice) -> Draw:
    opset = dice.opset("GatherND")
    x, kind = _data(dice, dice.shape(1))
    batch = dice.integer(0, x.ndim - 1) if opset >= 12 else 0
    depth = dice.integer(1, x.ndim - batch)
    shape = (*x.shape[:batch], *dice.shape(0, 2, 3), depth)
    index = np.zeros(shape, np.int64)
    for place in range(depth):
        size = x.shape[batch + place]
        low = -size if dice.chance(0.5) else 0
        index[..., place] = dice.rng.integers(low, max(size, low + 1), shape[:-1])
    attributes = {"batch_dims": batch if batch or dice.chance(0.3) else None}
    return node_draw(dice, "GatherND", opset, [x, index], attributes, [kind])


def depth_to_space(dice: Dice) -> Draw:
    opset = dice.opset("DepthToSpace")
    block = dice.integer(1, 3)
    channels = dice.integer(1, 2) * block**2
    x = dice.floats(dice.integer(1, 2), channels, dice.integer(1, 3), dice.integer(1, 3))
    mode = dice.pick([None, "DCR", "CRD"]) if opset >= 11 else None
    return node_draw(dice, "DepthToSpace", opset, [x], {"blocksize": block, "mode": mode})


def space_to_depth(dice: Dice) -> Draw:
    block = dice.integer(1, 3)
    space = (dice.integer(1, 3) * block, dice.integer(1, 3) * block)
    x = dice.floats(dice.integer(1, 2), dice.integer(1, 3), *space)
    return node_draw(dice, "SpaceToDepth", dice.opset("SpaceToDepth"), [x], {"blocksize": block})


DRAWS: dict[str, Callable[[Dice], Draw]] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Dropout": dropout,
    "Expand": expand,
    "Tile": tile,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Pad": pad,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
}
