"""SqueezeNet 1.0 and 1.1 (Iandola et al., arXiv:1602.07360).

The pools round up, so that a window may hang over the edge; the last convolution is
followed by a ReLU, so the logits are never negative.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.models.zoo.initial import draw_weights
from exporters.models.zoo.layers import CLASSES

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

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        expanded = _EXPANSION * squeezed
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.expand1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.cat((torch.relu(self.expand1(x)), torch.relu(self.expand3(x))), dim=1)


def squeezenet(version: str) -> nn.Module:
    """[batch, 3, 224, 224] -> [batch, 1000] logits; `version` is "1.0" or "1.1"."""
    channels, kernel = _FIRST_CONVOLUTION[version]
    layers: list[nn.Module] = [nn.Conv2d(3, channels, kernel, stride=2), nn.ReLU()]
    for squeezed in _FIRES[version]:
        if squeezed is None:
            layers.append(nn.MaxPool2d(3, stride=2, ceil_mode=True))
        else:
            layers.append(Fire(channels, squeezed))
            channels = 2 * _EXPANSION * squeezed
    layers += [nn.Conv2d(channels, CLASSES, 1), nn.ReLU(), nn.AvgPool2d(13), nn.Flatten()]
    network = nn.Sequential(*layers)
    draw_weights(network)
    return network
