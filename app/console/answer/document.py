"""A run as a document: the answer first, then what it rests on; in full if that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from app.console.answer.commands import next_commands
from app.console.answer.ended import EndedRun
from app.console.answer.headline import measured_line, trust_line
from app.console.answer.issues import cause_notes, warning_paragraph
from app.console.answer.leaders import leader_sentences
from app.console.answer.matrix import labels_of_cases, legend, matrix_of, matrix_table
from app.console.checks import check_blocks
from app.console.extras import extra_tables
from app.console.ladder import ladder_tables
from app.console.rates import rate_tables
from app.console.row_columns import SHOWN, shown_percentiles, varied_and_common
from app.console.row_table import row_table
from app.console.said import FASTEST, SURE, Said, said
from app.console.spread_advice import spread_advice
from app.console.time_spent import time_line
from app.plan.program import typed_path
from app.present.document import Block, Command, Heading, Note, Paragraph, Points, tone_of
from app.results.folder import RESULTS
from app.results.noticing.noticed import HEADING, noticed

MOST_FINDINGS = 3
_OF_LEADERS = ("best", "not_told_apart")
"""Findings that the sentences about leaders contain."""
_SPACE = Paragraph("")
_PAGE_WIDTH = 160
"""Columns of text beside which a page has no room."""


def run_document(
    ended: EndedRun,
    width: int,
    sort: str = "",
    verbose: bool = False,
    before: Iterable[str] = (),
) -> Iterator[Block]:
    """What is shown of a run; tables are laid out for so many columns. Sentences about how it was
    made come `before` all else. With `sort`, and in full, every row is in it."""
    yield from map(Paragraph, before)
    yield Paragraph(measured_line(ended))
    if trust := trust_line(ended):
        yield Paragraph(trust)
    yield from _asked_for(ended, width)
    if ended.plan.check:
        yield from check_blocks(ended.measured, width)
    elif verbose:
        yield from _in_full(ended, sort)
    elif ended.tunes is None:
        yield from _in_short(ended, width, sort)
    for sentence in ended.hosts_left_out:
        yield Paragraph(sentence)
    if advice := spread_advice(ended.run, ended.measured):
        yield Paragraph(advice)
    if spent := time_line(ended.run):
        yield Paragraph(spent, tone="quiet")
    yield from next_commands(ended, verbose)
    yield Command(typed_path(ended.run.path / RESULTS, ended.here), "all rows")


def page_answer(ended: EndedRun) -> Iterator[Block]:
    """The answer on a page: what was measured, medians and their leaders."""
    yield Paragraph(measured_line(ended))
    matrix = matrix_of(ended)
    if ended.has_answer or ended.plan.check or ended.is_imported:
        return
    if matrix.measured or matrix.simulated:
        table = matrix_table(matrix, _PAGE_WIDTH)
        cells = (cell for row in table.rows for cell in row[1:])
        warned = "amber: with warnings" * any(tone_of(cell) == "warning" for cell in cells)
        marks = legend(matrix, ended.plan.band)
        yield replace(table, caption="  ".join(filter(None, (marks, warned))))
        yield from _shared_settings(ended)
    yield Points(tuple(leader_sentences(ended, labels_of_cases(matrix))))


def findings(ended: EndedRun) -> tuple[str, ...]:
    """What is worth a look, in few words each."""
    found = noticed(ended.own, ended.cases, ended.contests)
    return tuple(one.brief for one in found if one.kind not in _OF_LEADERS)[:MOST_FINDINGS]


def _asked_for(ended: EndedRun, width: int) -> Iterator[Block]:
    """What searches found, comparisons, and all that a plan asks for beside its rows."""
    if ended.tunes is not None:
        yield _SPACE
        yield from ladder_tables(ended.tunes)
    if ended.rates is not None:
        yield _SPACE
        yield from rate_tables(ended.rates)
    if ended.compared is not None:
        yield from ended.compared.blocks
    yield from extra_tables(ended.run, ended.rows, width, ended.together)


def _in_short(ended: EndedRun, width: int, sort: str) -> Iterator[Block]:
    """Medians with their leaders, what they come to, and warnings as counts."""
    percentiles = shown_percentiles(ended.plan.percentiles)
    matrix = matrix_of(ended)
    if sort or percentiles != SHOWN or ended.plan.deadline_us is not None or ended.is_imported:
        yield _SPACE
        yield row_table(ended.rows, {}, sort, percentiles)
    elif not ended.has_answer and (matrix.measured or matrix.simulated):
        yield _SPACE
        yield replace(matrix_table(matrix, width), caption=legend(matrix, ended.plan.band))
        yield from _shared_settings(ended)
    leaders = () if ended.has_answer else leader_sentences(ended, labels_of_cases(matrix))
    sentences = (*leaders, *findings(ended))
    if sentences:
        yield _SPACE
        yield Points(sentences)
    yield from cause_notes(ended)
    yield from warning_paragraph(ended)


def _shared_settings(ended: EndedRun) -> Iterator[Block]:
    """What is the same in every case that was timed on this machine, or in all if none was."""
    timed = [row for row in ended.rows if row["iterations"]]
    own = [row for row in timed if row["clock"] != "simulated"] or timed
    _, common = varied_and_common(own)
    sizes = {row["batch_size"] for row in own} - {None}
    common += [f"batch {size}" for size in sizes] if len(sizes) == 1 else []
    if common:
        yield Paragraph(f"every case: {', '.join(common)}", "quiet")


def _in_full(ended: EndedRun, sort: str) -> Iterator[Block]:
    """Every row, every warning with its cases, every verdict with its interval."""
    found = said(ended.measured, ended.plan.band)
    if found.begun:
        yield Heading("rows")
        percentiles = shown_percentiles(ended.plan.percentiles)
        yield row_table(found.begun, found.marks, sort, percentiles)
    for number, doubt in enumerate(found.doubts, 1):
        yield Note(f"({number})", doubt)
    yield from cause_notes(ended)
    if ended.tunes is None:
        yield from _lists(found)


def _lists(found: Said) -> Iterator[Block]:
    for heading, sentences in (
        (HEADING, found.noticed),
        (FASTEST, found.fastest),
        (SURE, found.sure),
    ):
        if sentences:
            yield Heading(heading)
            yield Points(sentences)
