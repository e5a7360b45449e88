"""Inception's cell in one or two space axes, naive and with 1x1 reductions."""

from __future__ import annotations

import torch
from torch import nn

from exporters.blocks.by_axes import CONVOLUTIONS, MAX_POOLS

CHANNELS = 32
FILTERS = 32
REDUCED = 16


class Inception(nn.Module):
    """Four branches of one input, joined along the channels.

    Every convolution keeps the size, has a bias and is followed by ReLU. In one space axis
    the kernels are 1, 3 and 5. Naive::

        x [32,32,32] -+- conv 1x1, 32 -----+
                      +- conv 3x3, 32 -----+- concat -> [128,32,32]
                      +- conv 5x5, 32 -----+
                      +- max pool 3x3/1 ---+

    With reduction::

        x [32,32,32] -+- conv 1x1, 32 ------------------+
                      +- conv 1x1, 16 - conv 3x3, 32 ---+- concat -> [128,32,32]
                      +- conv 1x1, 16 - conv 5x5, 32 ---+
                      +- max pool 3x3/1 - conv 1x1, 32 -+
    """

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


def _conv(space_axes: int, channels: int, filters: int, kernel: int) -> nn.Sequential:
    convolution = CONVOLUTIONS[space_axes](channels, filters, kernel, padding=kernel // 2)
    return nn.Sequential(convolution, nn.ReLU())


def inception_naive(space_axes: int) -> nn.Module:
    """[batch, 32, 32, ...] -> [batch, 128, 32, ...]."""
    return Inception(
        _conv(space_axes, CHANNELS, FILTERS, 1),
        _conv(space_axes, CHANNELS, FILTERS, 3),
        _conv(space_axes, CHANNELS, FILTERS, 5),
        MAX_POOLS[space_axes](3, stride=1, padding=1),
    )


def inception_reduced(space_axes: int) -> nn.Module:
    """[batch, 32, 32, ...] -> [batch, 128, 32, ...]."""

    def reduced(kernel: int) -> nn.Module:
        return nn.Sequential(
            _conv(space_axes, CHANNELS, REDUCED, 1), _conv(space_axes, REDUCED, FILTERS, kernel)
        )

    return Inception(
        _conv(space_axes, CHANNELS, FILTERS, 1),
        reduced(3),
        reduced(5),
        nn.Sequential(
            MAX_POOLS[space_axes](3, stride=1, padding=1),
            _conv(space_axes, CHANNELS, FILTERS, 1),
        ),
    )
