"""Networks of the Gluon zoo without residual connections: AlexNet, Inception v3, SqueezeNet, VGG.

AlexNet in the one-column form of Krizhevsky 2014 (arXiv:1404.5997). Inception v3 at 299 (Szegedy et
al., arXiv:1512.00567), without the auxiliary classifier. SqueezeNet 1.0 and 1.1 (Iandola et al.,
arXiv:1602.07360). VGG with and without batch norm (Simonyan and Zisserman, arXiv:1409.1556).
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from exporters.models.layers import CLASSES, Size, draw_weights


def _dense_head(inputs: int) -> list[nn.Module]:
    hidden = [nn.Linear(inputs, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU()]
    return [nn.Flatten(), *hidden, nn.Linear(4096, CLASSES)]


def alexnet() -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits."""
    network = nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2),
        nn.Conv2d(64, 192, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2),
        nn.Conv2d(192, 384, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2),
        *_dense_head(256 * 6 * 6),
    )
    draw_weights(network)
    return network


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
        nn.Conv2d(channels, filters, kernel, stride, padding, bias=False),
        nn.BatchNorm2d(filters, eps=_NORM_EPS),
        nn.ReLU(),
    )


def _average_pool(channels: int, filters: int) -> nn.Module:
    return nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), _conv(channels, filters, 1))


def _factorise(
    channels: int, filters: Iterable[int], halves: Iterable[tuple[Size, Size]]
) -> nn.Module:
    """A 1x1 convolution to the first of `filters`, then one convolution for each half."""
    first, *rest = filters
    layers = [_conv(channels, first, 1)]
    for following, (kernel, padding) in zip(rest, halves, strict=True):
        layers.append(_conv(first, following, kernel, padding))
        first = following
    return nn.Sequential(*layers)


def _square_block(channels: int, pool_channels: int) -> nn.Module:
    """5x5, two 3x3, 1x1 and a pooled branch on the 35x35 image; 224 + `pool_channels` channels."""
    return Branches(
        _conv(channels, 64, 1),
        nn.Sequential(_conv(channels, 48, 1), _conv(48, 64, 5, 2)),
        nn.Sequential(_conv(channels, 64, 1), _conv(64, 96, 3, 1), _conv(96, 96, 3, 1)),
        _average_pool(channels, pool_channels),
    )


def _first_reduction(channels: int) -> nn.Module:
    """35x35 to 17x17; adds 480 channels."""
    return Branches(
        _conv(channels, 384, 3, stride=2),
        nn.Sequential(_conv(channels, 64, 1), _conv(64, 96, 3, 1), _conv(96, 96, 3, stride=2)),
        nn.MaxPool2d(3, stride=2),
    )


def _factorised_block(hidden_channels: int) -> nn.Module:
    """7x7 convolutions as rows and columns on the 17x17 image; 768 to 768 channels."""
    return Branches(
        _conv(768, 192, 1),
        _factorise(768, (hidden_channels, hidden_channels, 192), (_ROW_7, _COLUMN_7)),
        _factorise(768, (*(hidden_channels,) * 4, 192), (_COLUMN_7, _ROW_7) * 2),
        _average_pool(768, 192),
    )


def _second_reduction() -> nn.Module:
    """17x17 to 8x8; 768 to 1280 channels."""
    return Branches(
        nn.Sequential(_conv(768, 192, 1), _conv(192, 320, 3, stride=2)),
        nn.Sequential(
            _factorise(768, (192, 192, 192), (_ROW_7, _COLUMN_7)), _conv(192, 192, 3, stride=2)
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
        _average_pool(channels, 192),
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
        *(_factorised_block(hidden_channels) for hidden_channels in (128, 160, 160, 192)),
        _second_reduction(),
        _split_block(1280),
        _split_block(2048),
        nn.AvgPool2d(8),
        nn.Flatten(),
        nn.Linear(2048, CLASSES),
    )
    draw_weights(network)
    return network


_FIRST_CONVOLUTION = {"1.0": (96, 7), "1.1": (64, 3)}

# Squeeze channels of each fire module; None is a pool. Both halves of an expansion have four
# times as many channels.
_FIRES = {
    "1.0": (None, 16, 16, 32, None, 32, 48, 48, 64, None, 64),
    "1.1": (None, 16, 16, None, 32, 32, None, 48, 48, 64, 64),
}
_EXPANSION = 4


class Fire(nn.Module):
    """Squeeze by a 1x1 convolution, expand by a 1x1 and a 3x3 side by side."""

    def __init__(self, channels: int, squeeze_channels: int) -> None:
        super().__init__()
        expand_channels = _EXPANSION * squeeze_channels
        self.squeeze = nn.Conv2d(channels, squeeze_channels, 1)
        self.expand1 = nn.Conv2d(squeeze_channels, expand_channels, 1)
        self.expand3 = nn.Conv2d(squeeze_channels, expand_channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.cat((torch.relu(self.expand1(x)), torch.relu(self.expand3(x))), dim=1)


def squeezenet(version: str) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits; `version` is "1.0" or "1.1"."""
    channels, kernel = _FIRST_CONVOLUTION[version]
    layers: list[nn.Module] = [nn.Conv2d(3, channels, kernel, stride=2), nn.ReLU()]
    for squeeze_channels in _FIRES[version]:
        if squeeze_channels is None:
            layers.append(nn.MaxPool2d(3, stride=2, ceil_mode=True))
        else:
            layers.append(Fire(channels, squeeze_channels))
            channels = 2 * _EXPANSION * squeeze_channels
    layers += [nn.Conv2d(channels, CLASSES, 1), nn.ReLU(), nn.AvgPool2d(13), nn.Flatten()]
    network = nn.Sequential(*layers)
    draw_weights(network)
    return network


_FILTERS = (64, 128, 256, 512, 512)
_LAYERS_PER_STAGE = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


def _features(depth: int, batch_norm: bool) -> list[nn.Module]:
    features: list[nn.Module] = []
    channels = 3
    for count, filters in zip(_LAYERS_PER_STAGE[depth], _FILTERS, strict=True):
        for _ in range(count):
            features.append(nn.Conv2d(channels, filters, 3, padding=1))
            if batch_norm:
                features.append(nn.BatchNorm2d(filters))
            features.append(nn.ReLU())
            channels = filters
        features.append(nn.MaxPool2d(2))
    return features


def vgg(depth: int, batch_norm: bool) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits."""
    network = nn.Sequential(
        *_features(depth, batch_norm),
        *_dense_head(512 * 7 * 7),
    )
    draw_weights(network)
    return network
