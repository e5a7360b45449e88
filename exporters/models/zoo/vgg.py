"""VGG with and without batch norm (Simonyan and Zisserman, arXiv:1409.1556).

The convolutions keep their biases even where a norm follows.
"""

from __future__ import annotations

from torch import nn

from exporters.models.zoo.initial import draw_weights
from exporters.models.zoo.layers import CLASSES

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
        nn.Flatten(),
        nn.Linear(512 * 7 * 7, 4096),
        nn.ReLU(),
        nn.Linear(4096, 4096),
        nn.ReLU(),
        nn.Linear(4096, CLASSES),
    )
    draw_weights(network)
    return network
