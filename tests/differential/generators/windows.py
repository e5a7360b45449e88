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


MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
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
    d.maybe(0.8, coordinate_transformation_mode=d.pick(MODES))
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
    absent = np.array([], np.float32) if d.version < 13 else None
    d.add(absent)
    if d.chance():
        d.add(np.array([*lead, *spatial], np.float32), constant=0.5)
        return
    d.add(absent)
    target = [max(1, int(n * s)) for n, s in zip(sizes, spatial, strict=True)]
    d.add(np.array([*(x.shape[:2] if lead else ()), *target], np.int64), constant=0.5)
