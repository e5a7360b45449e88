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
from app.results.warned import joined, sentences

_SHOWN = 8


def mixed_columns(run: Run, case: Case, row: Row) -> Row:
    """A row without intervals that is not valid, with the reason; {} for rounds of one graph."""
    graphs = run.graphs_of(case)
    if len(graphs) < 2:
        return {}
    reason = f"its rounds measured {_told(graphs)}: measure it in a new run"
    intervals = {name: None for name in row if "_ci_" in name or name == "ci_method"}
    warnings = joined([*sentences(row["warnings"]), reason])
    return {**intervals, "valid": False, "reason": row["reason"] or reason, "warnings": warnings}


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
