"""Nodes of operators that sample images at other places."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft
from tests.differential.generators.table import generator

MODES = (
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "half_pixel_symmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@generator("Upsample")
def upsample(d: Draft) -> None:
    d.tensor([d.integer(1, 2), d.integer(1, 3), *d.integers(1, 6, 2)], kinds="fiu")
    scales = [1.0, 1.0, *(d.pick([1.0, 1.5, 2.0, 3.0, 2.3]) for _ in range(2))]
    d.add(np.array(scales, np.float32), "scales", constant=0.5)
    d.maybe(mode=d.pick(["nearest", "linear"]))


@generator("Resize")
def resize(d: Draft) -> None:
    rank = d.pick([2, 2, 2, 1, 3])
    mode = d.pick(["nearest", "linear", "cubic"])
    rank = 2 if mode == "cubic" else rank
    param = "T1" if d.allowed("T1") else "T"
    kinds = "f" if mode == "cubic" and d.chance(0.8) else "fiu"
    x = d.tensor([d.integer(1, 2), d.integer(1, 2), *d.integers(1, 8, rank)], param, kinds=kinds)
    spatial = [d.pick([0.4, 0.5, 0.7, 0.8, 1.0, 1.3, 1.5, 2.0, 2.6, 3.0]) for _ in range(rank)]
    spatial = [max(s, 1.01 / n) for s, n in zip(spatial, x.shape[2:], strict=True)]
    if d.version < 11:
        d.add(np.array([1, 1, *spatial], np.float32), constant=0.5)
        d.maybe(mode=d.pick(["nearest", "linear"]))
        return
    d.maybe(0.9, mode=mode)
    allowed_modes = [m for m in MODES if m != "half_pixel_symmetric" or d.version >= 19]
    allowed_modes = [m for m in allowed_modes if m != "tf_half_pixel_for_nn" or d.version < 13]
    coordinates = d.pick(allowed_modes)
    d.maybe(0.8, coordinate_transformation_mode=coordinates)
    d.maybe(nearest_mode=d.pick(NEAREST))
    d.maybe(0.4, cubic_coeff_a=d.pick([-0.5, -0.75]), exclude_outside=d.integer(0, 1))
    d.maybe(0.25, antialias=d.integer(0, 1))
    some = d.version >= 18 and d.chance(0.3)
    if some:
        axes = [int(a) for a in 2 + d.rng.permutation(rank)]
        d.set(axes=[a - x.ndim * d.integer(0, 1) for a in axes])
        lead: list[float] = []
        sizes = [x.shape[axis] for axis in axes]
    else:
        lead, sizes = [1.0, 1.0], list(x.shape[2:])
    roi = None
    if d.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        count = len(lead) + rank
        start = d.values([count], np.float32, 0, 0.4)
        start[: len(lead)] = 0
        end = d.values([count], np.float32, 0.5, 1.2)
        end[: len(lead)] = 1
        roi = np.concatenate([start, end])
        d.maybe(extrapolation_value=d.real(-2, 2))
    elif d.version < 13:
        roi = np.array([], np.float32)
    d.add(roi, constant=0.5)
    if d.chance():
        d.add(np.array([*lead, *spatial], np.float32), constant=0.5)
        return
    d.add(None if d.version >= 13 else np.array([], np.float32))
    target = [max(1, int(n * s)) for n, s in zip(sizes, spatial, strict=True)]
    if d.version >= 18 and d.chance(0.3) and some:
        d.set(keep_aspect_ratio_policy=d.pick(["stretch", "not_larger", "not_smaller"]))
    d.add(np.array([*(x.shape[:2] if lead else ()), *target], np.int64), constant=0.5)


@generator("GridSample")
def grid_sample(d: Draft) -> None:
    rank = 3 if d.version >= 20 and d.chance(0.3) else 2
    param = "T1"
    batch = d.integer(1, 2)
    d.tensor([batch, d.integer(1, 3), *d.integers(1, 6, rank)], param, kinds="f")
    grid = "T2" if d.allowed("T2") else "T1"
    d.tensor([batch, *d.integers(1, 5, rank), rank], grid, -1.4, 1.4, kinds="f")
    newer = d.version >= 20
    modes = ["linear", "nearest", "cubic"] if newer else ["bilinear", "nearest", "bicubic"]
    d.maybe(0.8, mode=d.pick(modes[: 2 if rank == 3 else 3]))
    d.maybe(0.7, padding_mode=d.pick(["zeros", "border", "reflection"]))
    d.maybe(align_corners=d.integer(0, 1))


@generator("AffineGrid")
def affine_grid(d: Draft) -> None:
    rank = d.integer(2, 3)
    batch = d.integer(1, 3)
    d.tensor([batch, rank, rank + 1], "T1", kinds="f")
    d.add(np.array([batch, d.integer(1, 3), *d.integers(1, 4, rank)], np.int64), constant=0.5)
    d.maybe(align_corners=d.integer(0, 1))
