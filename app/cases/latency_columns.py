"""Columns of latencies and rates: intervals, bounds, deadlines, patterns of samples, verdicts."""

from __future__ import annotations

from app.cases.column import (
    Column,
    Group,
    count,
    flag,
    higher_better,
    lower_better,
    number,
    text,
)
from app.cases.objectives import HIGHER_IS_BETTER, JUDGED, MEAN, THROUGHPUT

PERCENTILES: dict[str, str] = {
    "p50": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "p999": "p99.9",
}
"""The name in columns, and as people write it."""
INTERVALS: dict[str, str] = {"mean": "mean", **PERCENTILES}
"""The figures that have an interval, and how people write them."""

SHORTLIST = ("p50", "p99")
"""The figures whose certainty a table for people has."""
BOUNDED = ("p90", "p99")
"""The percentiles that have a one-sided bound, and MLPerf's estimate."""

_SLOWER_THAN = {
    "p50": "The median: half of the runs were at most this slow",
    "p90": "90 of 100 runs were at most this slow",
    "p95": "95 of 100 runs were at most this slow",
    "p99": "99 of 100 runs were at most this slow",
    "p999": "999 of 1,000 runs were at most this slow",
}
_PERCENTILE_GROUP: dict[str, Group] = {
    name: "other" if name == "p95" else "latency" for name in PERCENTILES
}
"""p95 lies between two that a table for people has already."""


def _latency(name: str, title: str, meaning: str, group: Group | None = None) -> Column:
    return lower_better(f"latency_{name}_us", f"{title} (µs)", "us", meaning, group)


def _bounds(name: str) -> tuple[Column, ...]:
    label = INTERVALS[name]
    group: Group = "confidence" if name in SHORTLIST else "other"
    return tuple(
        _latency(
            f"{name}_ci_{end}", f"{label} from" if end == "low" else f"{label} to", meaning, group
        )
        for end, meaning in (
            ("low", f"The lower end of the 95 % interval of {label}."),
            ("high", f"The upper end of the 95 % interval of {label}."),
        )
    )


LATENCY = (
    _latency("mean", "Mean", "The mean, in a typical process.", "latency"),
    _latency("std", "Deviation", "The standard deviation of all samples."),
    _latency("min", "Fastest", "The fastest sample.", "latency"),
    *(
        _latency(name, shown, f"{_SLOWER_THAN[name]}, in a typical process.", group)
        for name, shown in PERCENTILES.items()
        for group in [_PERCENTILE_GROUP[name]]
    ),
    _latency("max", "Slowest", "The slowest sample.", "latency"),
    *(column for name in INTERVALS for column in _bounds(name)),
    text(
        "ci_method",
        "Interval by",
        "Method of the intervals: t_ranks, or t_ranks_looks where rounds were added until they "
        "were narrow or verdicts decided; empty for none.",
    ),
    text(
        "ci_flags",
        "Interval flags",
        "few_rounds: fewer than eight, so modes of processes go unseen. few_runs: fewer than 1,000 "
        "in a round, so rare spells do. rounds_correlated: neighbouring rounds resemble each "
        "other. rounds_close_in_time: all rounds began within a minute, or within nine where "
        "contended. contended: other work took the core (steal of 1 % or 10 involuntary switches "
        "a second), so the intervals of mean, throughput and tails allow for slow changes of it.",
    ),
    text("ci_missing_reason", "Interval missing", "Which figures or intervals are empty, and why."),
    count(
        "effective_samples",
        "Independent samples",
        "How many independent runs the samples beyond p99 are worth, of all rounds.",
    ),
    *(
        count(
            f"required_rounds_{name}",
            f"Required rounds for {name}",
            f"Rounds in total for an interval of ±5 % of {name}, with the spread seen so far.",
        )
        for name in ("p50", "p99")
    ),
    *(
        number(
            f"detectable_slowdown_{name}",
            f"Detectable slowdown of {name}",
            "",
            f"The smallest slowdown of {name}, as a fraction, that a comparison of as many "
            "rounds finds with a power of 90 %.",
            "confidence" if name == "p50" else "other",
        )
        for name in SHORTLIST
    ),
    *(
        lower_better(
            f"slowest_round_{name}_us",
            f"Slowest round's {name} (µs)",
            "us",
            f"The largest {name} of a round; the quoted figure leaves out rare slow processes.",
        )
        for name in JUDGED
    ),
    number(
        "unseen_mode_fraction",
        "Unseen modes",
        "",
        "The largest fraction of slow processes that this number of rounds misses with a "
        "probability of 5 %.",
        "other",
    ),
    *(
        number(
            f"round_correlation_{name}",
            f"Correlation of {name}",
            "",
            f"The correlation of neighbouring rounds' {name}, corrected for bias; empty below five "
            "rounds.",
            "other",
        )
        for name in JUDGED
    ),
    number(
        "rounds_span_s",
        "Span (s)",
        "s",
        "From the start of the first round to the start of the last; empty if one is unknown.",
        "other",
    ),
    *(
        lower_better(
            f"pooled_{name}_us",
            f"Pooled {shown} (µs)",
            "us",
            f"{_SLOWER_THAN[name]}, of all rounds' samples together.",
        )
        for name, shown in PERCENTILES.items()
    ),
    *(
        _latency(
            f"{name}_upper_bound",
            f"{name} at most",
            f"What the {name} of a typical process is at most, with a confidence of 99 %: "
            "one-sided, over the rounds.",
        )
        for name in BOUNDED
    ),
    text("upper_bound_missing_reason", "Bound missing", "Which upper bounds are empty, and why."),
    *(
        lower_better(
            f"mlperf_{name}_us",
            f"MLPerf {name} (µs)",
            "us",
            f"MLPerf's early-stopping estimate of the {name} from all samples, each taken for "
            "independent; of a closed loop, and of multistream's queries.",
        )
        for name in BOUNDED
    ),
    flag("mlperf_valid", "MLPerf valid", "Whether its rules call the samples enough for both."),
    text("mlperf_missing_reason", "MLPerf missing", "Which MLPerf estimates are empty, and why."),
    lower_better(
        "response_p50_us",
        "Response p50 (µs)",
        "us",
        "Median from the scheduled start, which follows the last answer: a stall delays few runs. "
        "An open loop shows what it does to requests that come meanwhile.",
    ),
    lower_better(
        "response_p99_us", "Response p99 (µs)", "us", "p99 from the scheduled start, likewise."
    ),
    lower_better(
        "schedule_slip_p50_us",
        "Schedule slip p50 (µs)",
        "us",
        "The median delay of starts that the load generator itself causes: after the "
        "scheduled start, in an open loop after the start that a punctual lane would have "
        "made.",
    ),
    lower_better(
        "schedule_slip_p99_us",
        "Schedule slip p99 (µs)",
        "us",
        "The 99th percentile of this delay.",
    ),
    lower_better(
        "h2d_p50_us",
        "To device p50 (µs)",
        "us",
        "Median of the copies to the device.",
        "latency",
        family="round_facts",
    ),
    lower_better(
        "device_p50_us",
        "Device p50 (µs)",
        "us",
        "Median on the device's own clock.",
        "latency",
        family="round_facts",
    ),
    lower_better(
        "device_min_us",
        "Device min (µs)",
        "us",
        "The shortest run on the device's own clock.",
        "latency",
        family="round_facts",
    ),
    lower_better(
        "device_p99_us",
        "Device p99 (µs)",
        "us",
        "The 99th percentile on the device's own clock; empty below 300 runs.",
        "latency",
        family="round_facts",
    ),
    number(
        "device_runs",
        "Device runs",
        "",
        "Runs of each round that were timed on the device's own clock, after the timed ones.",
        "latency",
        family="round_facts",
    ),
    lower_better(
        "launch_p50_us",
        "Launch p50 (µs)",
        "us",
        "Median of the host's time to queue a run with those marks, before it waits.",
        "latency",
        family="round_facts",
    ),
    text(
        "device_bound",
        "Bound by",
        "`launch`: the host queues for more than 80 % of a run; `compute`: the device works on "
        "after it.",
        "latency",
        family="facts",
    ),
    lower_better(
        "d2h_p50_us",
        "From device p50 (µs)",
        "us",
        "Median of the copies from the device.",
        "latency",
        family="round_facts",
    ),
    Column(
        "throughput_per_s",
        "number",
        "Inputs/s",
        "Inputs in a second: of a closed loop concurrency times batch over the mean latency, of "
        "multistream a query's over its mean, of offline a block's over the time it took, of ahead "
        "what is queued together over the mean time until it is complete. Of a graph without a "
        "batch axis runs in a second.",
        "1/s",
        "higher",
        "throughput",
        family="throughput",
    ),
    *(
        Column(
            f"throughput_ci_{end}_per_s",
            "number",
            f"Inputs/s {word}",
            f"The {side} end of the 95 % interval of the throughput.",
            "1/s",
            "higher",
            "throughput",
            family="throughput",
        )
        for end, word, side in (("low", "from", "lower"), ("high", "to", "upper"))
    ),
    lower_better(
        "compile_ms",
        "Compile (ms)",
        "ms",
        "Median over the rounds of the time to compile.",
        family="rounds",
    ),
    lower_better(
        "first_inference_ms",
        "First run (ms)",
        "ms",
        "Median over the rounds of the first run.",
        family="rounds",
    ),
    number(
        "harness_overhead_ns",
        "Harness overhead (ns)",
        "ns",
        "What the timed loop measures for an empty call.",
        family="rounds",
    ),
)
WITH_COLUMNS = (*JUDGED, MEAN, THROUGHPUT)
"""The judged figures whose verdicts are columns; those of other percentiles are in the tables of a
comparison."""
BASELINE = (
    text(
        "baseline_case_id",
        "Baseline",
        "The case_id of the row that this one is compared with.",
        group="other",
    ),
    *(
        column
        for name in WITH_COLUMNS
        for column in (
            (higher_better if name in HIGHER_IS_BETTER else lower_better)(
                f"baseline_{name}_ratio",
                f"{name} to baseline",
                "",
                f"{name} over the baseline's, from pairs of rounds of the same number.",
            ),
            *(
                (higher_better if name in HIGHER_IS_BETTER else lower_better)(
                    f"baseline_{name}_ci_{end}",
                    f"{name} to baseline {word}",
                    "",
                    f"The {side} end of the interval of that ratio that decided the verdict.",
                )
                for end, word, side in (("low", "from", "lower"), ("high", "to", "upper"))
            ),
            text(
                f"baseline_{name}_verdict",
                f"{name} verdict",
                "faster, slower, same or undecided: all verdicts of the run judged together.",
            ),
        )
    ),
    text("baseline_verdict_reason", "Verdict reason", "Why a verdict is undecided, by figure."),
)


LATE = (
    number("deadline_us", "Deadline (µs)", "us", "What --deadline asked for.", group="settings"),
    count(
        "deadline_misses",
        "Deadline misses",
        "Runs of all rounds that took longer than the deadline.",
    ),
    lower_better(
        "deadline_miss_rate",
        "Miss rate",
        "",
        "The fraction of all runs that took longer than the deadline.",
    ),
    lower_better(
        "deadline_miss_rate_ci_low",
        "Miss rate from",
        "",
        "The lower end of its 95 % interval.",
        group="confidence",
    ),
    lower_better(
        "deadline_miss_rate_ci_high",
        "Miss rate to",
        "",
        "The upper end of its 95 % interval.",
        group="confidence",
    ),
    text(
        "deadline_ci_missing_reason",
        "Miss rate interval missing",
        "Why that interval is empty.",
        group="confidence",
    ),
)


PATTERNS = (
    number(
        "mode_low_us",
        "Lower level (µs)",
        "us",
        "Where the runs of most rounds jump between two levels, the lower; empty where they don't.",
    ),
    number("mode_high_us", "Upper level (µs)", "us", "The upper one of these levels."),
    number(
        "mode_high_fraction", "At upper level", "", "The fraction of the runs at the upper level."
    ),
    count("stalls", "Stalls", "How many slow runs came at even distances; empty where none did."),
    number("stall_us", "Stall (µs)", "us", "By how much such a stall outlasts the median run."),
    number("stall_period_us", "Stalls every (µs)", "us", "The time from one stall to the next."),
    number(
        "stall_fraction", "In stalls", "", "The fraction of the measured time that stalls took."
    ),
)
