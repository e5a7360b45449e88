"""A multilayer perceptron: linear layers with ReLU between them, none after the last."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class Mlp(nn.Module):
    """x [N, widths[0]] to y [N, widths[-1]]."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))

    def forward(self, x: Tensor) -> Tensor:
        *inner, last = self.linears
        for linear in inner:
            x = torch.relu(linear(x))
        result: Tensor = last(x)
        return result
