"""How many independent samples a tail is worth: exceedances come in clusters.

A machine that is slow for a moment is slow for several runs, so the runs beyond a high quantile say
less than as many independent ones would. Pure functions of latencies in the order in which they
were measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.stats.distributions import chi_square_quantile

_SCALES = (40, 20)
"""Blocks of a round: long enough to hold most clusters, and enough of them for a variance."""
_LONG_SCALES = (10, 5)
"""Blocks that hold longer spells. So few vary by chance alone, hence they count only where their
variance is larger than independent runs give in 95 of 100 cases."""


def independent_runs(beyond: Sequence[np.ndarray], indices: Sequence[float] = ()) -> list[float]:
    """As how many independent runs each round counts towards a tail's share, at most its length.

    `beyond` says for each run of each round, in order of time, whether it lies in the tail, boolean
    [n]. Two estimates of how much the number of exceedances varies, the less favourable is used:
    from the sizes of the clusters within the round, and from the numbers in blocks of all rounds,
    which sees what is slow for so long that it falls into several clusters. `indices` are the
    rounds' extremal indices, where they are known.
    """
    places = [one.nonzero()[0] for one in beyond]
    lengths = [len(one) for one in beyond]
    overdispersion = _overdispersion(places, lengths)
    parts = zip(places, indices or map(_index_of, places), lengths, strict=True)
    return [
        length * min(_cluster_share(own, index), 1.0 / overdispersion)
        for own, index, length in parts
    ]


def extremal_index(beyond: np.ndarray) -> float:
    """The share of independent clusters among exceedances, boolean [n], in (0, 1].

    The intervals estimator (Ferro & Segers, J. R. Statist. Soc. B 65, 2003, equation 11) over the
    gaps between neighbouring exceedances of one round. Exceedances that all follow each other are
    one cluster. 1 below two exceedances: nothing then speaks against it.
    """
    return _index_of(beyond.nonzero()[0])


def _index_of(places: np.ndarray) -> float:
    """The extremal index of exceedances at these places."""
    if len(places) < 2:
        return 1.0
    gaps = places[1:] - places[:-1]
    if int(gaps.max()) <= 2:
        return 1.0 / len(places)
    # Whole numbers, and three sums of them, so that a run of thousands of cases takes seconds.
    count, total, squares = len(gaps), int(places[-1] - places[0]), int(gaps @ gaps)
    fewer = total - count
    return min(1.0, 2.0 * fewer**2 / (count * (squares - 3 * total + 2 * count)))


def _cluster_share(places: np.ndarray, index: float) -> float:
    """The sum of the clusters' sizes over the sum of their squares, of exceedances at `places`.

    Clusters that come independently make the number of exceedances vary by the sum of the squares
    of their sizes, independent runs by the sum of the sizes. The extremal `index` says how many
    clusters there are; the widest gaps separate them (Ferro & Segers, section 4).
    """
    if len(places) < 2:
        return 1.0
    clusters = min(len(places), int(index * len(places)) + 1)
    gaps = places[1:] - places[:-1]
    widest = np.sort(np.argsort(gaps, kind="stable")[len(gaps) - (clusters - 1) :])
    edges = np.empty(len(widest) + 2, np.int64)
    edges[0], edges[1:-1], edges[-1] = 0, widest + 1, len(places)
    sizes = edges[1:] - edges[:-1]
    return len(places) / int(sizes @ sizes)


def _overdispersion(places: Sequence[np.ndarray], lengths: Sequence[int]) -> float:
    """The variance of the numbers of exceedances in a round's blocks over their mean, at least 1.

    Independent runs give 1 for a rare event (a Poisson distribution). All rounds together, since
    one has too few exceedances for a variance; the largest of several lengths of blocks, since a
    spell that is longer than a block makes whole blocks slow.
    """
    largest = max(1.0, *(_dispersion(places, lengths, blocks) for blocks in _SCALES))
    for blocks in _LONG_SCALES:
        dispersion, freedom = _dispersion(places, lengths, blocks), len(places) * (blocks - 1)
        if dispersion * freedom > chi_square_quantile(freedom, 0.95):
            largest = max(largest, dispersion)
    return largest


def _dispersion(places: Sequence[np.ndarray], lengths: Sequence[int], blocks: int) -> float:
    """The same for one number of blocks in a round, 1 where there are no exceedances.

    The runs after the last whole block are left out.
    """
    within: list[np.ndarray] = []
    for own, runs in zip(places, lengths, strict=True):
        length = runs // blocks
        if length:
            # The blocks of all rounds are counted at once.
            block = own[: own.searchsorted(length * blocks)] // length
            within.append(block + len(within) * blocks)
    if not within:
        return 1.0
    counts = np.bincount(np.concatenate(within), minlength=len(within) * blocks)
    squares = expected = 0.0
    for own in counts.reshape(len(within), blocks):
        total = int(own.sum())
        squares += int(own @ own) - total * total / blocks
        expected += (blocks - 1) * total / blocks
    return squares / expected if expected else 1.0
