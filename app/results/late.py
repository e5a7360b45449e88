"""A case's samples -> the columns of what was later than the deadline that a plan asks about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.cases.column import Row
from app.stats.late import later_than
from runtimes.execution import Samples


def late_columns(deadline_us: float | None, rounds: Sequence[Samples], confidence: float) -> Row:
    """Of timed rounds; nothing where no deadline was asked for."""
    timed = [samples for samples in rounds if len(samples.started_ns)]
    if deadline_us is None or not timed:
        return {}
    in_time = [one.latency_ns[np.argsort(one.started_ns, kind="stable")] / 1e3 for one in timed]
    late = later_than(deadline_us, in_time, confidence)
    values: Row = {
        "deadline_us": deadline_us,
        "deadline_misses": late.runs,
        "deadline_miss_rate": late.share,
        "deadline_ci_missing_reason": late.absent or None,
    }
    if late.interval is not None:
        values["deadline_miss_rate_ci_low"] = late.interval.low
        values["deadline_miss_rate_ci_high"] = late.interval.high
    return values
