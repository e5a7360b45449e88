"""Latencies in HdrHistogram's two formats: a log of compressed histograms, and percentile tables.

A histogram keeps values to three significant digits, so a percentile read off it may lie 0.1 % away
from that of the samples. Values are nanoseconds throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from app.cases.round import MEASURED, RoundResult
from app.results.atomic import own_subfolder, replacing, write_atomically
from app.results.exports.records import recorded
from app.results.labels import case_label
from app.results.measured import Measured
from app.results.plain import one_line
from app.results.round_times import epoch_s
from app.results.run import Run

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

LOG, TABLES = "latency.hlog", "hgrm"
DIGITS = 3
_LONGEST_NS = 24 * 3600 * 10**9
"""A day: all histograms have one range, so that they can be added."""


def export_hdr(run: Run, _: Sequence[Measured]) -> tuple[Path, ...]:
    """Write `latency.hlog`, a line for each round, and `hgrm/CASE.hgrm`, all rounds of a case.

    The measured samples, in the log's format 1.2: the tag is the case's id, start and length are
    those of the round, and of an open loop the latency counts from when a run was due.
    """
    lines = [
        "#[Histogram log format version 1.2]",
        "#[latencies in nanoseconds; a tag is a case_id, an interval a round]",
        *(f"#[{case.case_id} is {one_line(case_label(case))}]" for case in run.cases),
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    of_case: dict[str, HdrHistogram] = {}
    for one in recorded(run):
        latency = one.latency_ns[one.records["phase"] == MEASURED]
        if not len(latency):
            continue
        histogram = _histogram(latency)
        lines.append(_line(one.result, histogram))
        of_case.setdefault(one.case.case_id, _empty()).add(histogram)
    log = run.path / LOG
    write_atomically(log, ("\n".join(lines) + "\n").encode())
    if not of_case:
        return (log,)
    folder = own_subfolder(run.path, TABLES)
    return log, *(_table(folder, name, whole) for name, whole in of_case.items())


def _histogram(latency_ns: np.ndarray) -> HdrHistogram:
    histogram = _empty()
    values, counts = np.unique(np.maximum(latency_ns, 1), return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        histogram.record_value(value, count)
    return histogram


def _empty() -> HdrHistogram:
    from hdrh.histogram import HdrHistogram

    return HdrHistogram(1, _LONGEST_NS, DIGITS)


def _line(result: RoundResult, histogram: HdrHistogram) -> str:
    payload = histogram.encode().decode("ascii")
    largest_s = histogram.get_max_value() / 1e9
    begun_s = epoch_s(result.started_at_utc) or 0.0
    return f"Tag={result.case_id},{begun_s:.3f},{result.duration_s:.3f},{largest_s:.9f},{payload}"


def _table(folder: Path, case_id: str, histogram: HdrHistogram) -> Path:
    path = folder / f"{case_id}.hgrm"
    with replacing(path) as file:
        histogram.output_percentile_distribution(file, 1)
    return path
