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
    gaps = np.diff(np.flatnonzero(latencies > threshold)).astype(float)
    if not len(gaps):
        return 1.0
    if gaps.max() <= 2:
        ratio = 2.0 * gaps.sum() ** 2 / (len(gaps) * (gaps**2).sum())
    else:
        ratio = 2.0 * (gaps - 1).sum() ** 2 / (len(gaps) * ((gaps - 1) * (gaps - 2)).sum())
    return min(1.0, float(ratio))
