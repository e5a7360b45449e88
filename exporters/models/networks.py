"""Networks of the VOLLO tables as torch modules: 1-D CNN, LSTM stack, multilayer perceptron and
character-level CNN.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

VOCABULARY = 70
_CHANNELS = 256
_HIDDEN_SIZE = 1024
_CLASSES = 4


class CharCnn(nn.Module):
    """x [N, 70, 1014], one-hot over dimension 1, to class scores [N, 4]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(VOCABULARY, _CHANNELS, 7),
            nn.LayerNorm([_CHANNELS, 1008], eps=1e-5),
            nn.ReLU(),
            nn.MaxPool1d(3),
            nn.Conv1d(_CHANNELS, _CHANNELS, 7),
            nn.ReLU(),
            nn.MaxPool1d(3),
            nn.Conv1d(_CHANNELS, _CHANNELS, 3),
            nn.ReLU(),
            nn.Conv1d(_CHANNELS, _CHANNELS, 3),
            nn.ReLU(),
            nn.Conv1d(_CHANNELS, _CHANNELS, 3),
            nn.ReLU(),
            nn.Conv1d(_CHANNELS, _CHANNELS, 3),
            nn.LayerNorm([_CHANNELS, 102], eps=1e-5),
            nn.ReLU(),
            nn.MaxPool1d(3),
        )
        self.classifier = nn.Sequential(
            nn.Linear(_CHANNELS * 34, _HIDDEN_SIZE),
            nn.ReLU(),
            nn.Linear(_HIDDEN_SIZE, _HIDDEN_SIZE),
            nn.ReLU(),
            nn.Linear(_HIDDEN_SIZE, _CLASSES),
        )

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.classifier(self.features(x).flatten(1))
        return scores


class Mlp(nn.Module):
    """x [N, widths[0]] to y [N, widths[-1]]."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.linears = nn.ModuleList(
            nn.Linear(in_width, out_width) for in_width, out_width in pairwise(widths)
        )

    def forward(self, x: Tensor) -> Tensor:
        *inner, last = self.linears
        for linear in inner:
            x = torch.relu(linear(x))
        result: Tensor = last(x)
        return result


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


class _Lstm(nn.Module):
    """`layers` LSTMs of `inputs`, else `hidden`, to `hidden` features, then linear to `outputs`."""

    def __init__(self, layers: int, hidden: int, outputs: int, inputs: int | None = None) -> None:
        super().__init__()
        widths = (inputs or hidden, *[hidden] * (layers - 1))
        self.lstms = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        self.linear = nn.Linear(hidden, outputs)


class LstmStep(_Lstm):
    """One time step: x [N, 1, I], then h and c [1, N, H] of each layer in turn.

    Returns y [N, 1, outputs], then every layer's next h and c in the same order.
    """

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        following: list[Tensor] = []
        for lstm, hidden_state, cell in zip(self.lstms, states[::2], states[1::2], strict=True):
            x, state = lstm(x, (hidden_state, cell))
            following.extend(state)
        return self.linear(x), *following


class LstmSequence(_Lstm):
    """All time steps at once: x [N, T, H] to y [N, T, outputs], from zero state."""

    def forward(self, x: Tensor) -> Tensor:
        for lstm in self.lstms:
            x, _ = lstm(x)
        result: Tensor = self.linear(x)
        return result


class LstmWindow(_Lstm):
    """A window of time steps from zero state: x [N, T, I] to y [N, outputs], after the last one."""

    def forward(self, x: Tensor) -> Tensor:
        for lstm in self.lstms:
            x, _ = lstm(x)
        result: Tensor = self.linear(x[:, -1])
        return result
