"""Nodes of operators that move, choose or make elements without computing with them."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft, generator

I64 = np.int64


@generator("Reshape")
def reshape(d: Draft) -> None:
    x = d.tensor(d.shape(0, 4))
    sizes = list(x.shape)
    target = [sizes[place] for place in d.rng.permutation(len(sizes))]
    if d.chance(0.3):
        target = [x.size]
    if d.chance(0.3):
        target.insert(d.integer(0, len(target)), 1)
    if x.size and target and d.chance():
        target[d.integer(0, len(target) - 1)] = -1
    elif x.size:
        target = [
            0 if place < len(sizes) and sizes[place] == size and d.chance(0.4) else size
            for place, size in enumerate(target)
        ]
    else:
        d.set(allowzero=1)
    d.add(np.array(target, I64), constant=0.5)
    d.maybe(0.1, allowzero=0)


@generator("Transpose")
def transpose(d: Draft) -> None:
    x = d.tensor(d.shape(0, 5))
    d.maybe(0.8, perm=[int(p) for p in d.rng.permutation(x.ndim)] or None)


@generator("Flatten")
def flatten(d: Draft) -> None:
    x = d.tensor(d.shape(0 if d.version >= 13 else 1, 4))
    d.maybe(0.8, axis=d.integer(-x.ndim if d.takes_negative else 0, x.ndim))


@generator("Squeeze")
def squeeze(d: Draft) -> None:
    shape = d.shape(1, 4)
    unit_axes = [p for p in range(len(shape)) if shape[p] == 1 or d.chance(0.4)]
    for place in unit_axes:
        shape[place] = 1
    d.tensor(shape)
    removable = [
        p - len(shape) * (d.takes_negative and d.chance()) for p in unit_axes if d.chance(0.8)
    ]
    absent = d.chance(0.3) or not removable
    d.add(None if absent else np.array(removable, I64), "axes", constant=0.5)


@generator("Unsqueeze")
def unsqueeze(d: Draft) -> None:
    x = d.tensor(d.shape(0, 3))
    count = d.integer(1, 3)
    rank = x.ndim + count
    places = [int(p) for p in d.rng.permutation(rank)[:count]]
    axes = [p - rank * (d.takes_negative and d.chance()) for p in places]
    d.add(np.array(axes, I64), "axes", constant=0.5)


@generator("Concat")
def concat(d: Draft) -> None:
    shape = d.shape(1, 4)
    place = d.axis(len(shape)) if d.takes_negative else d.integer(0, len(shape) - 1)
    for _ in range(d.integer(1, 4)):
        sizes = list(shape)
        sizes[place] = d.integer(0 if d.chance(0.1) else 1, 4)
        d.tensor(sizes)
    d.set(axis=place)


@generator("Split")
def split(d: Draft) -> None:
    shape = d.shape(1, 4, 0)
    axis = d.axis(len(shape)) if d.takes_negative else d.integer(0, len(shape) - 1)
    parts = d.integers(0 if d.chance(0.2) else 1, 3, d.integer(1, 4))
    explicit = d.chance(0.6)
    if explicit:
        shape[axis] = sum(parts)
    elif d.version >= 18:
        shape[axis] = d.integer(len(parts), 9)
        d.set(num_outputs=len(parts))
    else:
        shape[axis] = len(parts) * d.integer(1, 3)
    d.tensor(shape)
    d.add(np.array(parts, I64) if explicit else None, "split", constant=0.5)
    if axis or d.chance():
        d.set(axis=axis)
    d.outputs = len(parts)


@generator("Slice")
def slices(d: Draft) -> None:
    x = d.tensor(d.shape(1, 4))
    has_steps = d.version >= 10
    axes = d.axes(x.ndim, 1)
    if not has_steps:
        axes = [a % x.ndim for a in axes]
    absent = d.chance(0.3)
    if absent:
        axes = list(range(len(axes)))
    extreme = [-(2**63), -(2**31), 2**31 - 1, 2**63 - 1]
    starts: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    for axis in axes:
        size = x.shape[axis]
        for bounds in (starts, ends):
            bound = d.integer(-size - 3, size + 3)
            bounds.append(d.pick(extreme) if d.chance(0.15) else bound)
        steps.append(d.pick([-3, -2, -1, 1, 2, 3, 7, -7]))
    kind = d.pick([np.int32, I64]) if has_steps else I64
    limits = np.iinfo(kind)
    for name, bounds in (("starts", starts), ("ends", ends)):
        clipped_bounds = [min(max(b, limits.min), limits.max) for b in bounds]
        d.add(np.array(clipped_bounds, kind), name, constant=0.5)
    d.add(None if absent else np.array(axes, kind), "axes", constant=0.5)
    if has_steps and d.chance(0.8):
        d.add(np.array(steps, kind), constant=0.5)


@generator("Pad")
def pad(d: Draft) -> None:
    x = d.tensor(d.shape(1, 4, 0))
    mode = d.pick(["constant", "reflect", "edge", *(["wrap"] if d.version >= 19 else [])])
    some = d.version >= 18 and d.chance(0.4)
    axes = d.axes(x.ndim, 1) if some else list(range(x.ndim))
    sizes = [x.shape[axis] for axis in axes] * 2
    most = {"reflect": -1, "wrap": 0}.get(mode)
    pads = [d.integer(0, 3 if most is None else max(0, min(3, s + most))) for s in sizes]
    if d.chance(0.2) and mode == "constant":
        pads = [d.integer(-1, 2) if size > 2 else p for p, size in zip(pads, sizes, strict=True)]
    d.add(np.array(pads, I64), "pads", constant=0.5)
    value = d.values([], x.dtype) if mode == "constant" and d.chance() else None
    d.add(value, "value")
    d.add(np.array(axes, d.pick([np.int32, I64])) if some else None)
    d.maybe(0.9, mode=mode)


@generator("Tile")
def tile(d: Draft) -> None:
    x = d.tensor(d.shape(0, 4))
    least = 0 if d.chance(0.1) else 1
    d.add(np.array(d.integers(least, 3, x.ndim), I64), constant=0.5)


@generator("Expand")
def expand(d: Draft) -> None:
    shape = d.shape(0, 4)
    d.tensor(d.broadcast(shape))
    target = d.broadcast(shape) if d.chance(0.4) else shape
    d.add(np.array(target, I64), constant=0.5)


def indices(d: Draft, shape: list[int], size: int, param: str = "Tind") -> np.ndarray:
    low = -size if d.takes_negative and d.chance() else 0
    kind = d.pick([np.int32, I64]) if d.allowed(param) else I64
    return d.values(shape, kind, low, max(size - 1, 0))


@generator("Gather")
def gather(d: Draft) -> None:
    x = d.tensor(d.shape(1, 4, 0))
    axis = d.axis(x.ndim) if d.takes_negative else d.integer(0, x.ndim - 1)
    d.add(indices(d, d.shape(0, 3), x.shape[axis]))
    if axis or d.chance():
        d.set(axis=axis)


@generator("GatherElements")
def elements(d: Draft) -> None:
    x = d.tensor(d.shape(1, 4, 0))
    axis = d.axis(x.ndim) if d.takes_negative else d.integer(0, x.ndim - 1)
    sizes = [size if d.chance(0.6) else d.integer(1, size) for size in x.shape]
    sizes[axis] = d.integer(1, 6)
    d.add(indices(d, sizes, x.shape[axis]))
    if axis or d.chance():
        d.set(axis=axis)


@generator("GatherND")
def gather_nd(d: Draft) -> None:
    shape = d.shape(1, 4, 0)
    batch = d.integer(0, len(shape) - 1) if d.version >= 12 and d.chance(0.4) else 0
    d.tensor(shape)
    d.maybe(0.9 if batch == 0 else 1, batch_dims=batch)
    depth = d.integer(1, len(shape) - batch)
    outer = [*shape[:batch], *d.shape(0, 2, 0.02)]
    negative = d.takes_negative and d.chance()
    columns = [
        d.values(outer, I64, -size if negative else 0, size - 1)
        for size in shape[batch : batch + depth]
    ]
    d.add(np.stack(columns, -1))


@generator("DepthToSpace", "SpaceToDepth")
def depth_space(d: Draft) -> None:
    block = d.integer(1, 3)
    n, c, h, w = d.integers(1, 3, 4)
    deep = d.operator == "DepthToSpace"
    d.tensor([n, c * block**2, h, w] if deep else [n, c, h * block, w * block])
    d.set(blocksize=block)
    d.maybe(mode=d.pick(["DCR", "CRD"]))
