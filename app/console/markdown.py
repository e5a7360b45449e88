"""A run as Markdown, for a pull request: a table of its rows, what is fastest, what to doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.capabilities.slo_search.answer import rates_found, sentence
from app.capabilities.tuning.answer import tunes_found
from app.cases.column import Row
from app.comparison.measured_case import Measured
from app.console.check import check_page
from app.console.row_table import SHOWN, all_columns, shown_percentiles, varied_and_common
from app.console.run_summary import FASTEST, said, without_winners
from app.insights.rules import HEADING
from app.plan.command import graphlap_line
from app.present.markdown import escaped
from app.run_folder.files import write_atomically
from app.run_folder.hosts import environments
from app.run_folder.run import Run

RESULTS = "results.md"


def as_markdown(run: Run, measured: Sequence[Measured]) -> Iterator[str]:
    """Its lines. Names are a user's: nothing in one is taken for Markdown or HTML."""
    asked, rows = run.manifest.asked, [one.row for one in measured]
    told = said(measured, asked.band)
    if asked.goal is not None:
        told = without_winners(told)
    hosts = environments(run.manifest, run.environments, rows)
    where = " and ".join(
        ", ".join(filter(None, (name, str(host.get("cpu") or "")))) for name, host in hosts.items()
    )
    yield f"### {escaped(run.manifest.name)}"
    yield ""
    if told.begun:
        yield from _table(told.begun, shown_percentiles(asked.percentiles))
        yield ""
    for line in (
        *_found(run),
        *(f"{HEADING}: {one}" for one in told.noticed),
        *(f"{FASTEST}: {one}" for one in told.fastest),
        *(f"{why.status}, {why.sentence}" for why in told.causes),
        *told.doubts,
        *told.sure,
    ):
        yield f"- {escaped(line)}"
    yield ""
    made = f"Graphlap {run.manifest.graphlap_version}, {run.manifest.created_at_utc}"
    made += f", on {where}" if where else ""
    yield f"<sub>{escaped(made)}; run {escaped(run.manifest.run_id)}</sub>"


def _found(run: Run) -> Iterator[str]:
    """What searches over options and for a rate came to."""
    tunes, rates = tunes_found(run), rates_found(run)
    for _, answer in tunes.searches if tunes is not None else ():
        yield from answer.sentences
    if rates is not None:
        for name, searched in rates.searches:
            yield sentence(name, searched, rates.target)
        if not all(searched.over for _, searched in rates.searches):
            yield f"to continue: {graphlap_line(*rates.resume)}"


def export_markdown(run: Run, measured: Sequence[Measured]) -> tuple[Path, ...]:
    """Write `results.md` into the run folder."""
    path = run.path / RESULTS
    lines = check_page if run.manifest.asked.check else as_markdown
    write_atomically(path, ("\n".join(lines(run, measured)) + "\n").encode())
    return (path,)


def _table(rows: Sequence[Row], percentiles: Sequence[str] = SHOWN) -> Iterator[str]:
    varied, common = varied_and_common(rows)
    columns = all_columns(rows, {}, varied, False, percentiles)
    yield "| " + " | ".join(escaped(column.heading) for column in columns) + " |"
    yield "| " + " | ".join("---:" if column.figure else "---" for column in columns) + " |"
    for row in rows:
        yield "| " + " | ".join(escaped(column.cell(row)) for column in columns) + " |"
    if common:
        yield ""
        yield f"Every measured row: {escaped(', '.join(common))}."
