"""ResNet v1 (He et al., arXiv:1512.03385): the norm and the ReLU follow each convolution.

Gluon's form of it: a bottleneck strides in its first 1x1 convolution, and its two 1x1
convolutions keep biases that the norm behind them makes superfluous.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.models.zoo.initial import damp, draw_weights
from exporters.models.zoo.layers import conv_norm, pooled_head

STEM_CHANNELS = 64

# For each depth: blocks of the four stages, channels of the four stages, bottleneck or basic.
SPECIFICATIONS = {
    18: ((2, 2, 2, 2), (64, 128, 256, 512), False),
    34: ((3, 4, 6, 3), (64, 128, 256, 512), False),
    50: ((3, 4, 6, 3), (256, 512, 1024, 2048), True),
    101: ((3, 4, 23, 3), (256, 512, 1024, 2048), True),
    152: ((3, 8, 36, 3), (256, 512, 1024, 2048), True),
}
BRANCH_SCALE = 0.3


class ResidualBlock(nn.Module):
    """`body` plus the input, projected where the shape changes; ReLU after the sum."""

    def __init__(self, channels: int, filters: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        layers = _bottleneck if bottleneck else _basic
        self.body = nn.Sequential(*layers(channels, filters, stride))
        projected = conv_norm(channels, filters, 1, stride) if channels != filters else []
        self.shortcut = nn.Sequential(*projected)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.shortcut(x) + self.body(x))


def _basic(channels: int, filters: int, stride: int) -> list[nn.Module]:
    return [
        *conv_norm(channels, filters, 3, stride, padding=1),
        nn.ReLU(),
        *conv_norm(filters, filters, 3, padding=1),
    ]


def _bottleneck(channels: int, filters: int, stride: int) -> list[nn.Module]:
    hidden = filters // 4
    return [
        *conv_norm(channels, hidden, 1, stride, bias=True),
        nn.ReLU(),
        *conv_norm(hidden, hidden, 3, padding=1),
        nn.ReLU(),
        *conv_norm(hidden, filters, 1, bias=True),
    ]


def resnet_v1(depth: int) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits."""
    counts, widths, bottleneck = SPECIFICATIONS[depth]
    channels = STEM_CHANNELS
    layers: list[nn.Module] = [
        *conv_norm(3, channels, 7, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    for stage, (count, filters) in enumerate(zip(counts, widths, strict=True)):
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(ResidualBlock(channels, filters, stride, bottleneck))
            channels = filters
    network = nn.Sequential(*layers, *pooled_head(channels))
    draw_weights(network)
    for layer in layers:
        if isinstance(layer, ResidualBlock):
            damp(layer.body, BRANCH_SCALE)
    return network
