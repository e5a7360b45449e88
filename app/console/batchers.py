"""The table of a run with batchers: what each made of the requests that came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.present.document import Block, Column, Heading, names, table
from app.results import text
from app.results.labels import labels

_LATENCIES = {
    "added p50": "batcher_wait_p50_us",
    "added p99": "batcher_wait_p99_us",
    "p50": "latency_p50_us",
    "p99": "latency_p99_us",
}


def batcher_tables(cases: Sequence[Case], rows: Sequence[Row]) -> Iterator[Block]:
    """One table of all cases with a batcher that were measured; nothing where there is none.

    `rows` are those of `cases`.
    """
    batched = {str(row["case_id"]): row for row in rows if row["batch_size_mean"] is not None}
    if not batched:
        return
    called = labels([case for case in cases if case.case_id in batched])
    yield Heading("batchers", 3)
    yield table(
        (*names("case"), *map(Column, ("batch", "filled", *_LATENCIES))),
        [(label, *_figures(batched[case_id])) for case_id, label in called.items()],
        caption="added: how long a request waited while the server was free",
    )


def _figures(row: Row) -> Iterator[str]:
    yield f"{row['batch_size_mean']:.2f}"
    yield f"{row['batch_fill_fraction']:.0%}"
    yield from (text.latency(number_of(row[column])) for column in _LATENCIES.values())
