"""AlexNet in the one-column form of Krizhevsky 2014 (arXiv:1404.5997), as Gluon has it.

Dropout, here and in the other families, is the identity at inference and is left out.
"""

from __future__ import annotations

from torch import nn

from exporters.models.zoo.initial import draw_weights
from exporters.models.zoo.layers import CLASSES


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
        nn.Flatten(),
        nn.Linear(256 * 6 * 6, 4096),
        nn.ReLU(),
        nn.Linear(4096, 4096),
        nn.ReLU(),
        nn.Linear(4096, CLASSES),
    )
    draw_weights(network)
    return network
