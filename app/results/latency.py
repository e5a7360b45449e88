"""The statistics of a case's samples -> the columns of latency, with their intervals."""

from __future__ import annotations

from app.cases.case import Case
from app.cases.column import Row
from app.cases.percentiles import shown
from app.results.bounds import bound_columns
from app.results.cells import joined
from app.results.needed import needed_columns
from app.results.patterns import pattern_columns
from app.results.round_figures import round_figure_columns
from app.results.throughput import OF_ARRIVAL
from app.stats.quantiles import CONFIDENCE
from app.stats.summary import Summary
from app.stats.typical import METHOD


def latency_columns(case: Case, summary: Summary) -> Row:
    """All that the samples give but the throughput."""
    if case.scenario.kind == "ahead":
        # A sample is of many runs: their times together are nobody's latency.
        return {"drift": summary.drift or None}
    values: Row = {
        "latency_std_us": summary.std_us,
        "latency_min_us": summary.min_us,
        "latency_max_us": summary.max_us,
        "response_p50_us": summary.response_p50_us,
        "response_p99_us": summary.response_p99_us,
        "schedule_slip_p50_us": summary.start_lateness_p50_us,
        "schedule_slip_p99_us": summary.start_lateness_p99_us,
        "outliers": summary.outliers,
    }
    values |= {f"latency_{name}_us": figure.value for name, figure in summary.figures.items()}
    values |= {f"pooled_{name}_us": value for name, value in summary.pooled.items()}
    values["drift"] = summary.drift or None
    values |= _interval_columns(summary)
    values |= needed_columns(summary) | round_figure_columns(summary)
    values |= bound_columns(case, summary) | pattern_columns(summary)
    if case.scenario.kind == "offline":
        values |= dict.fromkeys(OF_ARRIVAL)
    return values


def _interval_columns(summary: Summary) -> Row:
    values: Row = {"effective_samples": summary.effective_samples}
    for name, figure in summary.figures.items():
        if figure.interval is not None:
            values[f"latency_{name}_ci_low_us"] = figure.interval.low
            values[f"latency_{name}_ci_high_us"] = figure.interval.high
    if any(figure.interval is not None for figure in summary.figures.values()):
        values["ci_method"] = METHOD
        values["ci_level"] = CONFIDENCE
        values["ci_flags"] = " ".join(summary.marks) or None
    absent: dict[str, list[str]] = {}
    for name, figure in summary.figures.items():
        if figure.absent:
            absent.setdefault(figure.absent, []).append(shown(name))
    values["ci_missing_reason"] = joined(f"{', '.join(who)}: {why}" for why, who in absent.items())
    return values
