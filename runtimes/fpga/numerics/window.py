"""Sliding windows over space axes, shared by convolutions and pools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from operator import gt
from types import EllipsisType

import numpy as np

from runtimes.fpga.numerics.operator import Call, Refused


@dataclass(frozen=True, slots=True)
class Window:
    """A kernel's geometry, one entry per space axis; `end` includes what ceil_mode adds."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def padded(self) -> bool:
        return any(self.begin) or any(self.end)

    def pad(self, values: np.ndarray, fill: float) -> np.ndarray:
        """`values` [..., *space] with the window's padding around the space axes."""
        if not self.padded:
            return values
        leading = ((0, 0),) * (values.ndim - len(self.size))
        amounts = (*leading, *zip(self.begin, self.end, strict=True))
        return np.pad(values, amounts, constant_values=fill)

    def taps(self, padded: np.ndarray) -> Iterator[np.ndarray]:
        """For each position in the kernel, the view [..., *output] that it multiplies."""
        for position in product(*(range(size) for size in self.size)):
            yield padded[self.slices(position)]

    def slices(self, position: tuple[int, ...]) -> tuple[EllipsisType | slice, ...]:
        """Where, in padded input, one position of the kernel falls for every output."""
        starts = (at * dilation for at, dilation in zip(position, self.dilation, strict=True))
        return (
            ...,
            *(
                # Of no output the end would lie before the start, and a negative end counts from
                # the other side.
                slice(start, start + (count - 1) * stride + 1 if count else start, stride)
                for start, stride, count in zip(starts, self.stride, self.output, strict=True)
            ),
        )


def window_of(call: Call, size: tuple[int, ...]) -> Window:
    """The window of a convolution or pool whose kernel has `size`, by its attributes.

    The output's size is the graph's own, so that ceil_mode needs no second formula.
    """
    space = call.shape(0)[2:]
    if not space or len(space) != len(size):
        raise Refused(f"its kernel has {len(size)} axes, its input {len(space)}")
    ones = (1,) * len(size)
    stride = call.integers("strides") or ones
    dilation = call.integers("dilations") or ones
    output = call.output_shapes[0][2:]
    reach = tuple((n - 1) * d + 1 for n, d in zip(size, dilation, strict=True))
    span = tuple((o - 1) * s + r for o, s, r in zip(output, stride, reach, strict=True))
    begin, end = _padding(call, space, stride, span)
    first, beyond = (
        tuple(needed - n - b for needed, n, b in zip(needs, space, begin, strict=True))
        for needs in (reach, span)
    )
    # With ceil_mode the shapes of ONNX's inference and of its CPU kernels differ where not even
    # the first window fits.
    if any(map(gt, first if call.integer("ceil_mode", 0) else beyond, end)):
        raise Refused("its window is larger than its padded input")
    # ceil_mode may let the last window reach past the padding.
    end = tuple(map(max, end, beyond))
    return Window(size, stride, dilation, begin, end, output)


def _padding(
    call: Call, space: tuple[int, ...], stride: tuple[int, ...], span: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    mode = call.text("auto_pad", "NOTSET")
    zeros = (0,) * len(space)
    if mode == "VALID":
        return zeros, zeros
    if mode == "NOTSET":
        pads = call.integers("pads") or zeros * 2
        if min(pads) < 0:
            raise Refused("it has negative padding")
        return pads[: len(space)], pads[len(space) :]
    total = tuple(max(needed - n, 0) for needed, n in zip(span, space, strict=True))
    less = tuple(t // 2 for t in total)
    more = tuple(t - t // 2 for t in total)
    return (less, more) if mode == "SAME_UPPER" else (more, less)
