"""Torch's layer types by the number of space axes, so that one builder serves 1-D to 3-D."""

from __future__ import annotations

from torch import nn

CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
NORMS = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
AVERAGE_POOLS = {1: nn.AvgPool1d, 2: nn.AvgPool2d}
MAX_POOLS = {1: nn.MaxPool1d, 2: nn.MaxPool2d}
CONSTANT_PADS: dict[int, type[nn.Module]] = {
    1: nn.ConstantPad1d,
    2: nn.ConstantPad2d,
    3: nn.ConstantPad3d,
}
REFLECTION_PADS: dict[int, type[nn.Module]] = {1: nn.ReflectionPad1d, 2: nn.ReflectionPad2d}
