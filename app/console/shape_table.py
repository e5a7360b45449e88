"""Each shape that one session served: its first runs and the later ones, as a table for a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from app.cases.case import Case
from app.present.document import Block, Column, Heading, names, table
from app.results import text
from app.results.labels import labels
from app.results.run import Run
from app.results.shapes import shape_runs
from app.stats.quantiles import supported_quantile

_FIGURES = ("share", "runs", "first seen", "p50", "p99")


def shape_tables(run: Run) -> Iterator[Block]:
    """One for each case under a condition of shapes."""
    with_shapes = [case for case in run.cases if case.condition.points]
    called = labels(run.cases) if with_shapes else {}
    for case in with_shapes:
        yield from _table(run, case, called[case.case_id])


def _table(run: Run, case: Case, label: str) -> Iterator[Block]:
    found = shape_runs(run, case)
    if not found:
        return
    rows = [
        (
            one.sizes.replace("=", " ").replace(",", " "),
            f"{one.share:.1%}",
            text.count(len(one.seen_us)),
            _range(one.first_us),
            *(text.latency(supported_quantile(one.seen_us, q)) for q in (0.5, 0.99)),
        )
        for one in found
    ]
    yield Heading(f"latency by shape: {label}", 3)
    yield table((*names("shape"), *map(Column, _FIGURES)), rows)


def _range(first_us: Sequence[float] | np.ndarray) -> str:
    """From the shortest to the longest of so few runs, and of how many."""
    if not len(first_us):
        return text.NOT_MEASURED
    low, high = text.latency(float(first_us[0])), text.latency(float(first_us[-1]))
    return f"{low if low == high else f'{low} to {high}'} ({len(first_us)})"
