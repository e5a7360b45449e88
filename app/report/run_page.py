"""A run as a document for a page: the question and its answer first, then how sure it is, then the
evidence, and last every row and where it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.cases.imported import is_imported
from app.console.answer.document import findings
from app.console.answer.ended import EndedRun, ended_run
from app.console.answer.headline import trust_line
from app.console.answer.issues import cause_notes, warning_paragraph
from app.console.comparing import Comparing
from app.console.row_columns import shown_percentiles
from app.console.row_table import row_table
from app.console.said import Said, said, without_winners
from app.console.spread_advice import spread_advice
from app.present.document import Block, Details, Heading, Note, Paragraph, Points
from app.report.asked_for import answer, more_results
from app.report.evidence import evidence
from app.report.question import question, title
from app.report.where import where
from app.results.hosts import environments
from app.results.measured import Measured
from app.results.plans_together import differing
from app.results.verify import Whole


def run_page(found: Whole, measured: Sequence[Measured], called: str) -> Iterator[Block]:
    """The page of one run; `called` is its folder's name where there are several."""
    run, manifest = found.run, found.run.manifest
    ended = ended_run(run, measured, Comparing().of(run, measured))
    hosts = environments(manifest, run.environments, ended.rows)
    heading = title(ended, hosts)
    yield Heading(f"{heading}: {called}" if called else heading, 1)
    yield Paragraph(
        f"{manifest.name}, {manifest.created_at_utc[:16].replace('T', ' ')} UTC, run "
        f"{manifest.run_id}, Graphlap {manifest.graphlap_version}",
        "quiet",
    )
    yield Heading("Question")
    yield Paragraph(question(ended))
    yield Heading("Answer")
    yield from answer(ended)
    listed = said(measured, manifest.asked.band)
    if manifest.asked.goal is not None:
        listed = without_winners(listed)
    yield from _confidence(ended, listed)
    yield from _findings(ended, listed)
    yield from _problems(ended, found.left_out)
    yield from _merged(list(differing(manifest.merged)))
    yield from evidence(run, measured, ended.together)
    yield from more_results(ended)
    yield from _rows(ended, listed)
    if not any(is_imported(one.case.runtime) for one in measured):
        yield from _where(found, hosts)


def _confidence(ended: EndedRun, listed: Said) -> Iterator[Block]:
    blocks: list[Block] = [Paragraph(trust)] if (trust := trust_line(ended)) else []
    blocks += warning_paragraph(ended)
    if advice := spread_advice(ended.run, ended.measured):
        blocks.append(Paragraph(advice))
    if listed.sure:
        blocks.append(Points(listed.sure))
    if listed.fastest:
        blocks.append(Details("Every comparison with its interval", (Points(listed.fastest),), 3))
    if listed.doubts:
        notes = (Note(f"({number})", doubt) for number, doubt in enumerate(listed.doubts, 1))
        blocks.append(Details("Every warning with its cases", tuple(notes), 3))
    if blocks:
        yield Heading("Confidence")
        yield from blocks


def _findings(ended: EndedRun, listed: Said) -> Iterator[Block]:
    brief = findings(ended)
    if brief:
        yield Heading("Findings")
        yield Points(brief)
    if listed.noticed:
        yield Details("Every finding", (Points(listed.noticed),), 3)


def _problems(ended: EndedRun, damaged: Sequence[str]) -> Iterator[Block]:
    """Why cases have no figures, and what of the run is damaged."""
    notes: list[Block] = [Note("damaged", one, "error", "damaged") for one in damaged]
    if not ended.plan.check:
        notes += cause_notes(ended)  # a check's answer has them
    if notes:
        yield Heading("Failures and gaps")
        yield from notes


def _merged(differences: Sequence[str]) -> Iterator[Block]:
    if differences:
        yield Heading("Differences between the merged runs")
        yield Points(tuple(differences))


def _rows(ended: EndedRun, listed: Said) -> Iterator[Block]:
    percentiles = shown_percentiles(ended.plan.percentiles)
    table = row_table(ended.rows, listed.marks, "", percentiles)
    yield Details(f"All {len(ended.rows):,} rows", (table,))


def _where(found: Whole, hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    how = "" if found.run.manifest.merged else ", and how to repeat it"
    yield Details(f"Where it was measured{how}", tuple(where(found.run, hosts)))
