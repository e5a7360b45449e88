"""Classifier head: a pool, flatten and one dense layer to ten logits, without softmax."""

from __future__ import annotations

from torch import nn

CHANNELS = 32
CLASSES = 10


def average_classifier() -> nn.Module:
    """[batch, 32, 32, 32] -> [batch, 10].

    ::

        x [32,32,32] - average pool 2x2/2 - flatten [8192] - dense -> [10]
    """
    return nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(CHANNELS * 16 * 16, CLASSES))


def global_classifier() -> nn.Module:
    """[batch, 32, 32, 32] -> [batch, 10].

    ::

        x [32,32,32] - global average pool - flatten [32] - dense -> [10]
    """
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, CLASSES))
