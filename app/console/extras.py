"""Under the table of a sweep: where searches ended, and the operators that take longest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.results import text
from app.results.labels import case_label, model_labels
from app.results.lines import Operators
from app.results.operators import read_operators
from app.results.plain import printable
from app.results.rows import worst
from app.results.run import Run
from app.results.searches import Search, largest_fit, searches, stopped_by

if TYPE_CHECKING:
    from rich.table import Table

MOST_OPS = 10


def extra_tables(run: Run) -> Iterator[Table]:
    """What the plan asked for beside the rows."""
    if run.manifest.asked.largest_batch:
        yield largest_table(run)
    for case in run.cases:
        line = run.operators.get(case.case_id)
        if line is not None and line.file:
            yield _operator_table(run, case_label(case), line)


def largest_table(run: Run) -> Table:
    """Each search of the run: the largest batch that fits, what stopped it, what was tried."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    limit = run.manifest.asked.memory_limit
    table = Table(
        box=SIMPLE_HEAD,
        title="largest batch",
        title_justify="left",
        caption=f"memory limit of a measuring process: {limit}",
        caption_justify="left",
        pad_edge=False,
    )
    for heading in ("model", "runtime", "largest batch", "stopped by", "tried"):
        table.add_column(heading, overflow="fold")
    found = list(searches(run.manifest.cases))
    labels = model_labels(search.base.model for search in found)
    for search in found:
        table.add_row(labels[search.base.model], search.base.runtime, *_ending(run, search))
    return table


def _ending(run: Run, search: Search) -> tuple[str, str, str]:
    statuses = {
        case_id: decisive.status
        for case_id, rounds in run.rounds.items()
        if (decisive := worst(rounds.values())) is not None
    }
    tried = search.tried(statuses)
    fits = str(largest_fit(tried) or text.NOT_MEASURED)
    return fits, stopped_by(tried), ", ".join(map(str, tried))


def _operator_table(run: Run, label: str, line: Operators) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    times = read_operators(run.path, line)
    slowest = sorted(times.ops, key=lambda op: -op.time_us)[:MOST_OPS]
    how = f"mean of {times.runs} profiled runs"
    if times.clock == "simulated":
        how = "from the simulated schedule"
    table = Table(
        box=SIMPLE_HEAD,
        title=f"operators of {label}",
        title_justify="left",
        caption=f"{len(slowest)} of {len(times.ops)}, {text.latency(times.total_us)} in all, "
        f"{how}; {line.file}",
        caption_justify="left",
        pad_edge=False,
    )
    for heading in ("operator", "node"):
        table.add_column(heading, overflow="fold")
    for heading in ("time", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("in the engine's words", overflow="fold")
    for op in slowest:
        share = op.time_us / times.total_us if times.total_us else 0.0
        kind, node, engine_name = map(printable, (op.op, op.node, op.engine_name))
        table.add_row(kind, node, text.latency(op.time_us), f"{share:.1%}", engine_name)
    return table
