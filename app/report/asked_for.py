"""The answer of a run as blocks: what its plan asked for, and all that was measured besides."""

from __future__ import annotations

from collections.abc import Iterator

from app.console.answer.document import page_answer
from app.console.answer.ended import EndedRun
from app.console.checks import check_blocks
from app.console.extras import extra_tables
from app.console.hosts_together import together_sentences
from app.console.ladder import ladder_tables
from app.console.rate_figure import rate_figures
from app.console.rates import rate_tables
from app.present.document import Block, Heading, Points

_WIDTH = 200
"""Columns of a terminal in which no table leaves anything out."""


def answer(ended: EndedRun) -> Iterator[Block]:
    """What was measured and what it comes to: searches and comparisons, else who is fastest."""
    yield from page_answer(ended)
    if ended.tunes is not None:
        yield from ladder_tables(ended.tunes)
    if ended.rates is not None:
        yield from rate_tables(ended.rates)
        yield from rate_figures(ended.rates)
    if ended.plan.check:
        yield from check_blocks(ended.measured, _WIDTH)
    if ended.compared is not None:
        yield from ended.compared.blocks
    yield Points(tuple(together_sentences(ended.together)))


def more_results(ended: EndedRun) -> Iterator[Block]:
    """Largest batches, cold starts, operators and what else a plan may ask for."""
    tables = list(extra_tables(ended.run, ended.rows, _WIDTH))
    if tables:
        yield Heading("More results")
        yield from tables
