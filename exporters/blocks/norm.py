"""Batch normalisation with drawn statistics.

A fresh norm is close to the identity, and a graph in which an exporter or a runtime folded
it wrongly would still agree with the module. Every norm of ours gets statistics that matter.
"""

from __future__ import annotations

from torch import nn

from exporters.blocks.by_axes import NORMS

_NORM_TYPES = tuple(NORMS.values())


def draw_norms(module: nn.Module) -> None:
    """Draw every batch norm's four vectors from torch's seeded generator.

    Mean and beta U(-0.2, 0.2), variance and gamma U(0.8, 1.2): far enough from 0, 0, 1, 1 to
    show a folding error, near enough to keep a deep stack's scale.
    """
    for norm in module.modules():
        if not isinstance(norm, _NORM_TYPES):
            continue
        assert norm.running_mean is not None
        assert norm.running_var is not None
        norm.running_mean.uniform_(-0.2, 0.2)
        norm.running_var.uniform_(0.8, 1.2)
        if norm.affine:
            nn.init.uniform_(norm.weight, 0.8, 1.2)
            nn.init.uniform_(norm.bias, -0.2, 0.2)


def batch_norm(data_axes: int) -> nn.Module:
    """Normalises the 3 channels of an input with `data_axes` axes beside the batch, 1 to 4."""
    norm = NORMS[data_axes - 1](3)
    draw_norms(norm)
    return norm
