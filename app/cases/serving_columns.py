"""Columns of a served load: open loop, batcher, replicas, sessions of several shapes."""

from __future__ import annotations

from app.cases.column import Column, count, lower_better, number, text

LOAD = (
    lower_better(
        "service_p50_us",
        "Service p50 (µs)",
        "us",
        "Of an open loop the median from a run's own start, of all rounds' samples together. Its "
        "latency counts from when the run was due.",
    ),
    lower_better(
        "service_p90_us", "Service p90 (µs)", "us", "90 of 100 runs took at most so long."
    ),
    lower_better(
        "service_p99_us", "Service p99 (µs)", "us", "99 of 100 runs took at most so long."
    ),
    lower_better(
        "queue_p50_us", "Queue p50 (µs)", "us", "The median from when a run was due to its start."
    ),
    lower_better("queue_p99_us", "Queue p99 (µs)", "us", "99 of 100 runs waited at most so long."),
    Column(
        "achieved_rate_hz",
        "number",
        "Achieved rate (1/s)",
        "Requests answered per second of an open loop, over all rounds; compare offered_rate_hz.",
        "1/s",
        "higher",
        group="throughput",
    ),
    number(
        "utilisation",
        "Utilisation",
        "",
        "The share of the lanes' time that the asked rate needs: from 1 on they can't keep up.",
        group="throughput",
    ),
    count(
        "backlog_at_end",
        "Backlog",
        "Requests that were due and not begun when their round ended.",
        group="throughput",
    ),
    count(
        "ramp_up_requests",
        "Ramp-up requests",
        "Requests that are not counted, at the beginning of the rounds, in which the "
        "queue reaches its steady state. Their samples are kept.",
    ),
    text(
        "schedule_sha256",
        "Schedule sha256",
        "Names when the requests came: the sha256 of the rounds' own, a line each, in their order.",
        group="other",
    ),
)


BATCHER = (
    text(
        "batcher",
        "Batcher",
        "The dynamic batcher before the model: the most requests that are sent together, and how "
        "long the oldest waits for others.",
        group="settings",
        family="identity",
    ),
    number(
        "batch_size_mean",
        "Mean batch",
        "",
        "The mean number of requests in a batch.",
        group="throughput",
    ),
    number(
        "batch_fill_fraction",
        "Batch fill",
        "",
        "The fraction of the places in the batches that held a request; the others were padding.",
        group="throughput",
    ),
    *(
        lower_better(
            f"batcher_wait_{name}_us",
            f"Batcher {name} (µs)",
            "us",
            f"{meaning} of what the batcher added: how long a request waited while the server was "
            "free.",
        )
        for name, meaning in (("p50", "The median"), ("p99", "p99"))
    ),
)


SCALING = (
    text(
        "scaling_baseline_case_id",
        "Scaling baseline",
        "The case_id of the same case with one session and one stream, on its first device.",
        group="other",
    ),
    number(
        "replicas",
        "Replicas",
        "",
        "How many times as many runs are in flight as alone: sessions, streams, or both, on one "
        "device or on several.",
        group="settings",
    ),
    Column("speedup", "number", "Speedup", "Inputs in a second over those alone.", "", "higher"),
    Column(
        "scaling_efficiency",
        "number",
        "Efficiency",
        "The speedup over the replicas: 1 where each serves as much as one alone.",
        "",
        "higher",
    ),
    Column(
        "scaling_efficiency_ci_low",
        "number",
        "Efficiency from",
        "The lower end of its 95 % interval, from pairs of rounds.",
        "",
        "higher",
        group="confidence",
    ),
    Column(
        "scaling_efficiency_ci_high",
        "number",
        "Efficiency to",
        "The upper end of its 95 % interval.",
        "",
        "higher",
        group="confidence",
    ),
    text(
        "scaling_missing_reason",
        "Efficiency missing",
        "Why it is empty although the scaling baseline was measured.",
        group="confidence",
    ),
)


SHAPES = (
    count(
        "shapes",
        "Shapes",
        "How many shapes the session serves; latencies are of all together.",
        group="settings",
    ),
    text(
        "shapes_sha256",
        "Shapes sha256",
        "Names which shapes came and in which order: the sha256 of the rounds' own, a line each.",
        group="other",
    ),
    count(
        "first_runs",
        "First runs",
        "First runs of a shape in a process, without the first run of the process.",
        group="other",
    ),
    lower_better(
        "first_run_p50_us",
        "First run p50 (µs)",
        "us",
        "The median of these runs; empty if there are too few.",
    ),
    lower_better(
        "first_run_p99_us",
        "First run p99 (µs)",
        "us",
        "The 99th percentile of these runs; empty if there are too few.",
    ),
    number(
        "first_run_slowdown",
        "First run slowdown",
        "",
        "A first run over the median of the later runs of its shape in that process: the "
        "median of these ratios.",
    ),
)
