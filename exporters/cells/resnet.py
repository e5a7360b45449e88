"""ResNet's two basic blocks: the one that changes the shape and the one that keeps it."""

from __future__ import annotations

import torch
from torch import nn

from exporters.blocks.norm import draw_norms


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


def conv_block(filters: int) -> nn.Module:
    """[batch, 32, 32, 32] -> [batch, filters, 16, 16]."""
    return ResidualBlock(32, filters, stride=2)


def identity_block(filters: int) -> nn.Module:
    """[batch, filters, 32, 32] -> the same shape."""
    return ResidualBlock(filters, filters, stride=1)
