"""Tables of cold starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.cases.case import Case
from app.cases.column import Row, Value, number_of
from app.cases.jobs import PHASES, ColdStart, cold_start_subject_of
from app.formatting import text
from app.formatting.case_labels import CaseSet, labels
from app.present.document import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    latency_cell,
    latency_interval_cell,
    names,
    table,
)
from app.run_folder.run import Run
from app.stats.quantiles import needed_samples


def cold_tables(run: Run, rows: Sequence[Row], _width: int) -> Iterator[Block]:
    """One table of all that was started, the medians by phase; then what gave no answer."""
    subjects: dict[str, Case] = {}
    for case in run.cases:
        if run.results_of(ColdStart, case):
            subjects.setdefault(cold_start_subject_of(case).case_id, case)
    if not subjects:
        return
    by_id = {str(row["case_id"]): row for row in rows}
    case_labels = labels(list(subjects.values()))
    cold_rows = [by_id[case.case_id] for case in subjects.values()]
    visible_rows = [row for row in cold_rows if row["cold_processes"]]
    if visible_rows:
        yield Heading("cold start, medians over fresh processes", 3)
        yield table(
            (
                *names("case"),
                *(Column(heading, priority=_PRIORITIES.get(heading, 0)) for heading in _CELLS),
            ),
            [
                (case_labels[str(row["case_id"])], *(cell(row) for cell in _CELLS.values()))
                for row in visible_rows
            ],
            caption=_caption(cold_rows),
        )
    reasons = ((row["case_id"], row["cold_missing_reason"]) for row in cold_rows)
    for sentence in CaseSet(run.cases).by_reason(reasons):
        yield Paragraph(f"no cold start of {sentence}")


def _caption(rows: Sequence[Row]) -> str:
    counts = sorted({int(row["cold_processes"]) for row in rows if row["cold_processes"]})
    if not counts:
        return ""
    fewest = f"{counts[0]} to " if counts[0] < counts[-1] else ""
    caches = dict.fromkeys(str(row["cold_page_cache"]) for row in rows if row["cold_page_cache"])
    most = text.counted(counts[-1], "process")
    caption = f"{fewest}{most} each; page cache {', '.join(caches)}"
    if counts[0] < (minimum := needed_samples(0.5)):
        caption += f"; an interval takes {minimum} processes"
    return caption


def _interval(row: Row) -> Cell:
    low, high = (_as_us(row[f"cold_total_p50_ci_{end}_ms"]) for end in ("low", "high"))
    return latency_interval_cell(low, high)


def _time(phase: str, figure: str = "p50") -> Callable[[Row], Cell]:
    return lambda row: latency_cell(_as_us(row[f"cold_{phase}_{figure}_ms"]))


def _as_us(value: Value) -> float | None:
    milliseconds = number_of(value)
    return None if milliseconds is None else milliseconds * 1e3


_CELLS: dict[str, Callable[[Row], Cell]] = {
    "first answer": _time("total"),
    "95 % interval": _interval,
    "longest": _time("total", "max"),
    **{phase.replace("first_inference", "first run"): _time(phase) for phase in PHASES},
}


_PRIORITIES = {"longest": 2, "95 % interval": 1}
"""What a narrow terminal loses: never a part of the first answer."""
