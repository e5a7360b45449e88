"""Tables and figures of scenarios and of overhead: batchers, gaps, shapes, long rounds, twins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from app.analysis.columns.load import set_runs, shape_runs
from app.analysis.comparison import measured_case
from app.analysis.plot_data.curves import GapCurve, Idleness
from app.cases.case import Case
from app.cases.column import Row, number_of
from app.cases.dimensions import matching_key
from app.formatting import text
from app.formatting.case_labels import CaseSet, labels
from app.present.document import (
    Block,
    Cell,
    Column,
    Paragraph,
    count_cell,
    latency_cell,
    latency_interval_cell,
    names,
    ratio_cell,
    section,
    share_cell,
)
from app.present.figure import Axis, Figure, Mark, Series
from app.run_folder.run import Run
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.quantiles import supported_quantile
from exporters.model_names import is_null

_LATENCIES = {
    "added p50": "batcher_wait_p50_us",
    "added p99": "batcher_wait_p99_us",
    "p50": "latency_p50_us",
    "p99": "latency_p99_us",
}


def batcher_tables(cases: Sequence[Case], rows: Sequence[Row]) -> Iterator[Block]:
    """One table of all cases with a batcher that were measured; nothing where there is none.

    `rows` are those of `cases`.
    """
    batched_rows = {str(row["case_id"]): row for row in rows if row["batch_size_mean"] is not None}
    if not batched_rows:
        return
    case_labels = labels([case for case in cases if case.case_id in batched_rows])
    columns = (*names("case"), *map(Column, ("batch", "filled", *_LATENCIES)))
    lines: list[tuple[Cell | str, ...]] = [
        (label, *_figures(batched_rows[case_id])) for case_id, label in case_labels.items()
    ]
    caption = "added: how long a request waited while the server was free"
    yield from section("batchers", columns, lines, caption)


def _figures(row: Row) -> Iterator[Cell]:
    yield Cell(f"{row['batch_size_mean']:.2f}", row["batch_size_mean"])
    yield share_cell(number_of(row["batch_fill_fraction"]))
    yield from (latency_cell(number_of(row[column])) for column in _LATENCIES.values())


_SHOWN_PERCENTILES = ("p50", "p99")


def gap_tables(idle_groups: Sequence[Idleness]) -> Iterator[Block]:
    """One for each model and sizes."""
    for idle in idle_groups:
        figures = [Column(name, c.label) for c in idle.curves for name in _SHOWN_PERCENTILES]
        rows = [
            (
                latency_cell(gap_us) if gap_us else Cell("none", 0.0, unit="us"),
                *_cells(idle, gap_us),
            )
            for gap_us in idle.gaps_us
        ]
        heading = f"latency after a pause: {idle.label}"
        yield from section(heading, (Column("pause"), *figures), rows)


def _cells(idle: Idleness, gap_us: float) -> Iterator[Cell]:
    for curve in idle.curves:
        point = next((point for point in curve.points if point.gap_us == gap_us), None)
        yield latency_cell(point.p50_us if point else None)
        yield latency_cell(point.p99_us if point else None)


def gap_figures(idle_groups: Sequence[Idleness]) -> list[Figure]:
    """A figure for each model and sizes; a closed loop has no gap and no place in it."""
    return [
        Figure(
            f"Latency after a pause: {idle.label}",
            Axis("pause before a request", "us", "log"),
            Axis("latency", "us", "log"),
            tuple(_series(idle.curves)),
        )
        for idle in idle_groups
    ]


def _series(curves: Sequence[GapCurve]) -> Iterator[Series]:
    """A line for each percentile of each curve, each percentile with its dashes."""
    for color, curve in enumerate(curves):
        for dash, name in enumerate(_SHOWN_PERCENTILES):
            points = ((p.gap_us, p.p50_us if name == "p50" else p.p99_us) for p in curve.points)
            label = f"{curve.label}, {name}"
            marks = tuple(
                Mark(gap_us, us, f"{label} after {text.latency(gap_us)}: {text.latency(us)}")
                for gap_us, us in points
                if gap_us and us
            )
            if marks:
                yield Series(f"{curve.label} {name}", marks, "line", color, dash)


_FIGURES = ("share", "runs", "first seen", "p50", "p99")


def shape_tables(run: Run) -> Iterator[Block]:
    """One for each case under a condition of shapes."""
    with_shapes = [case for case in run.cases if case.condition.points]
    case_labels = labels(run.cases) if with_shapes else {}
    for case in with_shapes:
        yield from _table(run, case, case_labels[case.case_id])


def _table(run: Run, case: Case, label: str) -> Iterator[Block]:
    shapes = shape_runs(run, case)
    if not shapes:
        return
    rows: list[tuple[Cell | str, ...]] = [
        (
            shape.sizes.replace("=", " ").replace(",", " "),
            share_cell(shape.share, 1),
            count_cell(len(shape.seen_us)),
            _range(shape.first_us),
            *(latency_cell(supported_quantile(shape.seen_us, q)) for q in (0.5, 0.99)),
        )
        for shape in shapes
    ]
    columns = (*names("shape"), *map(Column, _FIGURES))
    yield from section(f"latency by shape: {label}", columns, rows)


def set_tables(run: Run) -> Iterator[Block]:
    """One for each case that was fed several sets of the user's inputs: which of them is slow."""
    sets = {case.case_id: set_runs(run, case) for case in run.cases if case.given.more_inputs}
    case_labels = labels(run.cases) if sets else {}
    for case_id, runs in sets.items():
        if not runs:
            continue
        rows: list[tuple[Cell | str, ...]] = [
            (
                item.name,
                count_cell(len(item.latency_us)),
                *map(latency_cell, (item.p50_us, item.p99_us)),
            )
            for item in runs
        ]
        columns = (*names("set"), *map(Column, ("runs", "p50", "p99")))
        yield from section(f"latency by set of inputs: {case_labels[case_id]}", columns, rows)


def _range(first_us: Sequence[float] | np.ndarray) -> Cell:
    """From the shortest to the longest of so few runs, and of how many."""
    if not len(first_us):
        return Cell(text.NOT_MEASURED)
    ends_us = float(first_us[0]), float(first_us[-1])
    low, high = map(text.latency, ends_us)
    range_text = f"{low if low == high else f'{low} to {high}'} ({len(first_us)})"
    return Cell(range_text, unit="us", low=ends_us[0], high=ends_us[1])


_NAMES = ("case", "runtime", "")
_SUSTAINED_TABLE_FIGURES = ("first", "last", "ratio", "slower after", "clock (MHz)")


def sustained_tables(rows: Sequence[Row]) -> Iterator[Block]:
    """One, where any case was sustained."""
    sustained_rows = [row for row in rows if row["sustained_window"] is not None]
    if not sustained_rows:
        return
    windows = dict.fromkeys(str(row["sustained_window"]) for row in sustained_rows)
    keys = [matching_key(row) for row in sustained_rows]
    labels_by_key = measured_case.names(keys)
    cells: list[tuple[Cell | str, ...]] = []
    for key, row in zip(keys, sustained_rows, strict=True):
        p50 = ("p50", *_latency_cells(row, "p50"), _slowdown(row), _clocks(row))
        cells.append((labels_by_key[key], measured_case.runtime_label(row), *p50))
        cells.append(("", "", "p99", *_latency_cells(row, "p99"), "", ""))
    columns = (*names(*_NAMES), *map(Column, _SUSTAINED_TABLE_FIGURES))
    yield from section(f"sustained: {' | '.join(windows)}", columns, cells)


def _latency_cells(row: Row, name: str) -> tuple[Cell, Cell, Cell]:
    first, last = (number_of(row[f"sustained_{place}_{name}_us"]) for place in ("first", "last"))
    ratio = number_of(row[f"sustained_{name}_ratio"])
    return latency_cell(first), latency_cell(last), ratio_cell(ratio)


def _slowdown(row: Row) -> Cell:
    after_s = number_of(row["sustained_slowdown_after_s"])
    return Cell("stayed" if after_s is None else text.duration(after_s), after_s, unit="s")


def _clocks(row: Row) -> Cell:
    first, last = (number_of(row[f"sustained_{place}_clock_mhz"]) for place in ("first", "last"))
    if first is None or last is None:
        return Cell(text.NOT_MEASURED)
    return Cell(f"{first:.0f} to {last:.0f}", unit="MHz", low=first, high=last)


_CAPTION = "compute is the model's median minus its null twin's, from pairs of rounds"


def null_tables(run: Run, rows: Sequence[Row]) -> Iterator[Block]:
    """One table of all models that have a difference, then why others have none."""
    if not run.manifest.requested_plan.null:
        return
    models = [case for case in run.cases if not is_null(case.model)]
    case_labels, by_id = labels(models), {str(row["case_id"]): row for row in rows}
    model_rows = [by_id[case.case_id] for case in models]
    computed_rows = [row for row in model_rows if row["compute_p50_us"] is not None]
    if computed_rows:
        headings = ("p50", "null p50", "compute", "compute 95 % interval", "of p50")
        cells = [_overhead_cells(case_labels, row) for row in computed_rows]
        columns = (*names("case"), *map(Column, headings))
        yield from section("model minus null", columns, cells, _null_caption(computed_rows))
    reasons = ((row["case_id"], row["compute_missing_reason"]) for row in model_rows)
    for sentence in CaseSet(models).by_reason(reasons):
        yield Paragraph(f"no compute of {sentence}")


def _null_caption(computed_rows: Sequence[Row]) -> str:
    if any(row["compute_p50_ci_low_us"] is None for row in computed_rows):
        return f"{_CAPTION}; an interval takes {MINIMUM_ROUNDS} rounds"
    if any((number_of(row["compute_p50_ci_low_us"]) or 0.0) <= 0.0 for row in computed_rows):
        return f"{_CAPTION}; if an interval holds 0, the compute is not detectable"
    return _CAPTION


def _overhead_cells(case_labels: dict[str, str], row: Row) -> tuple[Cell | str, ...]:
    p50, null, compute = (
        number_of(row[name]) for name in ("latency_p50_us", "overhead_p50_us", "compute_p50_us")
    )
    low, high = (number_of(row[f"compute_p50_ci_{end}_us"]) for end in ("low", "high"))
    return (
        case_labels[str(row["case_id"])],
        latency_cell(p50),
        latency_cell(null),
        latency_cell(compute),
        latency_interval_cell(low, high),
        share_cell(compute / p50 if compute is not None and p50 else None),
    )
