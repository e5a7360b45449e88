"""Rows as a few processes would give them, drawn at random about a median that is known."""

from __future__ import annotations

import numpy as np

from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import Row
from app.stats.intervals import interval_between, typical

EQUAL = tuple(
    Case("mlp", runtime, precision=precision, threads=threads)
    for runtime in ("ort-cpu", "openvino-cpu", "torch-cpu")
    for precision in ("fp32", "int8")
    for threads in (1, 2)
)
"""Twelve cases, for rows of which nothing may be said."""


def drawn_row(case: Case, truth_us: float, spread: float, rng: np.random.Generator) -> MeasuredCase:
    """A row as four processes give it whose medians differ by so much, with their interval."""
    medians = truth_us * np.exp(spread * rng.standard_normal(4))
    interval = interval_between(medians)
    assert interval is not None
    row: Row = {
        "status": "ok", "model": case.model, "runtime": case.runtime, "precision": case.precision,
        "threads": case.threads, "clock": "wall", "batch_size": case.axes.get("batch"),
        "axes": str(case.axes.get("batch")), "rounds": 4, "latency_p50_us": typical(medians),
        "latency_p50_ci_low_us": interval.low, "latency_p50_ci_high_us": interval.high,
    }  # fmt: skip
    return MeasuredCase(case, row, None)
