"""A fully connected layer with bias, followed by ReLU."""

from __future__ import annotations

from torch import nn


def dense(inputs: int, neurons: int) -> nn.Module:
    """[batch, inputs] -> [batch, neurons]."""
    return nn.Sequential(nn.Linear(inputs, neurons), nn.ReLU())
