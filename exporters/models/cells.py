"""Cells of NeurIO's block-based benchmark as torch modules: heads, DenseNet, Inception, MobileNet,
ResNet and skip cells.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.models.layers import CONVOLUTIONS, MAX_POOLS, NORMS, draw_norms

CHANNELS = 32
CLASSES = 10


def average_classifier() -> nn.Module:
    """[batch, 32, 32, 32] -> [batch, 10].

    ::

        x [32,32,32] - average pool 2x2/2 - flatten [8192] - dense -> [10]
    """
    return nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(CHANNELS * 16 * 16, CLASSES))


def global_classifier() -> nn.Module:
    """[batch, 32, 32, 32] -> [batch, 10].

    ::

        x [32,32,32] - global average pool - flatten [32] - dense -> [10]
    """
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, CLASSES))


LAYERS = 4


class DenseLayer(nn.Module):
    """Norm, ReLU, convolution of kernel 3 without bias; its filters join the input's."""

    def __init__(self, space_axes: int, channels: int, filters: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            NORMS[space_axes](channels),
            nn.ReLU(),
            CONVOLUTIONS[space_axes](channels, filters, 3, padding=1, bias=False),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((x, self.body(x)), dim=1)


def dense_block(space_axes: int, filters: int) -> nn.Module:
    """[batch, 32, 32, ...] -> [batch, 32 + 4 * filters, 32, ...].

    One of the four layers, F filters and C channels so far::

        x [C,32,..] -+----------------------------+- concat -> [C+F,32,..]
                     +- BN - ReLU - conv 3, F ----+
    """
    layers = (
        DenseLayer(space_axes, CHANNELS + index * filters, filters) for index in range(LAYERS)
    )
    block = nn.Sequential(*layers)
    draw_norms(block)
    return block


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

    def reduced_block(kernel: int) -> nn.Module:
        return nn.Sequential(
            _conv(space_axes, CHANNELS, REDUCED, 1), _conv(space_axes, REDUCED, FILTERS, kernel)
        )

    return Inception(
        _conv(space_axes, CHANNELS, FILTERS, 1),
        reduced_block(3),
        reduced_block(5),
        nn.Sequential(
            MAX_POOLS[space_axes](3, stride=1, padding=1),
            _conv(space_axes, CHANNELS, FILTERS, 1),
        ),
    )


EXPANSION = 6


class InvertedResidual(nn.Module):
    """Expand six times, filter each channel, project back, add the input; no biases.

    ::

        x [F,32,32] -+- conv 1x1, 6F - BN - ReLU6 - depthwise 3x3 - BN - ReLU6 -+
                     |                               conv 1x1, F - BN - <-------+
                     |                                            |
                     +------------------------------------------ add -> [F,32,32]
    """

    def __init__(self, filters: int) -> None:
        super().__init__()
        hidden_channels = EXPANSION * filters
        self.body = nn.Sequential(
            nn.Conv2d(filters, hidden_channels, 1, bias=False),
            nn.BatchNorm2d(hidden_channels),
            nn.ReLU6(),
            nn.Conv2d(
                hidden_channels, hidden_channels, 3, padding=1, groups=hidden_channels, bias=False
            ),
            nn.BatchNorm2d(hidden_channels),
            nn.ReLU6(),
            nn.Conv2d(hidden_channels, filters, 1, bias=False),
            nn.BatchNorm2d(filters),
        )
        draw_norms(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with batch norm beside a shortcut; no convolution has a bias.

    Convolutional block: stride 2 in the first convolution and in the shortcut::

        x [32,32,32] -+- conv 3x3/2, F - BN - ReLU - conv 3x3, F - BN -+- add - ReLU -> [F,16,16]
                      +- conv 1x1/2, F - BN ---------------------------+

    Identity block (the page writes "IID")::

        x [F,32,32] -+- conv 3x3, F - BN - ReLU - conv 3x3, F - BN -+- add - ReLU -> [F,32,32]
                     +----------------------------------------------+
    """

    def __init__(self, channels: int, filters: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, filters, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(filters),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, padding=1, bias=False),
            nn.BatchNorm2d(filters),
        )
        self.shortcut = nn.Sequential()
        if channels != filters or stride != 1:
            self.shortcut.append(nn.Conv2d(channels, filters, 1, stride, bias=False))
            self.shortcut.append(nn.BatchNorm2d(filters))
        draw_norms(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class SkipConnection(nn.Module):
    """One branch is the input itself, each other a 3x3 convolution with bias and ReLU.

    ::

        x [32,32,32] -+----------------------+
                      +- conv 3x3, 32 - ReLU -+- concat or add -> y
                      +- ... (branches - 1) --+

    Concatenated [32 * branches, 32, 32], added [32, 32, 32].
    """

    def __init__(self, branches: int, merge: str) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1) for _ in range(branches - 1)
        )
        self.concatenates = merge == "concat"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branches = [x, *(torch.relu(convolution(x)) for convolution in self.convolutions)]
        if self.concatenates:
            return torch.cat(branches, dim=1)
        total = branches[0]
        for branch in branches[1:]:
            total = total + branch
        return total
