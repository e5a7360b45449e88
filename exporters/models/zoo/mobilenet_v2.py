"""MobileNet v2 at four widths (Sandler et al., arXiv:1801.04381).

Gluon's form of it: the first bottleneck keeps an expansion of one as a convolution of its
own, channel counts are cut off instead of rounded to eights, and the classifier is a 1x1
convolution without bias.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.models.zoo.initial import damp, draw_weights
from exporters.models.zoo.layers import CLASSES, conv_norm

_STEM = 32
_HEAD = 1280

# Expansion, filters at width 1, repetitions, and stride of the first of them.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_BRANCH_SCALE = 0.5


class LinearBottleneck(nn.Module):
    """Expand, filter each channel, project without activation; add the input if it fits."""

    def __init__(self, channels: int, filters: int, expansion: int, stride: int) -> None:
        super().__init__()
        hidden = channels * expansion
        self.adds_input = stride == 1 and channels == filters
        self.body = nn.Sequential(
            *conv_norm(channels, hidden, 1),
            nn.ReLU6(),
            *conv_norm(hidden, hidden, 3, stride, padding=1, groups=hidden),
            nn.ReLU6(),
            *conv_norm(hidden, filters, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.body(x)
        return x + y if self.adds_input else y


def mobilenet_v2(width: float) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits; `width` multiplies all but the head."""
    channels = int(_STEM * width)
    layers: list[nn.Module] = [*conv_norm(3, channels, 3, stride=2, padding=1), nn.ReLU6()]
    for expansion, base_filters, repetitions, first_stride in _STAGES:
        filters = int(base_filters * width)
        for repetition in range(repetitions):
            stride = first_stride if repetition == 0 else 1
            layers.append(LinearBottleneck(channels, filters, expansion, stride))
            channels = filters
    network = nn.Sequential(
        *layers,
        *conv_norm(channels, _HEAD, 1),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Conv2d(_HEAD, CLASSES, 1, bias=False),
        nn.Flatten(),
    )
    draw_weights(network)
    for layer in layers:
        if isinstance(layer, LinearBottleneck):
            damp(layer.body, _BRANCH_SCALE)
    return network
