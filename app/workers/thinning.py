"""Which runs of a sustained round are kept: as many as a folder holds, drawn evenly over time."""

from __future__ import annotations

import math

import numpy as np

from app.cases.condition import Condition
from app.cases.round import WARMUP

MOST_KEPT = 4_000_000
"""Of a round: 128 MB. At a run each microsecond half an hour would be 58 GB."""


def kept_per_s(condition: Condition) -> float:
    """How many runs of each second are kept; infinite where no round is that long."""
    return MOST_KEPT / condition.seconds if condition.kind == "sustained" else math.inf


def thinned(records: np.ndarray, per_s: float) -> np.ndarray:
    """Of a block's records [n] those that are kept, in their order; warm-up runs go first."""
    lasted_s = float(records["finished_ns"].max() - records["started_ns"].min()) * 1e-9
    most = max(1.0, per_s * lasted_s)
    if len(records) <= most:
        return records
    counted = np.flatnonzero(records["phase"] != WARMUP)
    # Every k-th would follow whatever repeats, such as inputs that are fed in turn.
    rng = np.random.default_rng(int(records["started_ns"][0]))
    drawn = rng.choice(counted, min(int(most), len(counted)), replace=False)
    return records[np.sort(drawn)]
