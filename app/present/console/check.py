"""The result of a check: a table of models by runtimes with reasons, and a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.plot_data.matrix import matrix, status_text
from app.cases.column import Row
from app.cases.status import STATUSES, TONES, WELL
from app.formatting.text import counted
from app.present.console.run_summary import summarise_run
from app.present.document import (
    Block,
    Cell,
    Column,
    Heading,
    Note,
    Paragraph,
    Points,
    Table,
    names,
    table,
)
from app.run_folder.manifest import environments
from app.run_folder.run import Run

UNAVAILABLE = "unavailable"
NO_FIGURE = "compile_ms of results.csv is no measurement: --cold-start measures compiling"


def check_blocks(measurements: Sequence[MeasuredCase]) -> Iterator[Block]:
    """The matrix, then what there is to know of it. A runtime that is not on this machine has no
    column, only its reason."""
    available = [entry for entry in measurements if entry.row["status"] != UNAVAILABLE]
    if available:
        yield Paragraph("")
        yield _table(available)
    overview = summarise_run(measurements)
    for warning in overview.warnings:
        yield Note("note", warning)
    yield from overview.causes
    if any(measurement.row["status"] in WELL for measurement in measurements):
        yield Paragraph(NO_FIGURE, "quiet")


def summary(rows: Sequence[Row]) -> str:
    """`12 cases: 9 compiles, 3 unsupported`, the best first."""
    counts = Counter(str(row["status"]) for row in rows)
    order = [name for name in reversed(STATUSES) if name in counts]
    parts = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in order)
    return f"{counted(len(rows), 'case')}: {parts}"


def _table(measurements: Sequence[MeasuredCase]) -> Table:
    """A row for each model, a column for each runtime; a place without a case is empty."""
    grid = matrix([entry.case for entry in measurements])
    cells = [[Cell("") for _ in grid.columns] for _ in grid.rows]
    for row in (entry.row for entry in measurements):
        down, across = grid.places[str(row["case_id"])]
        status = str(row["status"])
        cells[down][across] = Cell(status_text(status, row["check_level"]), tone=TONES[status])
    columns = (Column(name, is_name=True, priority=1) for name in grid.columns)
    rows = tuple((Cell(name), *line) for name, line in zip(grid.rows, cells, strict=True))
    return Table((*names("model"), *columns), rows, has_all_columns=True)


_NO_SUITE = "models"


def check_page(run: Run, measurements: Sequence[MeasuredCase]) -> Iterator[Block]:
    """What ran it, a table for each suite of the models, and every reason once."""
    manifest = run.manifest
    rows = [measurement.row for measurement in measurements]
    hosts = environments(manifest, run.environments, rows).values()
    cpus = dict.fromkeys(str(host["cpu"]) for host in hosts if host.get("cpu"))
    yield Heading(f"Will it run there: {manifest.name}", 1)
    yield Paragraph(
        f"Checked {manifest.created_at_utc[:10]} with Graphlap {manifest.graphlap_version} on "
        f"{' and '.join(cpus) or 'an unknown processor'}: compiled for each runtime as far as that "
        f"machine could, and nothing timed. {summary(rows)}."
    )
    versions = ((name, text or "not on this machine") for name, text in _versions(rows).items())
    yield table(names("runtime", "version"), versions)
    available = [entry for entry in measurements if entry.row["status"] != UNAVAILABLE]
    for suite in dict.fromkeys(entry.case.suite for entry in available):
        of_suite = [entry for entry in available if entry.case.suite == suite]
        yield Heading(suite or _NO_SUITE)
        yield _table(of_suite)
    if failures := summarise_run(measurements).causes:
        yield Heading("Why not")
        yield Points(tuple(f"{cause.label}, {cause.text}" for cause in failures))


def _versions(rows: Sequence[Row]) -> dict[str, str]:
    """By runtime the version of its engine, as any of its rows tells it."""
    versions: dict[str, str] = {}
    for row in rows:
        name, version = str(row["runtime"]), str(row["runtime_version"] or "")
        versions[name] = versions.get(name) or version
    return versions
