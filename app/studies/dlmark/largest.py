"""The largest batch that each network can run, and the memory that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.present.document import Block, Column, Heading, Paragraph, Table
from app.results import text
from app.results.searches import (
    Search,
    Try,
    largest_fit,
    searches_of,
    stopped_by,
    tries_of,
)
from app.studies.dlmark.cells import MEMORY, at, mib
from app.studies.found import NOT_COME_TO, Found, cell
from app.studies.study import Study


def tables(found: Found) -> Iterator[Block]:
    """A line for each network's search."""
    limit = found.run.manifest.asked.memory_limit
    yield Heading("Largest batch size")
    yield Paragraph(
        f"A measuring process may hold {limit} of the host's memory. The memory that tries held "
        "predicts the next batch. The search ends with a batch that ran and one at most a 32nd "
        "larger that failed."
    )
    columns = (
        Column("model", is_name=True),
        Column("largest batch"),
        Column("its memory (MiB)"),
        Column("what ended it", is_name=True),
        Column("tried", is_name=True),
    )
    tries = tries_of(found.run)
    rows = tuple(_row(found, search, tries) for search in searches_of(found.run))
    yield Table(columns, rows)


def _row(found: Found, search: Search, tries: Sequence[Try]) -> tuple[str, ...]:
    tried, model = search.tried(tries), search.base.model
    if not tried:
        return (model, NOT_COME_TO, "", "", "")
    fits = largest_fit(tried)
    over = search.next_case(tries) is None
    ending = stopped_by(tried) if over else f"not over, {stopped_by(tried)}"
    memory = cell(at(found, model, fits), MEMORY, mib) if fits else ""
    listed = ", ".join(map(str, tried))
    return (model, str(fits or text.NOT_MEASURED), memory, ending, listed)


STUDY = Study(
    name="dlmark/largest",
    title="The largest batch",
    repeats=(
        "The largest batch that runs shows what memory a network really needs, pools of engines or "
        "not. A CPU has no memory of its own, so the limit is one that we set."
    ),
    tables=tables,
)
