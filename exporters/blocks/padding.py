"""Padding of the space axes by two values a side, in four kinds.

ONNX's Pad knows constant, edge, reflect and wrap, but not symmetric (the border value
repeated: `b a | a b c`). Symmetric is therefore lowered to slice, reverse and concat, and a
runtime is timed on those.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.blocks.by_axes import CONSTANT_PADS, REFLECTION_PADS

PADDED_PER_SIDE = 2

_CONSTANTS = {"zero": 0.0, "constant": 1.0}


class SymmetricPad(nn.Module):
    """Mirrors each border, the border value included, one axis after the other."""

    def __init__(self, space_axes: int) -> None:
        super().__init__()
        self.space_axes = space_axes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for axis in range(-1, -self.space_axes - 1, -1):
            size = x.shape[axis]
            first = x.narrow(axis, 0, PADDED_PER_SIDE).flip(axis)
            last = x.narrow(axis, size - PADDED_PER_SIDE, PADDED_PER_SIDE).flip(axis)
            x = torch.cat((first, x, last), dim=axis)
        return x


def pad(kind: str, space_axes: int) -> nn.Module:
    """[batch, 3, 32, ...] -> [batch, 3, 36, ...]."""
    if kind == "symmetric":
        return SymmetricPad(space_axes)
    if kind == "reflect":
        return REFLECTION_PADS[space_axes](PADDED_PER_SIDE)
    return CONSTANT_PADS[space_axes](PADDED_PER_SIDE, _CONSTANTS[kind])
