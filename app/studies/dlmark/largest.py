"""The largest batch that each network can run, and the memory that it takes."""

from __future__ import annotations

from collections.abc import Iterator

from app.present.document import Block, Column, Heading, Paragraph, Table
from app.results import text
from app.results.ended import worst
from app.results.searches import Search, largest_fit, searches, stopped_by
from app.studies.dlmark.cells import MEMORY, at, mib
from app.studies.found import NOT_COME_TO, Found, cell
from app.studies.study import Study


def tables(found: Found) -> Iterator[Block]:
    """A line for each network's search."""
    limit = found.run.manifest.asked.memory_limit
    yield Heading("Largest batch size")
    yield Paragraph(
        f"A measuring process may hold {limit} of the host's memory. The batch is doubled until "
        "one fails, and then the gap is halved until it is within a 32nd."
    )
    columns = (
        Column("model", is_name=True),
        Column("largest batch"),
        Column("its memory (MiB)"),
        Column("what ended it", is_name=True),
        Column("tried", is_name=True),
    )
    rows = tuple(_row(found, search) for search in searches(found.run.manifest.cases))
    yield Table(columns, rows)


def _row(found: Found, search: Search) -> tuple[str, ...]:
    statuses = {
        case_id: decisive.status
        for case_id, rounds in found.run.rounds.items()
        if (decisive := worst(rounds.values())) is not None and decisive.status != "cancelled"
    }
    tried, model = search.tried(statuses), search.base.model
    if not tried:
        return (model, NOT_COME_TO, "", "", "")
    fits = largest_fit(tried)
    over = search.next_case(statuses) is None
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
