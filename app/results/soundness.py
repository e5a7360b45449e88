"""Whether the samples of a round are those that its journal line tells of.

A line is on disk after its samples, so what differs was changed since: cut, overwritten, gone.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.cases.errors import FileError
from app.cases.round import FIRST_SEEN, MEASURED, WARMUP, RoundResult, latency_ns
from app.results.run import SAMPLES, Run, read_records

_TIMES = ("started_ns", "finished_ns")
_LONGEST_NS = 366 * 24 * 3600 * 10**9


def damage(run: Path, result: RoundResult) -> str:
    """What is wrong with a round's samples, in words that follow the file's name; else ""."""
    if not result.samples:
        return ""
    path = run.joinpath(SAMPLES, result.samples)
    try:
        records = read_records(path)
    except FileError as error:
        return error.fault
    wanted = result.warmup_iterations + result.iterations
    if len(records) < wanted:
        return f"holds {len(records):,} of {wanted:,} samples"
    phases = records["phase"]
    # Runs after a pause, as between blocks, do not count either and have the phase of warm-up.
    measured = np.count_nonzero(phases == MEASURED)
    known = measured == len(phases) or np.isin(phases, (WARMUP, MEASURED, FIRST_SEEN)).all()
    if not known or measured != result.iterations:
        return "has other measured runs than the journal counted"
    times = _TIMES if result.open_loop is None else (*_TIMES, "scheduled_ns")
    if any(_extent_ns(records[name]) > _LONGEST_NS for name in times):
        return "has times that are further apart than a round can last"
    # By their difference, which tells of times too far apart for it as well.
    waited_ns = latency_ns(records, result.open_loop is not None)
    if (records["finished_ns"] - records["started_ns"] < 0).any() or (waited_ns < 0).any():
        return "has runs that end before they start"
    by_shape = "shapes_sha256" in result.facts
    lanes = records["lane"]
    within = not len(lanes) or 0 <= lanes.min() <= lanes.max() < result.concurrency
    if not by_shape and not within:
        return f"has lanes beyond the {result.concurrency} that there were"
    if result.samples_crc32 is not None and zlib.crc32(records.data) != result.samples_crc32:
        return "is not what was measured: its checksum differs"
    return ""


def _extent_ns(times: np.ndarray) -> int:
    """As a Python number, which has room for the difference of any two times."""
    return int(times.max()) - int(times.min()) if len(times) else 0


def sound(run: Run) -> Run:
    """The run without its damaged rounds, which it names with what is wrong."""
    damaged = {
        case_id: found
        for case_id, rounds in run.rounds.items()
        if (found := {n: what for n, r in rounds.items() if (what := damage(run.path, r))})
    }
    if not damaged:
        return run
    whole = {
        case_id: {n: r for n, r in rounds.items() if n not in damaged.get(case_id, {})}
        for case_id, rounds in run.rounds.items()
    }
    return replace(run, rounds=whole, damaged=damaged)
