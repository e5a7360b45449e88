"""A lower limit for the spread of a comparison, from the other comparisons of the same figure.

Where processes are in one of few modes, the pairs of a comparison with few rounds may all have the
same two modes. They then spread hardly at all, however far the modes are apart, and with many
comparisons this happens to some of them. How far pairs spread in the other comparisons shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.stats.verdict import Difference

LEAST_COMPARISONS = 3
"""Fewer comparisons of a figure have no typical spread."""


def with_least_spread(
    differences: Sequence[Difference | None], figures: Sequence[str]
) -> list[Difference | None]:
    """The same differences; those in turn spread as if one more pair had the typical variance.

    `figures` names the figure that each is of: a p99 spreads more than a p50. With the variance v
    of a comparison's pairs, its degrees of freedom f and the median V of the variances of all
    comparisons of the figure, the variance becomes (f v + V) / (f + 1) where that is larger. The
    degrees of freedom stay, so that an interval never becomes narrower.
    """
    typical = {figure: _typical(differences, figures, figure) for figure in set(figures)}
    known = zip(differences, figures, strict=True)
    return [_raised(d, typical[figure]) for d, figure in known]


def _typical(
    differences: Sequence[Difference | None], figures: Sequence[str], figure: str
) -> float:
    known = zip(differences, figures, strict=True)
    variances = [_variance(d) for d, of in known if d is not None and d.in_turn and of == figure]
    return float(np.median(variances)) if len(variances) >= LEAST_COMPARISONS else 0.0


def _variance(d: Difference) -> float:
    """Of a pair: a comparison in turn has one degree of freedom fewer than pairs."""
    return d.error**2 * (d.freedom + 1.0)


def _raised(d: Difference | None, typical: float) -> Difference | None:
    if d is None or not d.in_turn:
        return d
    own = _variance(d)
    variance = max(own, (d.freedom * own + typical) / (d.freedom + 1.0))
    return replace(d, error=math.sqrt(variance / (d.freedom + 1.0)))
