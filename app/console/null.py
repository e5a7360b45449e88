"""Each model beside its null twin: what the call costs, and what is left for the compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.cases.column import Row, number_of
from app.console.tables import simple_table
from app.results import text
from app.results.labels import labels
from app.results.plain import printable
from app.results.run import Run
from app.results.together import Together
from app.stats.between import LEAST_ROUNDS
from exporters.twins import is_null

if TYPE_CHECKING:
    from rich.console import RenderableType

_CAPTION = "compute is the model's median minus its null twin's, from pairs of rounds"


def null_tables(run: Run, rows: Sequence[Row]) -> Iterator[RenderableType]:
    """One table of all models that have a difference, then why others have none."""
    from rich.text import Text

    if not run.manifest.asked.null:
        return
    models = [case for case in run.cases if not is_null(case.model)]
    names, by_id = labels(models), {str(row["case_id"]): row for row in rows}
    told = [by_id[case.case_id] for case in models]
    table = simple_table("model minus null", _caption(told))
    table.add_column("case", overflow="fold")
    for heading in ("p50", "null p50", "compute", "compute 95 % interval", "of p50"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in told:
        if row["compute_p50_us"] is not None:
            table.add_row(*(Text(printable(cell)) for cell in _cells(names, row)))
    if table.row_count:
        yield table
    together, missing = Together(models), dict[str, list[str]]()
    for row in told:
        if row["compute_absent"]:
            missing.setdefault(str(row["compute_absent"]), []).append(str(row["case_id"]))
    for reason, case_ids in missing.items():
        yield Text(printable(f"no compute of {together.text(case_ids)}: {reason}"))


def _caption(rows: Sequence[Row]) -> str:
    known = [row for row in rows if row["compute_p50_us"] is not None]
    if any(row["compute_p50_ci_low_us"] is None for row in known):
        return f"{_CAPTION}; an interval takes {LEAST_ROUNDS} rounds"
    if any((number_of(row["compute_p50_ci_low_us"]) or 0.0) <= 0.0 for row in known):
        return f"{_CAPTION}; an interval that holds 0 tells no compute from none"
    return _CAPTION


def _cells(names: dict[str, str], row: Row) -> tuple[str, ...]:
    p50, null, compute = (
        number_of(row[name]) for name in ("latency_p50_us", "null_p50_us", "compute_p50_us")
    )
    low, high = (number_of(row[f"compute_p50_ci_{end}_us"]) for end in ("low", "high"))
    share = f"{compute / p50:.0%}" if compute is not None and p50 else ""
    return (
        names[str(row["case_id"])],
        text.latency(p50),
        text.latency(null),
        text.latency(compute),
        text.NOT_MEASURED if low is None or high is None else text.latency_range(low, high),
        share,
    )
