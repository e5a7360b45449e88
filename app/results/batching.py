"""The columns of a batcher: what its rounds' samples tell of the batches that it made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.cases.case import Case
from app.cases.column import Row
from app.stats.batching import collected
from app.stats.quantiles import supported_quantile
from runtimes.execution import Samples


def batcher_columns(case: Case, rounds: Sequence[Samples]) -> Row:
    """Of all rounds' requests together; {} without a batcher or samples."""
    if case.batcher is None:
        return {}
    told = [collected(samples, case.batcher) for samples in rounds]
    held, places, added_ns = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(one, part) for one in told)])
        for part in ("held", "places", "added_ns")
    )
    if not len(held):
        return {}
    added_us = np.sort(added_ns) / 1e3
    return {
        "batch_size_mean": float(held.mean()),
        "batch_fill_fraction": float(held.sum() / places.sum()),
        "batcher_wait_p50_us": supported_quantile(added_us, 0.5),
        "batcher_wait_p99_us": supported_quantile(added_us, 0.99),
    }
