"""A run or a check as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from app.analysis.comparison.measured_case import MeasuredCase
from app.present.answer import answers
from app.present.console.check import check_page
from app.present.console.run_summary import full_parts, summarise_run, without_rankings
from app.present.document import Block, Heading, Paragraph, Points
from app.present.markdown import as_markdown
from app.run_folder.files import write_atomically
from app.run_folder.manifest import environments
from app.run_folder.run import Run

RESULTS = "results.md"


def run_page(run: Run, measurements: Sequence[MeasuredCase]) -> Iterator[Block]:
    """Every row, then what a reader has to know."""
    plan, rows = run.manifest.requested_plan, [entry.row for entry in measurements]
    overview = summarise_run(measurements, plan.band)
    run_answers = answers(run)
    if any(answer.replaces_rows for answer in run_answers):
        overview = without_rankings(overview)
    hosts = environments(run.manifest, run.environments, rows)
    machines = " and ".join(
        ", ".join(filter(None, (name, str(host.get("cpu") or "")))) for name, host in hosts.items()
    )
    yield Heading(run.manifest.name, 1)
    yield Points(tuple(chain.from_iterable(answer.sentences() for answer in run_answers)))
    yield from overview.causes
    yield from full_parts(overview, plan.percentiles)
    footer = f"Graphlap {run.manifest.graphlap_version}, {run.manifest.created_at_utc}"
    footer += f", on {machines}" if machines else ""
    yield Paragraph(f"{footer}; run {run.manifest.run_id}", "quiet")


def export_markdown(run: Run, measurements: Sequence[MeasuredCase]) -> tuple[Path, ...]:
    """Write `results.md` into the run folder."""
    path = run.path / RESULTS
    page = check_page if run.manifest.requested_plan.check else run_page
    write_atomically(path, as_markdown(page(run, measurements)).encode())
    return (path,)
