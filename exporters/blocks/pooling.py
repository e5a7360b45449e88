"""Average and maximum pooling without padding: a window that does not fit is left out."""

from __future__ import annotations

from torch import nn

from exporters.blocks.by_axes import AVERAGE_POOLS, MAX_POOLS


def average_pool(space_axes: int, window: int, stride: int) -> nn.Module:
    """[batch, 3, 32, ...] -> [batch, 3, (32 - window) // stride + 1, ...]."""
    return AVERAGE_POOLS[space_axes](window, stride)


def max_pool(space_axes: int, window: int, stride: int) -> nn.Module:
    """[batch, 3, 32, ...] -> [batch, 3, (32 - window) // stride + 1, ...]."""
    return MAX_POOLS[space_axes](window, stride)
