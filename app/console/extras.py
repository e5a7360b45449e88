"""What the plan asked for beside the rows: ends of searches, null twins, operators and more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.console.batchers import batcher_tables
from app.console.cold_start import cold_tables
from app.console.gap_table import gap_tables
from app.console.hosts_together import together_tables
from app.console.null import null_tables
from app.console.operators import operator_tables
from app.console.scaling import scaling_tables
from app.console.shape_table import shape_tables
from app.console.sustained_table import sustained_tables
from app.present.document import Block, Heading, names, table
from app.results import text
from app.results.gap_curves import idleness
from app.results.hosts_together import HostsTogether
from app.results.labels import model_labels
from app.results.run import Run
from app.results.searches import (
    Search,
    Try,
    largest_fit,
    searches_of,
    stopped_by,
    tries_of,
)


def extra_tables(
    run: Run,
    rows: Sequence[Row],
    width: int,
    together: Sequence[HostsTogether] = (),
) -> Iterator[Block]:
    """One after the other, laid out for so many columns; `together` is what several hosts serve."""
    if run.manifest.asked.largest_batch:
        yield from largest_tables(run)
    yield from null_tables(run, rows)
    yield from scaling_tables(run.cases, rows, run.manifest.asked)
    yield from together_tables(together)
    yield from batcher_tables(run.cases, rows)
    yield from cold_tables(run, rows, width)
    yield from operator_tables(run, rows, width)
    yield from gap_tables(idleness(rows))
    yield from sustained_tables(rows)
    yield from shape_tables(run)


def largest_tables(run: Run) -> Iterator[Block]:
    """Each search of the run: the largest batch that fits, what stopped it, what was tried."""
    limit = run.manifest.asked.memory_limit
    device = run.manifest.asked.device_memory_limit
    of_device = f", of a GPU's: {device}" if device else ""
    found, tries = searches_of(run), tries_of(run)
    labels = model_labels(search.base.model for search in found)
    yield Heading("largest batch", 3)
    yield table(
        names("model", "runtime", "largest batch", "stopped by", "tried"),
        [
            (labels[search.base.model], search.base.runtime, *_ending(search, tries))
            for search in found
        ],
        caption=f"limit of a measuring process, of the host's memory: {limit}{of_device}",
    )


def _ending(search: Search, tries: Sequence[Try]) -> tuple[str, str, str]:
    """Why the next one failed is told with the causes, at the end."""
    tried = search.tried(tries)
    fits = str(largest_fit(tried) or text.NOT_MEASURED)
    ended = search.next_case(tries) is None
    by = stopped_by(tried) if ended else "not searched to the end: resume the run"
    return fits, by, ", ".join(map(str, tried))
