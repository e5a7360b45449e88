"""Each shape that one session served: its first runs and the later ones, as a table for a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from app.cases.case import Case
from app.console.tables import simple_table
from app.results import text
from app.results.labels import labels
from app.results.plain import printable
from app.results.run import Run
from app.results.shapes import shape_runs
from app.stats.quantiles import supported_quantile

if TYPE_CHECKING:
    from rich.table import Table

_HEADINGS = ("shape", "share", "runs", "first seen", "p50", "p99")


def shape_tables(run: Run) -> Iterator[Table]:
    """One for each case under a condition of shapes."""
    with_shapes = [case for case in run.cases if case.condition.points]
    called = labels(run.cases) if with_shapes else {}
    for case in with_shapes:
        yield from _table(run, case, called[case.case_id])


def _table(run: Run, case: Case, label: str) -> Iterator[Table]:
    found = shape_runs(run, case)
    if not found:
        return
    table = simple_table(f"latency by shape: {printable(label)}", edge=False)
    for place, heading in enumerate(_HEADINGS):
        table.add_column(heading, justify="right" if place else "left", overflow="fold")
    for one in found:
        table.add_row(
            printable(one.sizes.replace("=", " ").replace(",", " ")),
            f"{one.share:.1%}",
            text.count(len(one.seen_us)),
            _range(one.first_us),
            *(text.latency(supported_quantile(one.seen_us, q)) for q in (0.5, 0.99)),
        )
    yield table


def _range(first_us: Sequence[float] | np.ndarray) -> str:
    """From the shortest to the longest of so few runs, and of how many."""
    if not len(first_us):
        return text.NOT_MEASURED
    low, high = text.latency(float(first_us[0])), text.latency(float(first_us[-1]))
    return f"{low if low == high else f'{low} to {high}'} ({len(first_us)})"
