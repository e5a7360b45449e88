"""Operators whose outputs are drawn, so that no two engines agree on them."""

from __future__ import annotations

RANDOM = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
"""A seed is not heeded."""
