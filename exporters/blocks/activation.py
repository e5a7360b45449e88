"""One element-wise activation and nothing else, so that its cost stands alone."""

from __future__ import annotations

from torch import nn

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    "relu6": nn.ReLU6,
    "tanh": nn.Tanh,
}


def activation(kind: str) -> nn.Module:
    """Any shape in, the same shape out."""
    return _ACTIVATIONS[kind]()
