"""DenseNet's block in one or two space axes: each layer adds channels to all before it."""

from __future__ import annotations

import torch
from torch import nn

from exporters.blocks.by_axes import CONVOLUTIONS, NORMS
from exporters.blocks.norm import draw_norms

CHANNELS = 32
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
