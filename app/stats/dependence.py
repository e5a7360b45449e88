"""How many independent samples a tail is worth: exceedances come in clusters.

A machine that is slow for a moment is slow for several runs, so the runs beyond a high
quantile say less than as many independent ones would. Pure functions of latencies in the
order in which they were measured.
"""

from __future__ import annotations

import numpy as np


def extremal_index(latencies: np.ndarray, threshold: float) -> float:
    """The share of independent clusters among the samples above a threshold, in (0, 1].

    The intervals estimator (Ferro & Segers, J. R. Statist. Soc. B 65, 2003, equation 11) over
    the gaps between neighbouring exceedances of one round, its latencies in order of time.
    1 below two exceedances: nothing then speaks against it.
    """
    return clustering(latencies > threshold)


def clustering(beyond: np.ndarray) -> float:
    """The same of who is beyond the threshold, booleans [n]."""
    places = beyond.nonzero()[0]
    if len(places) < 2:
        return 1.0
    gaps = places[1:] - places[:-1]
    # Whole numbers, and three sums of them, so that a run of thousands of cases takes seconds.
    count, total, squares = len(gaps), int(places[-1] - places[0]), int(gaps @ gaps)
    if int(gaps.max()) <= 2:
        return min(1.0, 2.0 * total**2 / (count * squares))
    fewer = total - count
    return min(1.0, 2.0 * fewer**2 / (count * (squares - 3 * total + 2 * count)))
