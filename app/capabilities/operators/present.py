"""The operators that take longest, what they reach of the machine's peak, and side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.cases.column import Row, number_of
from app.cases.jobs import Operator, OperatorTimes
from app.formatting import text
from app.formatting.case_labels import CaseSet, case_label, model_labels
from app.present.document import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    amount_cell,
    latency_cell,
    names,
    share_cell,
    table,
)
from app.run_folder.journal import Operators
from app.run_folder.operators import OperatorComparison, compare_operators, read_operators
from app.run_folder.run import Run

MAXIMUM_OPS = 10
_MAXIMUM_NODES = 4
_ROOM_FOR_WORDS = 120
"""So many columns there must be for the engine's own words to be shown too."""


def operator_tables(run: Run, rows: Sequence[Row], width: int) -> Iterator[Block]:
    """A table for each case that has operator times, then what holds for several."""
    if not run.operators:
        return
    models = model_labels(case.model for case in run.cases)
    p50s_us = {str(row["case_id"]): row["latency_p50_us"] for row in rows}
    methods: dict[str, None] = {}
    for case in run.cases:
        line = run.operators.get(case.case_id)
        if line is None or not line.file:
            continue
        times = read_operators(run.path, line)
        plain_us = number_of(p50s_us.get(case.case_id))
        yield from _table(f"operators of {case_label(case, models)}", times, line, plain_us, width)
        if times.peak is not None:
            methods[times.peak.how] = None
    for comparison in compare_operators(run):
        yield from _comparison_table(comparison)
    for method in methods:
        yield Paragraph(
            f"peak: the machine's own, by {method}; a node above it found more in its caches"
        )
    reasons = ((case_id, line.reason) for case_id, line in run.operators.items() if not line.file)
    for sentence in CaseSet(run.cases).by_reason(reasons):
        yield Paragraph(f"no operator times of {sentence}")


def _table(
    title: str, times: OperatorTimes, line: Operators, plain_us: float | None, width: int
) -> Iterator[Block]:
    slowest = sorted(times.ops, key=lambda op: -op.time_us)[:MAXIMUM_OPS]
    total_us = times.total_us
    figures: dict[str, Callable[[Operator], Cell]] = {
        "time": lambda op: latency_cell(op.time_us),
        "share": lambda op: share_cell(op.time_us / total_us if total_us else None, 1),
        "MACs": lambda op: amount_cell(op.macs),
        "moved": lambda op: amount_cell(op.bytes_moved, "B"),
        "of peak": lambda op: share_cell(op.peak_share),
        "memory": lambda op: amount_cell(op.peak_bytes, "B"),
        "waiting": lambda op: latency_cell(op.pool_wait_us) if op.pool_wait_us else Cell(""),
    }
    visible = {name: [cell(op) for op in slowest] for name, cell in figures.items()}
    visible = {name: cells for name, cells in visible.items() if any(cell.text for cell in cells)}
    room = width >= _ROOM_FOR_WORDS
    columns = [*names("operator", "nodes of the file"), *map(Column, visible)]
    rows: list[tuple[Cell | str, ...]] = [
        (
            op.op,
            _nodes(op.holds) or op.node,
            *(column[number] for column in visible.values()),
            *([op.engine_name] if room else []),
        )
        for number, op in enumerate(slowest)
    ]
    yield Heading(title, 3)
    yield table(
        [*columns, *(names("in the engine's words") if room else ())],
        rows,
        caption=_caption(times, line, plain_us, len(slowest)),
    )


def _caption(times: OperatorTimes, line: Operators, plain_us: float | None, count: int) -> str:
    source = f"medians of {text.counted(times.runs, 'profiled run')}"
    if times.clock == "simulated":
        source = "from the simulated schedule"
    parts = [f"{count} of {len(times.ops)}, {text.latency(times.total_us)} in all, {source}"]
    if times.run_us and plain_us:
        slower = text.significant(times.run_us / plain_us)
        parts.append(
            f"a profiled run takes {text.latency(times.run_us)}, {slower} times the p50 of "
            f"{text.latency(plain_us)}"
        )
    if (peak := times.peak) is not None:
        parts.append(
            f"peak {text.rate_text(peak.flops_per_s, 'FLOP')}, and "
            f"{text.rate_text(peak.bytes_per_s, 'B')} with {peak.in_use_bytes / 2**20:.3g} MiB "
            "in use"
        )
    if (highest := times.high_water) is not None:
        parts.append(
            f"most memory in use {text.amount(highest.peak_bytes or 0, 'B')}, at "
            f"{_nodes(highest.holds) or highest.node}"
        )
    return "; ".join([*parts, line.file])


def _comparison_table(comparison: OperatorComparison) -> Iterator[Block]:
    slowest = sorted(comparison.shared, key=lambda group: -max(t or 0.0 for t in group.times_us))
    rows: list[tuple[Cell | str, ...]] = [
        (_nodes(group.nodes), *map(latency_cell, group.times_us)) for group in slowest[:MAXIMUM_OPS]
    ]
    rest_times = [group.times_us for group in slowest[MAXIMUM_OPS:]]
    rest = [sum(times[k] or 0.0 for times in rest_times) for k, _ in enumerate(comparison.names)]
    for label, times in (("other nodes", rest), ("of no node of the file", comparison.own_us)):
        if any(times):
            rows.append((label, *(latency_cell(time_us or None) for time_us in times)))
    clock = text.CLOCK_TEXT[comparison.clock]
    yield Heading(f"{comparison.label}: nodes of the file side by side, {clock}", 3)
    yield table(
        (*names("nodes of the file"), *map(Column, comparison.names)),
        rows,
        caption=f"{min(MAXIMUM_OPS, len(slowest))} of {text.counted(len(slowest), 'group')} "
        "of nodes; "
        f"{text.NOT_MEASURED} where an engine has no such node or does not report it",
    )


def _nodes(names: Sequence[str]) -> str:
    """The first few of them; the table of the case has all."""
    return text.first_of(names, _MAXIMUM_NODES, " + ")
