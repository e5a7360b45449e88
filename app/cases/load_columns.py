"""The columns of load as it arrives: what an open loop adds to those of latency."""

from __future__ import annotations

from app.cases.column import Column, count, less, number, text

LOAD = (
    less(
        "service_p50_us",
        "Service p50 (µs)",
        "us",
        "Of an open loop the median from a run's own start, of all rounds' samples together. Its "
        "latency counts from when the run was due.",
    ),
    less("service_p90_us", "Service p90 (µs)", "us", "90 of 100 runs took at most so long."),
    less("service_p99_us", "Service p99 (µs)", "us", "99 of 100 runs took at most so long."),
    less(
        "queue_p50_us", "Queue p50 (µs)", "us", "The median from when a run was due to its start."
    ),
    less("queue_p99_us", "Queue p99 (µs)", "us", "99 of 100 runs waited at most so long."),
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
    number(
        "ramp_up_s",
        "Ramp-up (s)",
        "s",
        "How long this beginning takes in the longest of the rounds.",
    ),
    text(
        "schedule_sha256",
        "Schedule sha256",
        "Names when the requests came: the sha256 of the rounds' own, a line each, in their order.",
        group="other",
    ),
)
