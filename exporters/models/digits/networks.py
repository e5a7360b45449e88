"""The two kinds of digit classifier, [batch, 1, 8, 8] to ten logits, untrained."""

from __future__ import annotations

from torch import nn

from exporters.models.digits.data import CLASSES, IMAGE_SIZE
from exporters.models.mlp import Mlp


def mlp(width: int) -> nn.Module:
    """Two hidden layers of `width`."""
    return nn.Sequential(nn.Flatten(), Mlp((IMAGE_SIZE**2, width, width, CLASSES)))


def cnn(width: int) -> nn.Module:
    """3 x 3 convolutions of `width` and twice as many filters, each halved by a pool, one dense."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * (IMAGE_SIZE // 4) ** 2, CLASSES),
    )


NETWORKS = {"mlp": mlp, "cnn": cnn}
