"""A case whose session serves several shapes: their first runs against the later ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import FIRST_SEEN, MEASURED, RoundResult, latency_ns
from app.results.run import SAMPLES, Run, read_records
from app.stats.quantiles import supported_quantile
from exporters.types import axes_key


@dataclass(frozen=True, slots=True)
class ShapeRuns:
    """One shape's runs of all rounds, in microseconds ascending: `first_us` [rounds at most] and
    `seen_us` [n]. `ratios` [rounds at most] are each first run over the median of the later ones
    of its process; `share` is how much of all later runs these are."""

    sizes: str
    first_us: np.ndarray
    seen_us: np.ndarray
    ratios: tuple[float, ...]
    share: float


def shape_runs(run: Run, case: Case) -> tuple[ShapeRuns, ...]:
    """Of each shape in the order of its file; () for a case of one shape, or without samples."""
    timed = [result for result in run.rounds_of(case) if result.samples]
    if not case.condition.points or not timed:
        return ()
    rounds = [read_records(run.path / SAMPLES / result.samples) for result in timed]
    seen_of_all = sum(int(np.count_nonzero(own["phase"] == MEASURED)) for own in rounds)
    return tuple(
        _of_shape(number, axes_key(point), rounds, seen_of_all)
        for number, point in enumerate(case.condition.points)
    )


def _of_shape(number: int, sizes: str, rounds: Sequence[np.ndarray], seen_of_all: int) -> ShapeRuns:
    own = [records[records["lane"] == number] for records in rounds]
    first = [_us(records[records["phase"] == FIRST_SEEN]) for records in own]
    seen = [_us(records[records["phase"] == MEASURED]) for records in own]
    together = np.sort(np.concatenate(seen))
    return ShapeRuns(
        sizes,
        np.sort(np.concatenate(first)),
        together,
        tuple(_ratios(first, seen)),
        len(together) / max(seen_of_all, 1),
    )


def _us(records: np.ndarray) -> np.ndarray:
    return latency_ns(records) / 1e3


def _ratios(first: Sequence[np.ndarray], seen: Sequence[np.ndarray]) -> Iterator[float]:
    for one, others in zip(first, seen, strict=True):
        if len(one) and len(others):
            yield float(one[0] / np.median(others))


def shape_columns(run: Run, case: Case, rounds: Sequence[RoundResult]) -> Row:
    """Of all shapes together; {} for a case of one, or without samples."""
    found = shape_runs(run, case)
    if not found:
        return {}
    first = np.sort(np.concatenate([one.first_us for one in found]))
    ratios = [ratio for one in found for ratio in one.ratios]
    named = "\n".join(str(result.facts["shapes_sha256"]) for result in rounds)
    return {
        "shapes": len(found),
        "shapes_sha256": hashlib.sha256(named.encode()).hexdigest(),
        "first_runs": len(first),
        "first_run_p50_us": supported_quantile(first, 0.5),
        "first_run_p99_us": supported_quantile(first, 0.99),
        "first_run_slowdown": float(np.median(ratios)) if ratios else None,
    }
