"""The component that all series of a machine share: what a reboot, a kernel or a neighbour moves.

A run's figures of many cases move together where the machine moved, and one alone moves where its
code did. The shared part is estimated by a median polish (Tukey, Exploratory Data Analysis, 1977):
series level plus run factor plus the rest, both by medians, so that a change of a minority of the
series does not reach the factor.
"""

from __future__ import annotations

import numpy as np

LEAST_SERIES = 3
"""Of two series nobody can tell which one moved."""
_SWEEPS = 10
_HEAVIEST = 2.0
"""A quiet series weighs more than a noisy one, at most so many times the middle weight: the factor
must not become that series."""


def common_factor(logs: np.ndarray) -> np.ndarray | None:
    """Of logarithms [series, runs], NaN where a run lacks a series, the factor [runs] about 0.

    None with fewer than three series. A run with fewer than three has the factor of the run before
    it, since its own is not known.
    """
    present = ~np.isnan(logs)
    if len(logs) < LEAST_SERIES:
        return None
    known = present.sum(axis=0) >= LEAST_SERIES
    if not known.any():
        return None
    factor, weights = np.zeros(logs.shape[1]), np.ones(len(logs))
    for sweep in range(_SWEEPS):
        levels = np.nanmedian(logs - factor, axis=1)
        rest = logs - levels[:, None]
        found = np.array([_weighted_median(rest[:, run], weights) for run in range(len(factor))])
        found[~known] = 0.0
        found = _carried(found, known)
        found -= np.median(found)
        if sweep:
            weights = _weights(rest - found)
        if sweep > 1 and np.allclose(found, factor, rtol=0.0, atol=1e-9):
            break
        factor = found
    return factor


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The middle of the values that are there: the mean of both where two share the middle."""
    there = ~np.isnan(values)
    if not there.any():
        return 0.0
    order = np.argsort(values[there])
    ordered, shares = values[there][order], weights[there][order]
    reached = np.cumsum(shares) / shares.sum()
    low = int(np.searchsorted(reached, 0.5 - 1e-12))
    high = int(np.searchsorted(reached, 0.5 + 1e-12))
    return float((ordered[low] + ordered[min(high, len(ordered) - 1)]) / 2.0)


def _weights(rest: np.ndarray) -> np.ndarray:
    """One over the variance of each series from run to run, which no step of its level moves."""
    steps = np.abs(np.diff(rest, axis=1))
    known = [row[~np.isnan(row)] for row in steps]
    deviations = np.array([np.median(row) if len(row) else 0.0 for row in known])
    positive = deviations[deviations > 0.0]
    if not len(positive):
        return np.ones(len(rest))
    raw = 1.0 / np.maximum(deviations, positive.min()) ** 2
    weights: np.ndarray = np.minimum(raw, _HEAVIEST * np.median(raw))
    return weights


def _carried(factor: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The factor of the run before where a run has none; before the first that has one, of that."""
    places = np.where(known, np.arange(len(factor)), -1)
    places = np.maximum.accumulate(places)
    places[places < 0] = int(np.argmax(known))
    carried: np.ndarray = factor[places]
    return carried
