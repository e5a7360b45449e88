"""Cold starts as a table: what a fresh process takes to its first answer, phase by phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.cases.case import Case
from app.cases.cold_start import PHASES, TOTAL, subject_of
from app.cases.column import Row, Value, number_of
from app.present.document import Block, Column, Heading, Paragraph, names, table
from app.results import text
from app.results.labels import labels
from app.results.run import Run
from app.results.together import Together
from app.stats.quantiles import needed_samples

_ROOM_FOR_ALL = 100
"""So many columns there must be for the longest and for the process's own start."""


def cold_tables(run: Run, rows: Sequence[Row], width: int) -> Iterator[Block]:
    """One table of all that was started, the medians by phase; then what gave no answer."""
    subjects: dict[str, Case] = {}
    for case in run.cases:
        if run.cold_starts_of(case):
            subjects.setdefault(subject_of(case).case_id, case)
    if not subjects:
        return
    by_id = {str(row["case_id"]): row for row in rows}
    called = labels(list(subjects.values()))
    started = [by_id[case.case_id] for case in subjects.values()]
    shown = [row for row in started if row["cold_processes"]]
    spare = () if width >= _ROOM_FOR_ALL else _SPARE
    cells = {heading: cell for heading, cell in _CELLS.items() if heading not in spare}
    if shown:
        yield Heading("cold start, medians over fresh processes", 3)
        yield table(
            (*names("case"), *map(Column, cells)),
            [
                (called[str(row["case_id"])], *(cell(row) for cell in cells.values()))
                for row in shown
            ],
            caption=_caption(started),
        )
    together, missing = Together(run.cases), dict[str, list[str]]()
    for row in started:
        if row["cold_missing_reason"]:
            missing.setdefault(str(row["cold_missing_reason"]), []).append(str(row["case_id"]))
    for reason, case_ids in missing.items():
        yield Paragraph(f"no cold start of {together.text(case_ids)}: {reason}")


def _caption(rows: Sequence[Row]) -> str:
    counts = sorted({int(row["cold_processes"]) for row in rows if row["cold_processes"]})
    if not counts:
        return ""
    many = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    caches = dict.fromkeys(str(row["cold_page_cache"]) for row in rows if row["cold_page_cache"])
    said = f"{many} processes each; page cache {', '.join(caches)}"
    if counts[0] < (least := needed_samples(0.5)):
        said += f"; an interval takes {least} processes"
    return said


def _interval(row: Row) -> str:
    low, high = (_us(row[f"cold_{TOTAL}_p50_ci_{end}_ms"]) for end in ("low", "high"))
    return text.interval(low, high)


def _time(phase: str, figure: str = "p50") -> Callable[[Row], str]:
    return lambda row: text.latency(_us(row[f"cold_{phase}_{figure}_ms"]))


def _us(value: Value) -> float | None:
    milliseconds = number_of(value)
    return None if milliseconds is None else milliseconds * 1e3


_CELLS: dict[str, Callable[[Row], str]] = {
    "first answer": _time(TOTAL),
    "95 % interval": _interval,
    "longest": _time(TOTAL, "max"),
    **{phase.replace("first_inference", "first run"): _time(phase) for phase in PHASES},
}
_SPARE = ("longest", "process")
