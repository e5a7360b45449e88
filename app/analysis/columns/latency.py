"""Columns of latency and throughput: intervals, bounds, patterns, deadlines, ratios."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.analysis.columns.precision import required_columns
from app.analysis.columns.rounds import join_values
from app.cases.case import Case
from app.cases.column import Row
from app.cases.objectives import INTERVALS, JUDGED
from app.cases.units import percentile_label
from app.stats.estimates import METHOD
from app.stats.intervals import unseen_share
from app.stats.levels import speeds, window_medians
from app.stats.summary import MEAN, Rate, Summary, in_time_order, rate_of
from app.stats.tails import late_share_of
from exporters.types import ExportedModel
from runtimes.execution import Samples


def bound_columns(case: Case, summary: Summary) -> Row:
    """Of a timed case; MLPerf's of a closed loop, its single stream, and of its multistream."""
    values: Row = {
        f"latency_{name}_upper_bound_us": bound.value for name, bound in summary.bounds.items()
    }
    values["upper_bound_missing_reason"] = join_values(
        f"{INTERVALS[name]}: {bound.absent}" for name, bound in summary.bounds.items()
        if bound.absent
    )  # fmt: skip
    if case.scenario.kind not in ("closed_loop", "multistream"):
        return values
    stopping = summary.early_stopping
    values |= {f"mlperf_{name}_us": result.estimate for name, result in stopping.items()}
    values["mlperf_valid"] = all(result.valid for result in stopping.values())
    values["mlperf_missing_reason"] = join_values(
        f"{INTERVALS[name]}: {result.reason}" for name, result in stopping.items() if result.reason
    )
    return values


def pattern_columns(summary: Summary) -> Row:
    """Empty where the runs are at one level, and slow ones at no beat."""
    modes, stalls = summary.modes, summary.stalls
    values: Row = {}
    if modes is not None:
        values |= {
            "mode_low_us": modes.low,
            "mode_high_us": modes.high,
            "mode_high_fraction": modes.high_share,
        }
    if stalls is not None:
        values |= {
            "stalls": stalls.count,
            "stall_us": stalls.typical,
            "stall_period_us": stalls.period_ns / 1e3,
            "stall_fraction": stalls.time_share,
        }
    return values


def level_columns(case: Case, rounds: Sequence[Samples], sets: int, confidence: float) -> Row:
    """Of a closed loop whose runs a clock timed; empty where the machine has one speed. So many
    `sets` of inputs are fed in turn."""
    timed = [samples for samples in rounds if len(samples.started_ns)]
    if case.scenario.kind != "closed_loop" or not all(
        samples.clock in TIMING and (samples.shapes is None or sets > 1) for samples in timed
    ):
        return {}
    found = speeds(
        [window_medians(in_time_order(samples).service_ns, sets) for samples in timed], confidence
    )
    if found is None:
        return {}
    values: Row = {
        "level_seen": UNDISTURBED if found.is_usual else "fastest seen",
        "undisturbed_p50_us": found.p50 / 1e3,
        "undisturbed_fraction": found.share,
        "disturbed_factor": found.factor,
    }
    if found.interval is not None:
        values["undisturbed_p50_ci_low_us"] = found.interval.low / 1e3
        values["undisturbed_p50_ci_high_us"] = found.interval.high / 1e3
    return values


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


UNDISTURBED = "undisturbed"
TIMING = ("wall", "device")
"""Clocks that a state of the machine reaches."""
WITH_THROUGHPUT = ("closed_loop", "multistream", "ahead", "offline")
"""Kinds of scenarios whose runs follow each other, so that inputs in a second are the model's."""
OF_ARRIVAL = (
    "response_p50_us",
    "response_p99_us",
    "schedule_slip_p50_us",
    "schedule_slip_p99_us",
)
"""Empty for offline: how long its requests wait follows from how long a block was made."""


def inputs_per_run(model: ExportedModel | None, batch_size: object) -> int | None:
    """How many inputs a run computes: the batch, or 1 of a graph without a batch axis; None where
    neither is known, or where the batch varies from run to run."""
    if isinstance(batch_size, int):
        return batch_size
    return 1 if model is not None and model.batch is None else None


def throughput_columns(case: Case, summary: Summary, row: Row, inputs_of_run: int | None) -> Row:
    """Of a closed loop all lanes' inputs over the mean of a run, of multistream a query's over the
    mean of a query, of ahead what all lanes queue over the mean of a wait; offline's are
    `block_columns`."""
    mean, inputs = summary.figures[MEAN], _inputs_at_once(case, row, inputs_of_run)
    if not inputs or not mean.value:
        return {}
    values: Row = {"throughput_per_s": inputs * 1e6 / mean.value}
    if mean.interval is not None:
        values["throughput_ci_low_per_s"] = inputs * 1e6 / mean.interval.high
        values["throughput_ci_high_per_s"] = inputs * 1e6 / mean.interval.low
    return values


def block_rate(
    case: Case, rounds: Sequence[Samples], starts_s: Sequence[float], is_contended: bool
) -> Rate | None:
    """Of offline the runs of its blocks in a second; None of any other scenario.

    `starts_s` are the times at which the rounds began, empty where one is not known;
    `is_contended`: other work took the core from them.
    """
    if case.scenario.kind != "offline":
        return None
    return rate_of(rounds, starts_s=starts_s, is_contended=is_contended)


def block_columns(rate: Rate, inputs_of_run: int | None) -> Row:
    """A block's inputs over its time, with all its lanes together."""
    if inputs_of_run is None:
        return {}
    values: Row = {"throughput_per_s": inputs_of_run * rate.per_s}
    if rate.interval is not None:
        values["throughput_ci_low_per_s"] = inputs_of_run * rate.interval.low
        values["throughput_ci_high_per_s"] = inputs_of_run * rate.interval.high
    return values


def rates_by_round(
    case: Case, rate: Rate | None, summary: Summary | None, lanes: int
) -> tuple[float, ...]:
    """What a second holds in each timed round, in any one unit: runs, or queries of so many.

    Of offline its blocks' `rate`; of what has a mean of a run the lanes over it. () of the rest.
    """
    if rate is not None:
        return rate.by_round
    if summary is None or case.scenario.kind not in ("closed_loop", "multistream", "ahead"):
        return ()
    at_once = lanes if case.scenario.kind != "multistream" else 1
    return tuple(at_once * 1e6 / mean_us for mean_us in summary.figures[MEAN].by_round)


def _inputs_at_once(case: Case, row: Row, inputs_of_run: int | None) -> int | None:
    """How many inputs the mean latency is of; None for what has no such figure."""
    lanes, queue_size = row["concurrency"], case.scenario.count
    if inputs_of_run is None or not isinstance(lanes, int):
        return None
    at_once = {"closed_loop": lanes, "multistream": queue_size, "ahead": lanes * queue_size}
    count = at_once.get(case.scenario.kind)
    return None if count is None else count * inputs_of_run


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
    values |= required_columns(summary) | round_figure_columns(summary)
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
        values["ci_flags"] = " ".join(summary.marks) or None
    absent: dict[str, list[str]] = {}
    for name, figure in summary.figures.items():
        if figure.absent:
            absent.setdefault(figure.absent, []).append(percentile_label(name))
    values["ci_missing_reason"] = join_values(
        f"{', '.join(names)}: {reason}" for reason, names in absent.items()
    )
    return values


def late_columns(deadline_us: float | None, rounds: Sequence[Samples], confidence: float) -> Row:
    """Of timed rounds; nothing where no deadline was asked for."""
    timed_samples = [samples for samples in rounds if len(samples.started_ns)]
    if deadline_us is None or not timed_samples:
        return {}
    in_time = [
        round_samples.latency_ns[np.argsort(round_samples.started_ns, kind="stable")] / 1e3
        for round_samples in timed_samples
    ]
    late = late_share_of(deadline_us, in_time, confidence)
    values: Row = {
        "deadline_us": deadline_us,
        "deadline_misses": late.runs,
        "deadline_miss_rate": late.share,
        "deadline_ci_missing_reason": late.absent or None,
    }
    if late.interval is not None:
        values["deadline_miss_rate_ci_low"] = late.interval.low
        values["deadline_miss_rate_ci_high"] = late.interval.high
    return values
