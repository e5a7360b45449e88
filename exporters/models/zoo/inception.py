"""Inception v3 at 299 (Szegedy et al., arXiv:1512.00567), without the auxiliary classifier.

Gluon leaves that classifier out as well. Every convolution has a norm with eps 1e-3 and a
ReLU; average pools count their padding.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from exporters.models.zoo.initial import draw_weights
from exporters.models.zoo.layers import CLASSES, Size, conv_norm

_NORM_EPS = 1e-3

# The two halves of a factorised convolution: kernel and the padding that keeps the size.
_ROW_7, _COLUMN_7 = ((1, 7), (0, 3)), ((7, 1), (3, 0))
_ROW_3, _COLUMN_3 = ((1, 3), (0, 1)), ((3, 1), (1, 0))


class Branches(nn.Module):
    """Several modules over one input, their outputs joined along the channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


def _conv(
    channels: int, filters: int, kernel: Size, padding: Size = 0, stride: int = 1
) -> nn.Module:
    return nn.Sequential(
        *conv_norm(channels, filters, kernel, stride, padding, eps=_NORM_EPS), nn.ReLU()
    )


def _averaged(channels: int, filters: int) -> nn.Module:
    return nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), _conv(channels, filters, 1))


def _factorised(
    channels: int, filters: Iterable[int], halves: Iterable[tuple[Size, Size]]
) -> nn.Module:
    """A 1x1 convolution to the first of `filters`, then one convolution for each half."""
    first, *rest = filters
    layers = [_conv(channels, first, 1)]
    for following, (kernel, padding) in zip(rest, halves, strict=True):
        layers.append(_conv(first, following, kernel, padding))
        first = following
    return nn.Sequential(*layers)


def _square_block(channels: int, pooled: int) -> nn.Module:
    """5x5, two 3x3, 1x1 and a pooled branch on the 35x35 image; 224 + `pooled` channels."""
    return Branches(
        _conv(channels, 64, 1),
        nn.Sequential(_conv(channels, 48, 1), _conv(48, 64, 5, 2)),
        nn.Sequential(_conv(channels, 64, 1), _conv(64, 96, 3, 1), _conv(96, 96, 3, 1)),
        _averaged(channels, pooled),
    )


def _first_reduction(channels: int) -> nn.Module:
    """35x35 to 17x17; adds 480 channels."""
    return Branches(
        _conv(channels, 384, 3, stride=2),
        nn.Sequential(_conv(channels, 64, 1), _conv(64, 96, 3, 1), _conv(96, 96, 3, stride=2)),
        nn.MaxPool2d(3, stride=2),
    )


def _factorised_block(hidden: int) -> nn.Module:
    """7x7 convolutions as rows and columns on the 17x17 image; 768 to 768 channels."""
    return Branches(
        _conv(768, 192, 1),
        _factorised(768, (hidden, hidden, 192), (_ROW_7, _COLUMN_7)),
        _factorised(768, (*(hidden,) * 4, 192), (_COLUMN_7, _ROW_7) * 2),
        _averaged(768, 192),
    )


def _second_reduction() -> nn.Module:
    """17x17 to 8x8; 768 to 1280 channels."""
    return Branches(
        nn.Sequential(_conv(768, 192, 1), _conv(192, 320, 3, stride=2)),
        nn.Sequential(
            _factorised(768, (192, 192, 192), (_ROW_7, _COLUMN_7)), _conv(192, 192, 3, stride=2)
        ),
        nn.MaxPool2d(3, stride=2),
    )


def _split_block(channels: int) -> nn.Module:
    """Rows and columns side by side on the 8x8 image; 2048 channels leave it."""

    def split(inputs: int) -> nn.Module:
        return Branches(_conv(inputs, 384, *_ROW_3), _conv(inputs, 384, *_COLUMN_3))

    return Branches(
        _conv(channels, 320, 1),
        nn.Sequential(_conv(channels, 384, 1), split(384)),
        nn.Sequential(_conv(channels, 448, 1), _conv(448, 384, 3, 1), split(384)),
        _averaged(channels, 192),
    )


def inception_v3() -> nn.Module:
    """[batch, 3, 299, 299] -> [batch, 1000] logits."""
    network = nn.Sequential(
        _conv(3, 32, 3, stride=2),
        _conv(32, 32, 3),
        _conv(32, 64, 3, 1),
        nn.MaxPool2d(3, stride=2),
        _conv(64, 80, 1),
        _conv(80, 192, 3),
        nn.MaxPool2d(3, stride=2),
        _square_block(192, 32),
        _square_block(256, 64),
        _square_block(288, 64),
        _first_reduction(288),
        *(_factorised_block(hidden) for hidden in (128, 160, 160, 192)),
        _second_reduction(),
        _split_block(1280),
        _split_block(2048),
        nn.AvgPool2d(8),
        nn.Flatten(),
        nn.Linear(2048, CLASSES),
    )
    draw_weights(network)
    return network
