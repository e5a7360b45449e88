"""Skip connection: the input beside convolutions of itself, concatenated or added."""

from __future__ import annotations

import torch
from torch import nn

CHANNELS = 32


class SkipConnection(nn.Module):
    """One branch is the input itself, each other a 3x3 convolution with bias and ReLU.

    ::

        x [32,32,32] -+----------------------+
                      +- conv 3x3, 32 - ReLU -+- concat or add -> y
                      +- ... (branches - 1) --+

    Concatenated [32 * branches, 32, 32], added [32, 32, 32].
    """

    def __init__(self, branches: int, merge: str) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1) for _ in range(branches - 1)
        )
        self.concatenates = merge == "concat"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branches = [x, *(torch.relu(convolution(x)) for convolution in self.convolutions)]
        if self.concatenates:
            return torch.cat(branches, dim=1)
        total = branches[0]
        for branch in branches[1:]:
            total = total + branch
        return total


def skip_connection(branches: int, merge: str) -> nn.Module:
    """[batch, 32, 32, 32]; `merge` is "concat" or "add"."""
    return SkipConnection(branches, merge)
