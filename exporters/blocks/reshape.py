"""Reshape alone: the same values in row-major order under another shape."""

from __future__ import annotations

import torch
from torch import nn


class Reshape(nn.Module):
    """[batch, ...] -> [batch, *shape]; the element counts must agree."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], *self.shape)


def reshape(shape: list[int]) -> nn.Module:
    """Every axis but the batch goes into `shape`."""
    return Reshape(tuple(shape))
