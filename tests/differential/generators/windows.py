"""Nodes of operators that slide a window: convolutions and pools."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft, generator

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def window(d: Draft, rank: int, *, strides: bool = True, dilations: bool = True) -> list[int]:
    """Set the attributes of a window; return the kernel's sizes."""
    kernel = d.integers(1, 3, rank)
    if strides:
        d.maybe(strides=d.integers(1, 3, rank))
    auto_pad = d.pick(AUTO_PADS) if d.chance(0.4) else "NOTSET"
    if auto_pad != "NOTSET" or d.chance(0.2):
        d.set(auto_pad=auto_pad)
    if dilations and d.chance(0.3):
        d.set(dilations=d.integers(1, 2, rank))
    if auto_pad == "NOTSET":
        reach = [k - 1 for k in kernel] * 2
        d.maybe(pads=[d.integer(0, most) for most in reach])
    return kernel


def image(d: Draft, channels: int, rank: int, size: int = 9) -> list[int]:
    sizes = d.integers(3, size if rank < 3 else 5, rank)
    if d.chance(0.05):
        sizes[0] = d.integer(1, 2)
    return [d.integer(1, 2), channels, *sizes]


@generator("Conv")
def conv(d: Draft) -> None:
    rank = d.pick([1, 2, 2, 3])
    group, each, out_channels = d.integers(1, 3, 3)
    kernel = window(d, rank)
    d.tensor(image(d, group * each, rank))
    d.tensor([group * out_channels, each, *kernel])
    if d.chance():
        d.tensor([group * out_channels])
    if group > 1 or d.chance(0.2):
        d.set(group=group)
    d.maybe(kernel_shape=kernel)


@generator("ConvTranspose")
def conv_transpose(d: Draft) -> None:
    rank = d.pick([1, 2, 2, 3])
    group, each, out_channels = d.integers(1, 3, 3)
    kernel = d.integers(1, 3, rank)
    strides = d.integers(1, 3, rank) if d.chance(0.7) else [1] * rank
    dilations = d.integers(1, 2, rank) if d.chance(0.3) else [1] * rank
    x = d.tensor(image(d, group * each, rank, 5))
    d.tensor([group * each, out_channels, *kernel])
    if d.chance():
        d.tensor([group * out_channels])
    if strides != [1] * rank or d.chance(0.2):
        d.set(strides=strides)
    if dilations != [1] * rank or d.chance(0.2):
        d.set(dilations=dilations)
    auto_pad = d.pick(AUTO_PADS) if d.chance(0.4) else "NOTSET"
    if auto_pad != "NOTSET":
        d.set(auto_pad=auto_pad)
    if d.chance(0.3):
        d.set(
            output_padding=[
                d.integer(0, max(s, e) - 1) for s, e in zip(strides, dilations, strict=True)
            ]
        )
    if d.chance(0.25):
        full = [
            (x.shape[2 + a] - 1) * strides[a] + (kernel[a] - 1) * dilations[a] + 1
            for a in range(rank)
        ]
        d.set(output_shape=[max(1, f - d.integer(0, 2)) for f in full])
    elif auto_pad == "NOTSET":
        d.maybe(pads=[d.integer(0, k - 1) for k in kernel] * 2)
    if group > 1 or d.chance(0.2):
        d.set(group=group)
    d.maybe(kernel_shape=kernel)


@generator("MaxPool", "AveragePool", "LpPool")
def pool(d: Draft) -> None:
    rank = d.pick([1, 2, 2, 3])
    kernel = window(d, rank)
    d.tensor(image(d, d.integer(1, 3), rank))
    d.set(kernel_shape=kernel)
    d.maybe(ceil_mode=d.integer(0, 1), count_include_pad=d.integer(0, 1), p=d.integer(1, 3))
    if d.operator == "MaxPool" and d.version >= 8 and d.chance():
        d.outputs = 2
        d.maybe(0.3, storage_order=1)


@generator("MaxRoiPool")
def max_roi_pool(d: Draft) -> None:
    x = d.tensor([d.integer(1, 2), d.integer(1, 3), 8, 8])
    regions = []
    for _ in range(d.integer(1, 3)):
        left, top = d.integers(0, 3, 2)
        corner = [left + d.integer(1, 4), top + d.integer(1, 4)]
        regions.append([d.integer(0, x.shape[0] - 1), left, top, *corner])
    d.add(np.array(regions, x.dtype))
    d.set(pooled_shape=d.integers(1, 3, 2))


@generator("RoiAlign")
def roi_align(d: Draft) -> None:
    x = d.tensor([d.integer(1, 2), d.integer(1, 3), *d.integers(4, 9, 2)], "T1")
    count = d.integer(1, 4)
    start = d.values([count, 2], x.dtype, -1, 4)
    d.add(np.concatenate([start, start + d.values([count, 2], x.dtype, 0.5, 6)], 1))
    d.add(d.values([count], np.int64, 0, x.shape[0] - 1))
    d.maybe(output_height=d.integer(1, 4), output_width=d.integer(1, 4))
    d.maybe(
        sampling_ratio=d.integer(0, 3),
        spatial_scale=d.pick([0.5, 1.0]),
        mode=d.pick(["avg", "max"]),
    )
    d.maybe(coordinate_transformation_mode=d.pick(["half_pixel", "output_half_pixel"]))


@generator("MaxUnpool")
def max_unpool(d: Draft) -> None:
    n, c, h, w = d.integers(1, 3, 4)
    kernel, strides = d.integers(1, 3, 2), d.integers(1, 3, 2)
    sizes = [(h - 1) * strides[0] + kernel[0], (w - 1) * strides[1] + kernel[1]]
    d.tensor([n, c, h, w], "T1")
    places = d.rng.permutation(int(np.prod(sizes)))[: h * w]
    if len(places) < h * w:
        places = np.arange(h * w)
    planes = np.arange(n * c).reshape(n, c, 1, 1) * int(np.prod(sizes))
    d.add(places.reshape(1, 1, h, w) + planes)
    d.set(kernel_shape=kernel, strides=strides)
    if d.chance(0.3):
        d.add(np.array([n, c, sizes[0], sizes[1]], np.int64), constant=0.5)


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
