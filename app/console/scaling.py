"""What several replicas serve together, as a table: each beside what it is alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.plan.plan import Plan
from app.plan.replicas import SHARED_WORK
from app.present.document import Block, Cell, Column, Heading, Paragraph, names, table
from app.results import text
from app.results.labels import labels
from app.results.together import Together
from app.stats.between import LEAST_ROUNDS

_CAPTION = "efficiency is the speedup over the replicas, from pairs of rounds"


def scaling_tables(cases: Sequence[Case], rows: Sequence[Row], asked: Plan) -> Iterator[Block]:
    """One table of all cases that were measured alone too; where work is shared, as --replicas
    does, then why some have no efficiency. Nothing of a search over options, which varies sessions
    by itself."""
    if asked.tune:
        return
    several = [row for row in rows if row["scaling_baseline_case_id"]]
    bases = {str(row["scaling_baseline_case_id"]) for row in several}
    shown = [row for row in rows if row["scaling_efficiency"] or str(row["case_id"]) in bases]
    called = labels([case for case in cases if case.case_id in {str(r["case_id"]) for r in shown}])
    if any(row["scaling_efficiency"] for row in shown):
        headings = ("replicas", "inputs/s", "speedup", "efficiency", "efficiency 95 %")
        yield Heading("scaling", 3)
        yield table(
            (*names("case"), *map(Column, headings)),
            [_cells(called, row) for row in shown],
            caption=_caption(shown),
        )
    if not any(sweep.replicas or SHARED_WORK in sweep.scenarios for sweep in asked.sweeps):
        return
    together, missing = Together(cases), dict[str, list[str]]()
    for row in several:
        if row["scaling_missing_reason"]:
            missing.setdefault(str(row["scaling_missing_reason"]), []).append(str(row["case_id"]))
    for reason, case_ids in missing.items():
        yield Paragraph(f"no efficiency of {together.text(case_ids)}: {reason}")


def _caption(rows: Sequence[Row]) -> str:
    several = [row for row in rows if row["scaling_efficiency"]]
    if any(row["scaling_efficiency_ci_low"] is None for row in several):
        return f"{_CAPTION}; an interval takes {LEAST_ROUNDS} rounds"
    return _CAPTION


def _between(low: float, high: float) -> str:
    return text.TOO_NOISY if text.is_too_noisy(low, high) else f"{low:.0%} to {high:.0%}"


def _cells(called: dict[str, str], row: Row) -> tuple[Cell | str, ...]:
    replicas, rate, speedup, efficiency, low, high = (
        number_of(row[name])
        for name in (
            "replicas",
            "throughput_per_s",
            "speedup",
            "scaling_efficiency",
            "scaling_efficiency_ci_low",
            "scaling_efficiency_ci_high",
        )
    )
    between = "" if low is None or high is None else _between(low, high)
    return (
        called[str(row["case_id"])],
        Cell(f"{replicas or 1:g}", replicas or 1),
        Cell(text.rate_text(rate), rate, unit="per_s"),
        Cell("" if speedup is None else text.significant(speedup), speedup),
        Cell("" if efficiency is None else f"{efficiency:.0%}", efficiency),
        between,
    )
