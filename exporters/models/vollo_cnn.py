"""The VOLLO 1-D CNN: causal convolutions, each with ReLU and a residual connection.

Two forms over one set of weights: a streaming step that keeps the last inputs of every
layer as explicit state, and a whole sequence padded with zeros on the left.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class _Cnn(nn.Module):
    """`layers` convolutions of `channels` to `channels` over `kernel_size` time steps."""

    def __init__(self, layers: int, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.history = kernel_size - 1
        self.convolutions = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel_size) for _ in range(layers)
        )


class CnnStep(_Cnn):
    """One time step: x [N, C, 1] and a state [N, C, k-1] a layer, oldest input first.

    Returns y [N, C, 1], then every layer's next state in the same order.
    """

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        following = []
        for convolution, state in zip(self.convolutions, states, strict=True):
            window = torch.cat((state, x), dim=2)
            following.append(window[:, :, 1:])
            x = torch.relu(convolution(window)) + x
        return x, *following


class CnnSequence(_Cnn):
    """All time steps at once: x [N, C, T] to y [N, C, T]; time before the first is zero."""

    def forward(self, x: Tensor) -> Tensor:
        for convolution in self.convolutions:
            x = torch.relu(convolution(F.pad(x, (self.history, 0)))) + x
        return x
