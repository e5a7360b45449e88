"""The rounds' own figures -> columns: the slowest round, and the correlation of rounds."""

from __future__ import annotations

from app.cases.column import Row
from app.cases.judged import JUDGED
from app.stats.between import unseen_share
from app.stats.summary import Summary


def round_figure_columns(summary: Summary) -> Row:
    """What the quoted figures leave out: rare slow processes, and correlation between rounds."""
    values: Row = {"unseen_mode_fraction": unseen_share(summary.rounds)}
    for name in JUDGED:
        figure = summary.figures[name]
        values[f"slowest_round_{name}_us"] = figure.slowest_round
        correlation = figure.correlation
        if correlation is not None:
            values[f"round_correlation_{name}"] = correlation.lag1
            values["rounds_span_s"] = correlation.span_s
    return values
