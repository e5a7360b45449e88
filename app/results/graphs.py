"""Rounds of one case that measured different graphs: figures of neither, so that no row has any.

A resumed run refuses a model that has changed; this is for folders that were written otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.case import Case
from app.cases.column import Row
from app.results.finding import Finding
from app.results.journal import FOLDER
from app.results.run import Run
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic

_SHOWN = 8


def graph_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Rounds of more than one graph."""
    graphs = run.graphs_of(case)
    if len(graphs) > 1:
        shown = tuple(graph[:_SHOWN] for graph in graphs)
        yield diagnostic("mixed_graphs", count=len(graphs), graphs=shown)


def without_intervals(row: Row) -> Row:
    """The columns of intervals, empty: figures of several graphs have none."""
    return {name: None for name in row if "_ci_" in name or name == "ci_method"}


def mixed_graphs(run: Run) -> Iterator[Finding]:
    """A finding for each case with rounds of more than one graph."""
    for case in run.cases:
        graphs = run.graphs_of(case)
        if len(graphs) > 1:
            yield Finding(
                FOLDER,
                f"has rounds of case {case.case_id} that measured {_told(graphs)}",
                "measure the case in a new run",
            )


def _told(graphs: tuple[str, ...]) -> str:
    return f"{len(graphs)} graphs (sha256 {', '.join(graph[:_SHOWN] for graph in graphs)})"
