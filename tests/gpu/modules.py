"""The torch modules behind the graphs of `models.py`, with example inputs."""

from __future__ import annotations

import torch
from torch import nn

from app.contract.graphs import weights
from tests.gpu.models import DEVICE_SIZES, SMALL_WIDTH, chain_weights


class Chain(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.from_numpy(chain_weights(width)))
        self.layers = layers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(self.layers):
            x = x @ self.w
        return x


def chain() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    sizes = DEVICE_SIZES
    return Chain(sizes.width, sizes.layers), {"x": torch.zeros(sizes.rows, sizes.width)}


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.from_numpy(weights(SMALL_WIDTH, SMALL_WIDTH)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.w


def small() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Small(), {"x": torch.zeros(1, SMALL_WIDTH)}


def relu() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return nn.ReLU(), {"x": torch.zeros(1, DEVICE_SIZES.copied_width)}
