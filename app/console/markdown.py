"""A run or a check as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from app.capabilities.registry import answers
from app.cases.column import Row
from app.comparison.measured_case import MeasuredCase
from app.console.check import check_page
from app.console.row_table import (
    DEFAULT_PERCENTILES,
    all_columns,
    shared_settings,
    shown_percentiles,
    varied_columns,
)
from app.console.run_summary import FASTEST, summarise_run, without_rankings
from app.insights.rules import HEADING
from app.present.markdown import escaped
from app.run_folder.files import write_atomically
from app.run_folder.manifest import environments
from app.run_folder.run import Run

RESULTS = "results.md"


def as_markdown(run: Run, measurements: Sequence[MeasuredCase]) -> Iterator[str]:
    """Its lines. Names are a user's: nothing in one is taken for Markdown or HTML."""
    plan, rows = run.manifest.requested_plan, [entry.row for entry in measurements]
    overview = summarise_run(measurements, plan.band)
    run_answers = answers(run)
    if any(answer.replaces_rows for answer in run_answers):
        overview = without_rankings(overview)
    hosts = environments(run.manifest, run.environments, rows)
    machines = " and ".join(
        ", ".join(filter(None, (name, str(host.get("cpu") or "")))) for name, host in hosts.items()
    )
    yield f"### {escaped(run.manifest.name)}"
    yield ""
    if overview.rows:
        yield from _table(overview.rows, shown_percentiles(plan.percentiles))
        yield ""
    for line in (
        *chain.from_iterable(answer.sentences() for answer in run_answers),
        *(f"{HEADING}: {entry}" for entry in overview.insights),
        *(f"{FASTEST}: {entry}" for entry in overview.fastest),
        *(f"{failure.status}, {failure.sentence}" for failure in overview.causes),
        *overview.warnings,
        *overview.precision,
    ):
        yield f"- {escaped(line)}"
    yield ""
    footer = f"Graphlap {run.manifest.graphlap_version}, {run.manifest.created_at_utc}"
    footer += f", on {machines}" if machines else ""
    yield f"<sub>{escaped(footer)}; run {escaped(run.manifest.run_id)}</sub>"


def export_markdown(run: Run, measurements: Sequence[MeasuredCase]) -> tuple[Path, ...]:
    """Write `results.md` into the run folder."""
    path = run.path / RESULTS
    lines = check_page if run.manifest.requested_plan.check else as_markdown
    write_atomically(path, ("\n".join(lines(run, measurements)) + "\n").encode())
    return (path,)


def _table(rows: Sequence[Row], percentiles: Sequence[str] = DEFAULT_PERCENTILES) -> Iterator[str]:
    columns = all_columns(rows, {}, varied_columns(rows), False, percentiles)
    yield "| " + " | ".join(escaped(column.heading) for column in columns) + " |"
    yield "| " + " | ".join("---:" if column.figure else "---" for column in columns) + " |"
    for row in rows:
        yield "| " + " | ".join(escaped(column.cell(row)) for column in columns) + " |"
    if settings := shared_settings(rows):
        yield ""
        yield f"{escaped(settings[0].upper() + settings[1:])}."
