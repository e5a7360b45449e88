"""The table of a run with batchers: what each made of the requests that came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.console.tables import simple_table
from app.results import text
from app.results.labels import labels

if TYPE_CHECKING:
    from rich.console import RenderableType

_LATENCIES = {
    "added p50": "batcher_wait_p50_us",
    "added p99": "batcher_wait_p99_us",
    "p50": "latency_p50_us",
    "p99": "latency_p99_us",
}


def batcher_table(cases: Sequence[Case], rows: Sequence[Row]) -> Iterator[RenderableType]:
    """One table of all cases with a batcher that were measured; nothing where there is none.

    `rows` are those of `cases`.
    """
    told = {str(row["case_id"]): row for row in rows if row["batch_mean"] is not None}
    if not told:
        return
    table = simple_table("batchers", "added: how long a request waited while the server was free")
    table.add_column("case", overflow="fold", min_width=16)
    for heading in ("batch", "filled", *_LATENCIES):
        table.add_column(heading, justify="right")
    for case_id, label in labels([case for case in cases if case.case_id in told]).items():
        row = told[case_id]
        table.add_row(
            label,
            f"{row['batch_mean']:.2f}",
            f"{row['batch_filled']:.0%}",
            *(text.latency(number_of(row[column])) for column in _LATENCIES.values()),
        )
    yield table
