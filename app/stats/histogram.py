"""A fixed logarithmic grid of latency bins, to which samples are only ever added.

The live views and the running percentiles of a round use it: adding 5,000 samples takes
tens of microseconds and no sample has to be kept. Values from it are good to half a bin
(1.2 %) and are shown as provisional; finished rounds are summarised from raw samples.
"""

from __future__ import annotations

import numpy as np

BINS_PER_DECADE = 100
LOWEST_S, DECADES = 1e-7, 9
BINS = BINS_PER_DECADE * DECADES

EDGES_S: np.ndarray = LOWEST_S * 10.0 ** (np.arange(BINS + 1) / BINS_PER_DECADE)
"""The bin edges in seconds [BINS + 1], from 100 ns to 100 s."""


class Histogram:
    """Counts [BINS] of latencies; those outside the grid fall into its first or last bin."""

    def __init__(self) -> None:
        self.counts = np.zeros(BINS, dtype=np.int64)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def add(self, latency_ns: np.ndarray) -> None:
        """Add integer nanoseconds [n]."""
        if len(latency_ns) == 0:
            return
        seconds = np.maximum(latency_ns, 1) * 1e-9
        bins = np.floor(np.log10(seconds / LOWEST_S) * BINS_PER_DECADE).astype(np.int64)
        self.counts += np.bincount(np.clip(bins, 0, BINS - 1), minlength=BINS)

    def quantile_s(self, quantile: float) -> float | None:
        """The geometric middle of the bin that holds the quantile; None while empty."""
        total = self.total
        if total == 0:
            return None
        rank = max(1, int(np.ceil(quantile * total)))
        found = int(np.searchsorted(np.cumsum(self.counts), rank))
        return float(np.sqrt(EDGES_S[found] * EDGES_S[found + 1]))
