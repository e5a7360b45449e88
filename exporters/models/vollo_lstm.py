"""The VOLLO LSTM: a stack of equally wide LSTM layers and a linear layer after it.

Two forms over one set of weights: a streaming step with every layer's hidden and cell
state explicit, and a whole sequence from zero state. Each layer is its own `nn.LSTM`, so
that each becomes one LSTM node.
"""

from __future__ import annotations

from torch import Tensor, nn


class _Lstm(nn.Module):
    """`layers` LSTMs of `hidden` to `hidden` features, then linear to `outputs`."""

    def __init__(self, layers: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.lstms = nn.ModuleList(nn.LSTM(hidden, hidden, batch_first=True) for _ in range(layers))
        self.linear = nn.Linear(hidden, outputs)


class LstmStep(_Lstm):
    """One time step: x [N, 1, H], then h and c [1, N, H] of each layer in turn.

    Returns y [N, 1, outputs], then every layer's next h and c in the same order.
    """

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        following: list[Tensor] = []
        for lstm, hidden, cell in zip(self.lstms, states[::2], states[1::2], strict=True):
            x, state = lstm(x, (hidden, cell))
            following.extend(state)
        return self.linear(x), *following


class LstmSequence(_Lstm):
    """All time steps at once: x [N, T, H] to y [N, T, outputs], from zero state."""

    def forward(self, x: Tensor) -> Tensor:
        for lstm in self.lstms:
            x, _ = lstm(x)
        result: Tensor = self.linear(x)
        return result
