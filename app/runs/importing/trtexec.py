"""The JSON of `trtexec --exportTimes`: the times of each query, by CUDA events."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.runs.importing.foreign_file import (
    Content,
    Damaged,
    ForeignCase,
    NoTimings,
    Timings,
    in_ns,
    objects,
    parse_number,
)
from exporters.diagnostics import diagnostic

_PERCENTILES = (90, 95, 99)
"""What trtexec prints unless `--percentile` says otherwise."""
_INPUT_TIMES = {"startH2dMs": "h2d", "startInMs": "in"}
"""The first copy by its name in the file -> the word that its duration has."""
_OUT = {"h2d": "d2h", "in": "out"}


def recognises(content: Content) -> bool:
    """Whether trtexec wrote it."""
    first = content.data[0] if isinstance(content.data, list) and content.data else None
    return isinstance(first, dict) and {"startComputeMs", "latencyMs"} <= first.keys()


def read(content: Content) -> list[ForeignCase]:
    """One case, whose runs are the queries; latency is the sum of both copies and the compute."""
    queries = objects(content.data, "the file")
    start = next((name for name in _INPUT_TIMES if name in queries[0]), None)
    if start is None:
        raise Damaged("no query has the start of its first copy")
    input_key, output_key = f"{_INPUT_TIMES[start]}Ms", f"{_OUT[_INPUT_TIMES[start]]}Ms"
    starts, copied_in, compute_ms, copied_out, latency = (
        _column(queries, name) for name in (start, input_key, "computeMs", output_key, "latencyMs")
    )
    if not latency.any():
        raise NoTimings("each query took no time at all")
    started_ns, durations_ns = in_ns((starts - starts.min()) * 1e6), in_ns(latency * 1e6)
    ascending = sorted(latency.tolist())
    figures: dict[str, float | int | str] = {
        "latency_mean_us": 1e3 * float(latency.mean()),
        "latency_min_us": 1e3 * ascending[0],
        "latency_p50_us": 1e3 * statistics.median(ascending),
        "latency_max_us": 1e3 * ascending[-1],
        "h2d_p50_us": 1e3 * statistics.median(copied_in.tolist()),
        "device_p50_us": 1e3 * statistics.median(compute_ms.tolist()),
        "d2h_p50_us": 1e3 * statistics.median(copied_out.tolist()),
    }
    for percentile in _PERCENTILES:
        figures[f"latency_p{percentile}_us"] = 1e3 * _percentile(ascending, percentile)
    copies = copied_in.any() or copied_out.any()
    old = "endToEndMs" in queries[0]
    return [
        ForeignCase(
            "",
            "CUDA events of trtexec",
            "copy in to copy out, on the device's timeline" if copies else "compute, no copies",
            figures=figures,
            rounds=(Timings(started_ns, started_ns + durations_ns),),
            warnings=(_WARM_UP,) if old else (),
        )
    ]


_WARM_UP = diagnostic("warm_up_included", "trtexec")


def _column(queries: Sequence[dict[str, Any]], name: str) -> np.ndarray:
    return np.array(
        [parse_number(query.get(name), f"{name} of query {n}") for n, query in enumerate(queries)]
    )


def _percentile(ascending: Sequence[float], percentile: float) -> float:
    """As trtexec takes it: what so large a share of the slowest leaves."""
    excluded_count = int((1 - percentile / 100) * len(ascending))
    return ascending[max(len(ascending) - 1 - excluded_count, 0)]
