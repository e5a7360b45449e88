"""The character-level CNN: six convolutions over a text of one-hot characters, three dense.

The first and the last convolution are followed by a norm over channel and length together,
as in the structure published with the character-level CNN optimisation history.
"""

from __future__ import annotations

from torch import Tensor, nn

VOCABULARY = 70
_CHANNELS = 256
_HIDDEN = 1024
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
            nn.Linear(_CHANNELS * 34, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _HIDDEN),
            nn.ReLU(),
            nn.Linear(_HIDDEN, _CLASSES),
        )

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.classifier(self.features(x).flatten(1))
        return scores
