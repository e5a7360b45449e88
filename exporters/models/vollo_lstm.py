"""The stack of equally wide LSTM layers and a linear layer after it: of VOLLO, and of low latency.

Forms over one set of weights: a streaming step with every layer's hidden and cell state
explicit, a whole sequence from zero state, and a window of which the last output counts. Each
layer is its own `nn.LSTM`, so that each becomes one LSTM node.
"""

from __future__ import annotations

from torch import Tensor, nn


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


class LstmWindow(_Lstm):
    """A window of time steps from zero state: x [N, T, I] to y [N, outputs], after the last one."""

    def forward(self, x: Tensor) -> Tensor:
        for lstm in self.lstms:
            x, _ = lstm(x)
        result: Tensor = self.linear(x[:, -1])
        return result
