"""Residual, dense and depthwise networks of the Gluon zoo: ResNet, DenseNet, MobileNet.

ResNet v1 (He et al., arXiv:1512.03385): the norm and the ReLU follow each convolution. ResNet v2
(He et al., arXiv:1603.05027): they precede it. DenseNet-BC (Huang et al., arXiv:1608.06993).
MobileNet v1 (Howard et al., arXiv:1704.04861) and v2 (Sandler et al., arXiv:1801.04381), at four
widths.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.models.layers import CLASSES, conv_norm, damp, draw_weights, pooled_head

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
        hidden_channels = _BOTTLENECK * growth
        self.body = nn.Sequential(
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, hidden_channels, 1, bias=False),
            nn.BatchNorm2d(hidden_channels),
            nn.ReLU(),
            nn.Conv2d(hidden_channels, growth, 3, padding=1, bias=False),
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


_STEM = 32

# Filters and stride of each depthwise-separable convolution at width 1.
_SEPARABLE = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)


def mobilenet(width: float) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits; `width` multiplies every channel count."""
    channels = int(_STEM * width)
    layers = [*conv_norm(3, channels, 3, stride=2, padding=1), nn.ReLU()]
    for base_filters, stride in _SEPARABLE:
        filters = int(base_filters * width)
        layers += [*conv_norm(channels, channels, 3, stride, padding=1, groups=channels), nn.ReLU()]
        layers += [*conv_norm(channels, filters, 1), nn.ReLU()]
        channels = filters
    network = nn.Sequential(*layers, *pooled_head(channels))
    draw_weights(network)
    return network


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
        hidden_channels = channels * expansion
        self.adds_input = stride == 1 and channels == filters
        self.body = nn.Sequential(
            *conv_norm(channels, hidden_channels, 1),
            nn.ReLU6(),
            *conv_norm(
                hidden_channels, hidden_channels, 3, stride, padding=1, groups=hidden_channels
            ),
            nn.ReLU6(),
            *conv_norm(hidden_channels, filters, 1),
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
        shortcut = conv_norm(channels, filters, 1, stride) if channels != filters else []
        self.shortcut = nn.Sequential(*shortcut)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.shortcut(x) + self.body(x))


def _basic(channels: int, filters: int, stride: int) -> list[nn.Module]:
    return [
        *conv_norm(channels, filters, 3, stride, padding=1),
        nn.ReLU(),
        *conv_norm(filters, filters, 3, padding=1),
    ]


def _bottleneck(channels: int, filters: int, stride: int) -> list[nn.Module]:
    hidden_channels = filters // 4
    return [
        *conv_norm(channels, hidden_channels, 1, stride, bias=True),
        nn.ReLU(),
        *conv_norm(hidden_channels, hidden_channels, 3, padding=1),
        nn.ReLU(),
        *conv_norm(hidden_channels, filters, 1, bias=True),
    ]


class PreActivationBlock(nn.Module):
    """Norm and ReLU feed both `body` and the projection, where there is one."""

    def __init__(self, channels: int, filters: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        layers = _resnet_v2_bottleneck if bottleneck else _resnet_v2_basic
        self.first_norm = nn.BatchNorm2d(channels)
        self.body = nn.Sequential(*layers(channels, filters, stride))
        self.projection = (
            nn.Conv2d(channels, filters, 1, stride, bias=False) if channels != filters else None
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        activation = torch.relu(self.first_norm(x))
        shortcut = x if self.projection is None else self.projection(activation)
        return self.body(activation) + shortcut


def _resnet_v2_basic(channels: int, filters: int, stride: int) -> list[nn.Module]:
    return [
        *conv_norm(channels, filters, 3, stride, padding=1),
        nn.ReLU(),
        nn.Conv2d(filters, filters, 3, padding=1, bias=False),
    ]


def _resnet_v2_bottleneck(channels: int, filters: int, stride: int) -> list[nn.Module]:
    hidden_channels = filters // 4
    return [
        *conv_norm(channels, hidden_channels, 1),
        nn.ReLU(),
        *conv_norm(hidden_channels, hidden_channels, 3, stride, padding=1),
        nn.ReLU(),
        nn.Conv2d(hidden_channels, filters, 1, bias=False),
    ]


def resnet_v1(depth: int) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits."""
    return _resnet(depth, ResidualBlock)


def resnet_v2(depth: int) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits."""
    return _resnet(depth, PreActivationBlock)


def _resnet(depth: int, block_class: type[ResidualBlock | PreActivationBlock]) -> nn.Module:
    """The second version has a norm of the input too, and one after its last block."""
    counts, widths, bottleneck = SPECIFICATIONS[depth]
    channels, is_second = STEM_CHANNELS, block_class is PreActivationBlock
    layers: list[nn.Module] = [
        *([nn.BatchNorm2d(3, affine=False)] if is_second else []),
        *conv_norm(3, channels, 7, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    for stage, (count, filters) in enumerate(zip(counts, widths, strict=True)):
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(block_class(channels, filters, stride, bottleneck))
            channels = filters
    last_norm = [nn.BatchNorm2d(channels), nn.ReLU()] if is_second else []
    network = nn.Sequential(*layers, *last_norm, *pooled_head(channels))
    draw_weights(network)
    for layer in layers:
        if isinstance(layer, ResidualBlock | PreActivationBlock):
            damp(layer.body, BRANCH_SCALE)
    return network
