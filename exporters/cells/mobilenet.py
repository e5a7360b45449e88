"""MobileNet v2's inverted residual: wide inside, narrow at its ends."""

from __future__ import annotations

import torch
from torch import nn

from exporters.blocks.norm import draw_norms

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
        hidden = EXPANSION * filters
        self.body = nn.Sequential(
            nn.Conv2d(filters, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, filters, 1, bias=False),
            nn.BatchNorm2d(filters),
        )
        draw_norms(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


def mobilenet_block(filters: int) -> nn.Module:
    """[batch, filters, 32, 32] -> the same shape."""
    return InvertedResidual(filters)
