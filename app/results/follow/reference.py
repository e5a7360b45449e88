"""Published figures of a case's model, as the lines that plots lay beside measured ones."""

from __future__ import annotations

from functools import cache

from app.cases.case import Case
from app.results.published import published_for
from app.results.series import ReferenceLine


def reference_figures(case: Case) -> tuple[ReferenceLine, ...]:
    """Mean and p99 of the same card where one is simulated, else the source's first mean.

    The sources measured at batch 1, so other batch sizes have none.
    """
    if case.axes.get("batch", 1) != 1:
        return ()
    return _figures(case.model, case.runtime.partition("@")[0])


@cache
def _figures(model: str, runtime: str) -> tuple[ReferenceLine, ...]:
    figures = [(figure, mean) for figure in published_for(model) if (mean := figure.mean_us)]
    same = [pair for pair in figures if pair[0].runtime == runtime]
    lines = []
    for figure, mean_us in same or figures[:1]:
        label = f"{model} on {figure.device} ({figure.conditions})"
        lines.append(ReferenceLine(label, "mean", mean_us, figure.source))
        if same and figure.p99_us:
            lines.append(ReferenceLine(label, "p99", figure.p99_us, figure.source))
    return tuple(lines)
