"""The result of a check: a table of models by runtimes with reasons, and a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.cases.status import STATUSES, TONES, WELL
from app.comparison.measured_case import MeasuredCase
from app.console.run_summary import summarise_run
from app.formatting.text import counted
from app.plot_data.matrix import Matrix, matrix, status_text
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
from app.present.terminal import GAP, NAME_WIDTH, width_of_text
from app.run_folder.manifest import environments
from app.run_folder.run import Run

UNAVAILABLE = "unavailable"
NO_FIGURE = "compile_ms of results.csv is no measurement: --cold-start measures compiling"


def check_blocks(measurements: Sequence[MeasuredCase], width: int) -> Iterator[Block]:
    """The matrix in tables of at most so many columns, one below another. A runtime that is not on
    this machine has no column, only its reason."""
    available = [
        measurement for measurement in measurements if measurement.row["status"] != UNAVAILABLE
    ]
    if available:
        yield Paragraph("")
        yield from _tables(
            matrix([measurement.case for measurement in available]),
            [measurement.row for measurement in available],
            width,
        )
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


def matrix_words(grid: Matrix, rows: Sequence[Row]) -> list[list[str]]:
    """The matrix's words by row and column, empty where there is no case."""
    cells = [[""] * len(grid.columns) for _ in grid.rows]
    for row in rows:
        down, column = grid.places[str(row["case_id"])]
        cells[down][column] = status_text(str(row["status"]), row["check_level"])
    return cells


def _tables(grid: Matrix, rows: Sequence[Row], width: int) -> Iterator[Table]:
    """One below another where not all runtimes have room beside each other."""
    cells = matrix_words(grid, rows)
    tones = {grid.places[str(row["case_id"])]: TONES[str(row["status"])] for row in rows}
    widths = [
        max(width_of_text(name), *(len(row_cells[index]) for row_cells in cells))
        for index, name in enumerate(grid.columns)
    ]
    remaining = list(range(len(grid.columns)))
    names_width = min(NAME_WIDTH, max(map(width_of_text, grid.rows)))
    while remaining:
        room = width - names_width
        part: list[int] = []
        while remaining and (not part or widths[remaining[0]] + GAP <= room):
            room -= widths[remaining[0]] + GAP
            part.append(remaining.pop(0))
        yield Table(
            (*names("model"), *(Column(grid.columns[index], is_name=True) for index in part)),
            tuple(
                (
                    name,
                    *(Cell(row_cells[index], tone=tones.get((down, index), "")) for index in part),
                )
                for down, (name, row_cells) in enumerate(zip(grid.rows, cells, strict=True))
            ),
        )


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
        grid = matrix([entry.case for entry in of_suite])
        words = matrix_words(grid, [entry.row for entry in of_suite])
        lines = ((name, *cells) for name, cells in zip(grid.rows, words, strict=True))
        yield Heading(suite or _NO_SUITE)
        yield table(names("model", *grid.columns), lines)
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
