"""The torch modules behind the graphs of `graphs.py`, in the form that users write them."""

from __future__ import annotations

import torch
from torch import nn

from app.contract.graphs import CHANNELS, OUTPUTS, WORDS, weights

__all__ = ["CHANNELS", "OUTPUTS", "WIDTH", "WORDS", "weights"]

WIDTH = 512


class Product(nn.Module):
    def __init__(self, *shape: int, seed: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.from_numpy(weights(*shape, seed=seed)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.w


class Step(nn.Module):
    """h' = tanh(x w + h u), older' = h, y = h' + older: a history that shifts by one."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.from_numpy(weights(CHANNELS, CHANNELS, seed=1)))
        self.u = nn.Parameter(torch.from_numpy(weights(CHANNELS, CHANNELS, seed=2)))

    def forward(
        self, x: torch.Tensor, h: torch.Tensor, older: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        following = torch.tanh(x @ self.w + h @ self.u)
        return following + older, following, h


class Lookup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.from_numpy(weights(WORDS, CHANNELS, seed=3)))

    def forward(self, ids: torch.Tensor, keep: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.table[ids], torch.logical_not(keep)


def dense() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    product = Product(CHANNELS, OUTPUTS, seed=0)
    return nn.Sequential(product, nn.ReLU()), {"x": torch.zeros(1, CHANNELS)}


def wide() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Product(WIDTH, WIDTH, seed=4), {"x": torch.zeros(1, WIDTH)}


def step() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    state = torch.zeros(1, CHANNELS)
    return Step(), {"x": torch.zeros(1, CHANNELS), "h": state, "older": state.clone()}


def lookup() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    ids = torch.zeros(1, 5, dtype=torch.int64)
    return Lookup(), {"ids": ids, "keep": torch.ones(1, dtype=torch.bool)}


class Branching(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum().item() > 0 else x


class Pictures(nn.Module):
    """Tells by its output how pictures and weights lie."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        last = x.is_contiguous(memory_format=torch.channels_last)
        assert last == self.conv.weight.is_contiguous(memory_format=torch.channels_last)
        return self.conv(x) + (0 if last else 1)


class Found(nn.Module):
    """Gives pictures as they lie, and where they are above zero, which a run finds."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.relu(), x.nonzero()


class ReturnsItsInput(nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.mul_(scale), scale


class ReturnsItsBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(2, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = self.get_buffer("kept")
        kept.copy_(x)
        return kept.mul_(2.0)


class Pure(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sub(0.5)


def branching() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Branching(), {"x": torch.zeros(1, 3, 4)}


def pictures() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Pictures(), {"x": torch.zeros(1, 4, 6, 5)}


def found() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Found(), {"x": torch.zeros(1, 4, 6, 5)}


def returned() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return ReturnsItsInput(), {"x": torch.ones(2, 4), "scale": 2 * torch.ones(2, 4)}


def buffer() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return ReturnsItsBuffer(), {"x": torch.ones(2, 4)}


def pure() -> tuple[nn.Module, dict[str, torch.Tensor]]:
    return Pure(), {"x": torch.ones(2, 4)}
