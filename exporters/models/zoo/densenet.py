"""DenseNet-BC (Huang et al., arXiv:1608.06993): every layer sees all layers before it."""

from __future__ import annotations

import torch
from torch import nn

from exporters.models.zoo.initial import draw_weights
from exporters.models.zoo.layers import CLASSES, conv_norm

# Channels of the stem, channels that each layer adds, layers of the four blocks.
_SPECIFICATIONS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
_BOTTLENECK = 4


class DenseLayer(nn.Module):
    """Norm, ReLU and convolution twice (1x1, then 3x3); the result joins the input."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        hidden = _BOTTLENECK * growth
        self.body = nn.Sequential(
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU(),
            nn.Conv2d(hidden, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat((x, self.body(x)), dim=1)


def _transition(channels: int) -> list[nn.Module]:
    """Halves the channels and the image."""
    return [
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, channels // 2, 1, bias=False),
        nn.AvgPool2d(2),
    ]


def densenet(depth: int) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits."""
    channels, growth, blocks = _SPECIFICATIONS[depth]
    layers = [
        *conv_norm(3, channels, 7, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    for index, count in enumerate(blocks):
        if index > 0:
            layers += _transition(channels)
            channels //= 2
        for _ in range(count):
            layers.append(DenseLayer(channels, growth))
            channels += growth
    network = nn.Sequential(
        *layers,
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.AvgPool2d(7),
        nn.Flatten(),
        nn.Linear(channels, CLASSES),
    )
    draw_weights(network)
    return network
