"""Seeded weights under which a deep network keeps its scale and still sees its input.

PyTorch's own draw halves and halves again the signal of a network without norms, until the
biases decide every output and a comparison of outputs says nothing.
"""

from __future__ import annotations

import torch
from torch import nn

from exporters.blocks.norm import draw_norms

_BIAS_BOUND = 0.05


def draw_weights(network: nn.Module) -> None:
    """Draw all weights, biases and norms from torch's seeded generator.

    Weights are uniform with variance 2 / fan-in (He et al. 2015), which keeps the second
    moment through a layer and its ReLU, and each filter that mixes channels sums to zero:
    what all inputs share after a ReLU, its mean, would else drown what tells them apart.
    """
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            if isinstance(layer, nn.Linear) or layer.groups == 1:
                _centre_filters(layer.weight)
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -_BIAS_BOUND, _BIAS_BOUND)
    draw_norms(network)


def _centre_filters(weight: torch.Tensor) -> None:
    """Subtract each filter's mean, summed in double so that the order does not show."""
    axes = tuple(range(1, weight.dim()))
    with torch.no_grad():
        weight.sub_(weight.mean(axes, keepdim=True, dtype=torch.float64).float())


def damp(branch: nn.Sequential, factor: float) -> None:
    """Scale the last layer of a residual branch, so that fifty additions don't explode."""
    weight = branch[-1].weight
    assert isinstance(weight, nn.Parameter)
    with torch.no_grad():
        weight.mul_(factor)
