"""A check as a table of models by runtimes with reasons; a check or a run as a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.ranking import fastest
from app.analysis.plot_data.matrix import matrix, status_text
from app.cases.column import Row
from app.cases.status import INCOMPLETE, STATUSES, TONES, WELL
from app.formatting.case_labels import CaseSet
from app.formatting.text import counted
from app.present.answer import answers
from app.present.console.run_summary import failure_causes, full_parts, warning_texts
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
from app.present.terminal import as_markdown
from app.run_folder.diagnostics import warning_groups
from app.run_folder.files import write_atomically
from app.run_folder.manifest import environments
from app.run_folder.run import Run
from exporters.model_names import is_null

UNAVAILABLE = "unavailable"
NO_FIGURE = "compile_ms of results.csv is no measurement: --cold-start measures compiling"


def check_blocks(measurements: Sequence[MeasuredCase]) -> Iterator[Block]:
    """The matrix, then what there is to know of it. A runtime that is not on this machine has no
    column, only its reason."""
    available = [entry for entry in measurements if entry.row["status"] != UNAVAILABLE]
    if available:
        yield Paragraph("")
        yield _table(available)
    rows = [measurement.row for measurement in measurements]
    case_set = CaseSet([measurement.case for measurement in measurements])
    groups = warning_groups(row for row in rows if row["status"] not in INCOMPLETE)
    for warning in warning_texts(groups, case_set):
        yield Note("note", warning)
    yield from failure_causes(rows, case_set)
    if any(row["status"] in WELL for row in rows):
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
    if failures := failure_causes(rows, CaseSet([entry.case for entry in measurements])):
        yield Heading("Why not")
        yield Points(tuple(f"{cause.label}, {cause.text}" for cause in failures))


def _versions(rows: Sequence[Row]) -> dict[str, str]:
    """By runtime the version of its engine, as any of its rows tells it."""
    versions: dict[str, str] = {}
    for row in rows:
        name, version = str(row["runtime"]), str(row["runtime_version"] or "")
        versions[name] = versions.get(name) or version
    return versions


RESULTS = "results.md"


def run_page(run: Run, measurements: Sequence[MeasuredCase]) -> Iterator[Block]:
    """Every row, then what a reader has to know."""
    plan, rows = run.manifest.requested_plan, [entry.row for entry in measurements]
    run_answers = answers(run)
    ranked = not any(answer.replaces_rows for answer in run_answers)
    models = [entry for entry in measurements if not is_null(entry.case.model)]
    contests = fastest(models, plan.band) if ranked else ()
    hosts = environments(run.manifest, run.environments, rows)
    machines = " and ".join(
        ", ".join(filter(None, (name, str(host.get("cpu") or "")))) for name, host in hosts.items()
    )
    yield Heading(run.manifest.name, 1)
    yield Points(tuple(chain.from_iterable(answer.sentences() for answer in run_answers)))
    yield from failure_causes(rows, CaseSet([entry.case for entry in measurements]))
    yield from full_parts(measurements, plan.percentiles, plan.band, contests, ranked=ranked)
    footer = f"Graphlap {run.manifest.graphlap_version}, {run.manifest.created_at_utc}"
    footer += f", on {machines}" if machines else ""
    yield Paragraph(f"{footer}; run {run.manifest.run_id}", "quiet")


def export_markdown(run: Run, measurements: Sequence[MeasuredCase]) -> tuple[Path, ...]:
    """Write `results.md` into the run folder."""
    path = run.path / RESULTS
    page = check_page if run.manifest.requested_plan.check else run_page
    write_atomically(path, as_markdown(page(run, measurements)).encode())
    return (path,)
