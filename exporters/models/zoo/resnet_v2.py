"""ResNet v2 (He et al., arXiv:1603.05027): the norm and the ReLU precede each convolution.

Gluon's form of it: the image itself goes through a norm whose gamma and beta are fixed at
one and zero, and a shortcut's projection has no norm.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.models.zoo.initial import damp, draw_weights
from exporters.models.zoo.layers import conv_norm, pooled_head
from exporters.models.zoo.resnet_v1 import BRANCH_SCALE, SPECIFICATIONS, STEM_CHANNELS


class PreActivationBlock(nn.Module):
    """Norm and ReLU feed both `body` and the projection, where there is one."""

    def __init__(self, channels: int, filters: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        layers = _bottleneck if bottleneck else _basic
        self.first_norm = nn.BatchNorm2d(channels)
        self.body = nn.Sequential(*layers(channels, filters, stride))
        self.projection = (
            nn.Conv2d(channels, filters, 1, stride, bias=False) if channels != filters else None
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        activated = torch.relu(self.first_norm(x))
        shortcut = x if self.projection is None else self.projection(activated)
        return self.body(activated) + shortcut


def _basic(channels: int, filters: int, stride: int) -> list[nn.Module]:
    return [
        *conv_norm(channels, filters, 3, stride, padding=1),
        nn.ReLU(),
        nn.Conv2d(filters, filters, 3, padding=1, bias=False),
    ]


def _bottleneck(channels: int, filters: int, stride: int) -> list[nn.Module]:
    hidden = filters // 4
    return [
        *conv_norm(channels, hidden, 1),
        nn.ReLU(),
        *conv_norm(hidden, hidden, 3, stride, padding=1),
        nn.ReLU(),
        nn.Conv2d(hidden, filters, 1, bias=False),
    ]


def resnet_v2(depth: int) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits."""
    counts, widths, bottleneck = SPECIFICATIONS[depth]
    channels = STEM_CHANNELS
    layers: list[nn.Module] = [
        nn.BatchNorm2d(3, affine=False),
        *conv_norm(3, channels, 7, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    for stage, (count, filters) in enumerate(zip(counts, widths, strict=True)):
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(PreActivationBlock(channels, filters, stride, bottleneck))
            channels = filters
    network = nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(), *pooled_head(channels))
    draw_weights(network)
    for layer in layers:
        if isinstance(layer, PreActivationBlock):
            damp(layer.body, BRANCH_SCALE)
    return network
