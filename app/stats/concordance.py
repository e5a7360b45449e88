"""Whether several cases were slow in the same passes: then the machine moved, not the processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from app.stats.intervals import beta_quantile

LEAST_ROUNDS = 5
"""Of fewer passes the orders of two cases often agree by chance."""
_LEVEL = 0.99


@dataclass(frozen=True, slots=True)
class Concordance:
    """Kendall's coefficient of concordance: 1 where all cases order the passes alike, 1 over their
    number where they do so by chance. `is_significant`: independent cases reach it in one run of a
    hundred."""

    coefficient: float
    is_significant: bool


def concordance(figures: Sequence[ArrayLike]) -> Concordance | None:
    """Of each case's figures in the same passes; None with fewer than two cases or five passes.

    With m cases and n passes the coefficient of independent cases follows a beta law with
    a = (n - 1 - 2 / m) / 2 and b = (m - 1) a, corrected for the steps of ranks (M. G. Kendall and
    B. Babington Smith, Ann. Math. Statist. 10, 1939).
    """
    values = np.array(figures, float)
    if values.ndim != 2 or len(values) < 2 or values.shape[1] < LEAST_ROUNDS:
        return None
    cases, passes = values.shape
    sums = np.sum([_ranks(row) for row in values], axis=0)
    squares = float(np.square(sums - sums.mean()).sum())
    most = cases**2 * (passes**3 - passes) / 12.0
    first = (passes - 1 - 2.0 / cases) / 2.0
    limit = beta_quantile(first, (cases - 1) * first, _LEVEL)
    return Concordance(squares / most, (squares - 1.0) / (most + 2.0) > limit)


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 0; equal values, as those of a coarse clock, share the middle of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: np.ndarray = np.cumsum(counts) - (counts + 1) / 2.0
    return middle[place]
