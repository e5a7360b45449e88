"""Columns of latency and throughput: intervals, bounds, patterns, deadlines, ratios."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.analysis.columns.environment import input_sets
from app.analysis.columns.family import (
    CaseData,
    Count,
    Family,
    Flag,
    Higher,
    Lower,
    Number,
    OfSamples,
    SampledCase,
    Text,
)
from app.analysis.columns.rounds import join_values
from app.cases.case import Case
from app.cases.column import Row
from app.cases.objectives import INTERVALS
from app.cases.units import DEFAULT, name_of, percentile_label
from app.stats.core_state import CoreRound, at_typical_clock, undisturbed
from app.stats.estimates import METHOD
from app.stats.levels import speeds, window_medians
from app.stats.quantiles import Interval
from app.stats.summary import MEAN, Rate, Summary, in_time_order, rate_of
from app.stats.tails import late_share_of
from exporters.types import ExportedModel
from runtimes.execution import Samples

_PERCENTILES = tuple(map(name_of, DEFAULT))
_FIGURES = (MEAN, *_PERCENTILES)
_BESIDE = (MEAN, "p90", "p95", "p999")
"""Figures that a table for people tells without an interval."""


class Levels(OfSamples, heading="Speeds of the machine"):
    """Of a closed loop whose runs a clock timed; empty where the machine has one speed."""

    level_seen = Text("Fastest level")
    """Where the machine switches between speeds: `undisturbed` where two processes at least spent 5
    % of their time at the fastest one, else `fastest seen`; empty where one speed is seen."""
    undisturbed_p50_us = Lower(group="latency")
    """Median latency at that level: of runs that had the core for themselves where another hardware
    thread took part of it, else of windows of 5 ms and eight runs at least."""
    undisturbed_p50_ci_low_us = Lower("Undisturbed p50 from", "confidence")
    """The lower end of its 95 % interval over processes; empty with fewer than three at that
    level."""
    undisturbed_p50_ci_high_us = Lower("Undisturbed p50 to", "confidence")
    """The upper end of that interval."""
    undisturbed_fraction = Higher("Time undisturbed")
    """The fraction of the measured time at that level."""
    disturbed_factor = Lower("Disturbed")
    """How many times the undisturbed p50 a run takes at the median of the rest of the time."""
    core_shared_fraction = Lower("Core shared")
    """The fraction of the measured time in which another hardware thread took part of the core, so
    that it began fewer operations in a cycle; empty where that was not seen."""
    typical_clock_p50_us = Lower("p50 at typical clock", group="latency")
    """Median latency at the core's typical clock, where rounds agree better in cycles than in time:
    the typical number of cycles at this clock, of runs that had the core for themselves."""
    typical_clock_p50_ci_low_us = Lower("p50 at typical clock from", "confidence")
    """The lower end of its 95 % interval over processes."""
    typical_clock_p50_ci_high_us = Lower("p50 at typical clock to", "confidence")
    """The upper end of that interval."""
    typical_clock_mhz = Number("Typical clock")
    """That clock: the pseudo-median of the processes' median clocks."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        case = sampled.case
        sets = input_sets(case, sampled.run.model_of(case))
        timed = [samples for samples in sampled.samples if len(samples.started_ns)]
        if case.scenario.kind != "closed_loop" or not all(
            samples.clock in TIMING and (samples.shapes is None or sets > 1) for samples in timed
        ):
            return {}
        core = core_rounds(sampled)
        alone = undisturbed(core, sampled.starts_s, sampled.confidence)
        windows = [window_medians(in_time_order(samples).service_ns, sets) for samples in timed]
        speed = alone or speeds(windows, sampled.confidence)
        steady = at_typical_clock(core, sampled.starts_s, sampled.confidence)
        values: Row = {}
        if speed is not None:
            values |= {
                "level_seen": UNDISTURBED if speed.is_usual else "fastest seen",
                "undisturbed_fraction": speed.share,
                "disturbed_factor": speed.factor,
                "core_shared_fraction": 1.0 - speed.share if speed is alone else None,
                **_p50_values("undisturbed_p50", speed.p50, speed.interval),
            }
        if steady is not None:
            values |= {
                "typical_clock_mhz": steady.clock_mhz,
                **_p50_values("typical_clock_p50", steady.p50, steady.interval),
            }
        return values


def _p50_values(name: str, p50_ns: float, interval_ns: Interval | None) -> Row:
    values: Row = {f"{name}_us": p50_ns / 1e3}
    if interval_ns is not None:
        values[f"{name}_ci_low_us"] = interval_ns.low / 1e3
        values[f"{name}_ci_high_us"] = interval_ns.high / 1e3
    return values


def core_rounds(sampled: SampledCase) -> list[CoreRound]:
    """With what was measured of the core beside them; empty where a round lacks it, or where
    several lanes ran, of which one was measured."""
    rounds = list[CoreRound]()
    for result, samples in zip(sampled.rounds, sampled.samples, strict=True):
        seen = result.interference
        if seen is None or not seen.cpu_mhz or samples.lanes is not None:
            return []
        starts_ns, clocks_mhz, widths = map(
            np.array, (seen.block_starts_ns, seen.cpu_mhz, seen.core_widths)
        )
        if len(starts_ns) != len(clocks_mhz) or len(widths) not in (0, len(clocks_mhz)):
            return []
        blocks = np.searchsorted(starts_ns, samples.started_ns, side="right") - 1
        if sampled.case.threads != 1:
            widths = widths[:0]
        rounds.append(CoreRound(samples.service_ns, np.maximum(blocks, 0), clocks_mhz, widths))
    return rounds


UNDISTURBED = "undisturbed"
TIMING = ("wall", "device")
"""Clocks that a state of the machine reaches."""
WITH_THROUGHPUT = ("closed_loop", "multistream", "ahead", "offline")
"""Kinds of scenarios whose runs follow each other, so that inputs in a second are the model's."""


def inputs_per_run(model: ExportedModel | None, batch_size: object) -> int | None:
    """How many inputs a run computes: the batch, or 1 of a graph without a batch axis; None where
    neither is known, or where the batch varies from run to run."""
    if isinstance(batch_size, int):
        return batch_size
    return 1 if model is not None and model.batch is None else None


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


class Latency(Family, heading="Latency"):
    latency_mean_us = Lower("Mean", "latency")
    """The mean, in a typical process."""
    latency_std_us = Lower("Deviation")
    """The standard deviation of all samples."""
    latency_min_us = Lower("Fastest", "latency")
    """The fastest sample."""
    latency_p99_us = Lower("p99", "latency", each=_PERCENTILES, others=("p95",))
    """99 of 100 runs were at most this slow, in a typical process."""
    latency_max_us = Lower("Slowest", "latency")
    """The slowest sample."""
    pooled_p99_us = Lower(each=_PERCENTILES)
    """99 of 100 runs were at most this slow, of all rounds' samples together."""
    drift = Text()
    """What the level did within the rounds: flat, or how it moved."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        values: Row = {"drift": data.summary.drift or None} if data.summary else {}
        summary = data.latency
        if summary is None:
            return values
        values |= {
            "latency_std_us": summary.std_us,
            "latency_min_us": summary.min_us,
            "latency_max_us": summary.max_us,
        }
        values |= {f"latency_{name}_us": figure.value for name, figure in summary.figures.items()}
        return values | {f"pooled_{name}_us": value for name, value in summary.pooled.items()}


class Arrival(Family, heading="Times of arrival"):
    """Empty for offline: how long its requests wait follows from how long a block was made."""

    response_p50_us = Lower()
    """Median from the scheduled start, which follows the last answer: a stall delays few runs. An
    open loop shows what it does to requests that come meanwhile."""
    response_p99_us = Lower()
    """p99 from the scheduled start, likewise."""
    schedule_slip_p50_us = Lower()
    """The median delay of starts that the load generator itself causes: after the scheduled start,
    in an open loop after the start that a punctual lane would have made."""
    schedule_slip_p99_us = Lower()
    """The 99th percentile of this delay."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        summary = data.latency
        if summary is None or data.case.scenario.kind == "offline":
            return {}
        return {
            "response_p50_us": summary.response_p50_us,
            "response_p99_us": summary.response_p99_us,
            "schedule_slip_p50_us": summary.start_lateness_p50_us,
            "schedule_slip_p99_us": summary.start_lateness_p99_us,
        }


class Intervals(Family, heading="Intervals"):
    latency_p99_ci_low_us = Lower("p99 from", "confidence", each=_FIGURES, others=_BESIDE)
    """The lower end of the 95 % interval of p99."""
    latency_p99_ci_high_us = Lower("p99 to", "confidence", each=_FIGURES, others=_BESIDE)
    """The upper end of the 95 % interval of p99."""
    ci_method = Text("Interval by")
    """Method of the intervals: t_ranks, or t_ranks_looks where rounds were added until they were
    narrow or verdicts decided; empty for none."""
    ci_flags = Text("Interval flags")
    """few_rounds: fewer than eight, so modes of processes go unseen. few_runs: fewer than 1,000 in
    a round, so rare spells do. rounds_correlated: neighbouring rounds resemble each other.
    rounds_close_in_time: all rounds began within a minute, or within nine where contended.
    contended: other work took the core (steal of 1 % or 10 involuntary switches a second), so the
    intervals of mean, throughput and tails allow for slow changes of it."""
    ci_missing_reason = Text("Interval missing")
    """Which figures or intervals are empty, and why."""
    effective_samples = Count("Independent samples")
    """How many independent runs the samples beyond p99 are worth, of all rounds."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        summary = data.latency
        if summary is None:
            return {}
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


class Bounds(Family, heading="Bounds"):
    """MLPerf's are of a closed loop, its single stream, and of its multistream."""

    latency_p99_upper_bound_us = Lower("p99 at most", each=("p90", "p99"))
    """What the p99 of a typical process is at most, with a confidence of 99 %: one-sided, over the
    rounds."""
    upper_bound_missing_reason = Text("Bound missing")
    """Which upper bounds are empty, and why."""
    mlperf_p99_us = Lower("MLPerf p99", each=("p90", "p99"))
    """MLPerf's early-stopping estimate of the p99 from all samples, each taken for independent; of
    a closed loop, and of multistream's queries."""
    mlperf_valid = Flag("MLPerf valid")
    """Whether its rules call the samples enough for both."""
    mlperf_missing_reason = Text("MLPerf missing")
    """Which MLPerf estimates are empty, and why."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        summary = data.latency
        if summary is None:
            return {}
        bounds = summary.bounds.items()
        values: Row = {f"latency_{name}_upper_bound_us": bound.value for name, bound in bounds}
        values["upper_bound_missing_reason"] = join_values(
            f"{INTERVALS[name]}: {bound.absent}" for name, bound in bounds if bound.absent
        )
        if data.case.scenario.kind not in ("closed_loop", "multistream"):
            return values
        stopping = summary.early_stopping
        values |= {f"mlperf_{name}_us": result.estimate for name, result in stopping.items()}
        values["mlperf_valid"] = all(result.valid for result in stopping.values())
        values["mlperf_missing_reason"] = join_values(
            f"{INTERVALS[name]}: {found.reason}" for name, found in stopping.items() if found.reason
        )
        return values


class Patterns(Family, heading="Levels and stalls"):
    """Empty where the runs are at one level, and slow ones at no beat."""

    mode_low_us = Number("Lower level")
    """Where the runs of most rounds jump between two levels, the lower; empty where they don't."""
    mode_high_us = Number("Upper level")
    """The upper one of these levels."""
    mode_high_fraction = Number("At upper level")
    """The fraction of the runs at the upper level."""
    stalls = Count()
    """How many slow runs came at even distances; empty where none did."""
    stall_us = Number()
    """By how much such a stall outlasts the median run."""
    stall_period_us = Number("Stalls every")
    """The time from one stall to the next."""
    stall_fraction = Number("In stalls")
    """The fraction of the measured time that stalls took."""
    outliers = Count()
    """Runs more than 3 IQR above the third quartile of their round."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        summary = data.latency
        if summary is None:
            return {}
        values: Row = {"outliers": summary.outliers}
        modes, stalls = summary.modes, summary.stalls
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


class Throughput(Family, heading="Throughput"):
    throughput_per_s = Higher("Inputs/s", "throughput")
    """Inputs in a second: of a closed loop concurrency times batch over the mean latency, of
    multistream a query's over its mean, of offline a block's over the time it took, of ahead what
    is queued together over the mean time until it is complete. Of a graph without a batch axis runs
    in a second."""
    throughput_ci_low_per_s = Higher("Inputs/s from", "throughput")
    """The lower end of the 95 % interval of the throughput."""
    throughput_ci_high_per_s = Higher("Inputs/s to", "throughput")
    """The upper end of the 95 % interval of the throughput."""

    @staticmethod
    def fill(data: CaseData, row: Row) -> Row:
        """Of a closed loop all lanes' inputs over the mean of a run, of multistream a query's over
        the mean of a query, of ahead what all lanes queue over the mean of a wait, of offline a
        block's inputs over its time, with all its lanes together."""
        inputs = inputs_per_run(data.run.model_of(data.case), row["batch_size"])
        if data.blocks is not None:
            rate = data.blocks
            if inputs is None:
                return {}
            values: Row = {"throughput_per_s": inputs * rate.per_s}
            if rate.interval is not None:
                values["throughput_ci_low_per_s"] = inputs * rate.interval.low
                values["throughput_ci_high_per_s"] = inputs * rate.interval.high
            return values
        at_once = _inputs_at_once(data.case, row, inputs)
        mean = data.summary.figures[MEAN] if data.summary is not None else None
        if not at_once or mean is None or not mean.value:
            return {}
        values = {"throughput_per_s": at_once * 1e6 / mean.value}
        if mean.interval is not None:
            values["throughput_ci_low_per_s"] = at_once * 1e6 / mean.interval.high
            values["throughput_ci_high_per_s"] = at_once * 1e6 / mean.interval.low
        return values


class Deadline(OfSamples, heading="Deadline"):
    """Empty where no deadline was asked for."""

    deadline_us = Number(group="settings")
    """What --deadline asked for."""
    deadline_misses = Count(group="latency")
    """Runs of all rounds that took longer than the deadline."""
    deadline_miss_rate = Lower("Miss rate", "latency")
    """The fraction of all runs that took longer than the deadline."""
    deadline_miss_rate_ci_low = Lower("Miss rate from", "confidence")
    """The lower end of its 95 % interval."""
    deadline_miss_rate_ci_high = Lower("Miss rate to", "confidence")
    """The upper end of its 95 % interval."""
    deadline_ci_missing_reason = Text("Miss rate interval missing", "confidence")
    """Why that interval is empty."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        deadline_us = sampled.plan.deadline_us
        timed_samples = [samples for samples in sampled.samples if len(samples.started_ns)]
        if deadline_us is None or not timed_samples or sampled.case.scenario.kind == "ahead":
            return {}
        in_time = [
            round_samples.latency_ns[np.argsort(round_samples.started_ns, kind="stable")] / 1e3
            for round_samples in timed_samples
        ]
        late = late_share_of(deadline_us, in_time, sampled.confidence)
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
