"""Each model beside its null twin: what the call costs, and what is left for the compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.column import Row, number_of
from app.present.document import Block, Cell, Column, Heading, Paragraph, names, table
from app.results import text
from app.results.labels import labels
from app.results.run import Run
from app.results.together import Together
from app.stats.between import LEAST_ROUNDS
from exporters.twins import is_null

_CAPTION = "compute is the model's median minus its null twin's, from pairs of rounds"


def null_tables(run: Run, rows: Sequence[Row]) -> Iterator[Block]:
    """One table of all models that have a difference, then why others have none."""
    if not run.manifest.asked.null:
        return
    models = [case for case in run.cases if not is_null(case.model)]
    called, by_id = labels(models), {str(row["case_id"]): row for row in rows}
    own = [by_id[case.case_id] for case in models]
    known = [row for row in own if row["compute_p50_us"] is not None]
    if known:
        headings = ("p50", "null p50", "compute", "compute 95 % interval", "of p50")
        yield Heading("model minus null", 3)
        yield table(
            (*names("case"), *map(Column, headings)),
            [_cells(called, row) for row in known],
            caption=_caption(known),
        )
    together, missing = Together(models), dict[str, list[str]]()
    for row in own:
        if row["compute_missing_reason"]:
            missing.setdefault(str(row["compute_missing_reason"]), []).append(str(row["case_id"]))
    for reason, case_ids in missing.items():
        yield Paragraph(f"no compute of {together.text(case_ids)}: {reason}")


def _caption(known: Sequence[Row]) -> str:
    if any(row["compute_p50_ci_low_us"] is None for row in known):
        return f"{_CAPTION}; an interval takes {LEAST_ROUNDS} rounds"
    if any((number_of(row["compute_p50_ci_low_us"]) or 0.0) <= 0.0 for row in known):
        return f"{_CAPTION}; if an interval holds 0, the compute is not detectable"
    return _CAPTION


def _cells(called: dict[str, str], row: Row) -> tuple[Cell | str, ...]:
    p50, null, compute = (
        number_of(row[name]) for name in ("latency_p50_us", "overhead_p50_us", "compute_p50_us")
    )
    low, high = (number_of(row[f"compute_p50_ci_{end}_us"]) for end in ("low", "high"))
    share = f"{compute / p50:.0%}" if compute is not None and p50 else ""
    return (
        called[str(row["case_id"])],
        Cell(text.latency(p50), p50, unit="us"),
        Cell(text.latency(null), null, unit="us"),
        Cell(text.latency(compute), compute, unit="us"),
        text.NOT_MEASURED if low is None or high is None else text.latency_range(low, high),
        Cell(share, compute / p50 if compute is not None and p50 else None),
    )
