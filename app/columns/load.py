"""Columns of load: open loop, batcher, sessions of several shapes, sustained rounds."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import FIRST_SEEN, MEASURED, OpenLoop, RoundResult, latency_ns
from app.cases.telemetry import CPU_DEVICE
from app.run_folder.folder import TELEMETRY, telemetry_name
from app.run_folder.run import SAMPLES, Run, read_records
from app.run_folder.telemetry import read_readings
from app.stats.open_loop import collected
from app.stats.quantiles import supported_quantile
from app.stats.steadiness import MINUTE_S, Ends, ends
from app.stats.summary import Summary
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import axes_key
from runtimes.execution import Samples

LATE_SHARE = 0.1
"""A generator whose lateness is more of the latency that is told, at p50 or at p99, was late."""


def load_columns(rounds: Sequence[RoundResult], summary: Summary | None) -> Row:
    """What became of the requests; empty where the scenario is no open loop."""
    became = _became(rounds)
    if not became:
        return {}
    named = "\n".join(one.schedule_sha256 for one in became)
    values: Row = {
        "achieved_rate_hz": _served_hz(became),
        "utilisation": sum(one.utilisation for one in became) / len(became),
        "backlog_at_end": sum(one.left for one in became),
        "ramp_up_requests": sum(one.start_requests for one in became),
        "ramp_up_s": max(one.start_s for one in became),
        "schedule_sha256": hashlib.sha256(named.encode()).hexdigest(),
    }
    if summary is not None:
        values |= {f"service_{name}_us": value for name, value in (summary.service or {}).items()}
        values |= {f"queue_{name}_us": value for name, value in (summary.queue or {}).items()}
    return values


def load_warnings(case: Case, rounds: Sequence[RoundResult], row: Row) -> list[Diagnostic]:
    """Why what the row tells of an open loop is not valid: an overload, a late generator."""
    became = _became(rounds)
    return [*_overload(case, became), *_late(row)] if became else []


def _became(rounds: Sequence[RoundResult]) -> list[OpenLoop]:
    return [result.open_loop for result in rounds if result.open_loop is not None]


def _served_hz(became: Sequence[OpenLoop]) -> float:
    return sum(one.due - one.left for one in became) / sum(one.seconds for one in became)


def _overload(case: Case, became: Sequence[OpenLoop]) -> Iterator[Diagnostic]:
    over = [one for one in became if one.overloaded]
    if over:
        yield diagnostic(
            "overloaded",
            offered_hz=case.scenario.arrivals_hz,
            served_hz=_served_hz(over),
            left=sum(one.left for one in over),
        )


def _late(row: Row) -> Iterator[Diagnostic]:
    for name in ("p50", "p99"):
        late, latency = row[f"schedule_slip_{name}_us"], row[f"latency_{name}_us"]
        if isinstance(late, float) and isinstance(latency, float) and late > LATE_SHARE * latency:
            yield diagnostic(
                "load_generator_late", percentile=name, late_us=late, latency_us=latency
            )
            return


def batcher_columns(case: Case, rounds: Sequence[Samples]) -> Row:
    """Of all rounds' requests together; {} without a batcher or samples."""
    if case.batcher is None:
        return {}
    told = [collected(samples, case.batcher) for samples in rounds]
    held, places, added_ns = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(one, part) for one in told)])
        for part in ("held", "places", "added_ns")
    )
    if not len(held):
        return {}
    added_us = np.sort(added_ns) / 1e3
    return {
        "batch_size_mean": float(held.mean()),
        "batch_fill_fraction": float(held.sum() / places.sum()),
        "batcher_wait_p50_us": supported_quantile(added_us, 0.5),
        "batcher_wait_p99_us": supported_quantile(added_us, 0.99),
    }


@dataclass(frozen=True, slots=True)
class ShapeRuns:
    """One shape's runs of all rounds, in microseconds ascending: `first_us` [rounds at most] and
    `seen_us` [n]. `ratios` [rounds at most] are each first run over the median of the later ones
    of its process; `share` is how much of all later runs these are."""

    sizes: str
    first_us: np.ndarray
    seen_us: np.ndarray
    ratios: tuple[float, ...]
    share: float


def shape_runs(run: Run, case: Case) -> tuple[ShapeRuns, ...]:
    """Of each shape in the order of its file; () for a case of one shape, or without samples."""
    timed = [result for result in run.rounds_of(case) if result.samples]
    if not case.condition.points or not timed:
        return ()
    rounds = [read_records(run.path / SAMPLES / result.samples) for result in timed]
    seen_of_all = sum(int(np.count_nonzero(own["phase"] == MEASURED)) for own in rounds)
    return tuple(
        _of_shape(number, axes_key(point), rounds, seen_of_all)
        for number, point in enumerate(case.condition.points)
    )


def _of_shape(number: int, sizes: str, rounds: Sequence[np.ndarray], seen_of_all: int) -> ShapeRuns:
    own = [records[records["lane"] == number] for records in rounds]
    first = [_us(records[records["phase"] == FIRST_SEEN]) for records in own]
    seen = [_us(records[records["phase"] == MEASURED]) for records in own]
    together = np.sort(np.concatenate(seen))
    return ShapeRuns(
        sizes,
        np.sort(np.concatenate(first)),
        together,
        tuple(_ratios(first, seen)),
        len(together) / max(seen_of_all, 1),
    )


def _us(records: np.ndarray) -> np.ndarray:
    return latency_ns(records) / 1e3


def _ratios(first: Sequence[np.ndarray], seen: Sequence[np.ndarray]) -> Iterator[float]:
    for one, others in zip(first, seen, strict=True):
        if len(one) and len(others):
            yield float(one[0] / np.median(others))


def shape_columns(run: Run, case: Case, rounds: Sequence[RoundResult]) -> Row:
    """Of all shapes together; {} for a case of one, or without samples."""
    found = shape_runs(run, case)
    if not found:
        return {}
    first = np.sort(np.concatenate([one.first_us for one in found]))
    ratios = [ratio for one in found for ratio in one.ratios]
    named = "\n".join(str(result.facts["shapes_sha256"]) for result in rounds)
    return {
        "shapes": len(found),
        "shapes_sha256": hashlib.sha256(named.encode()).hexdigest(),
        "first_runs": len(first),
        "first_run_p50_us": supported_quantile(first, 0.5),
        "first_run_p99_us": supported_quantile(first, 0.99),
        "first_run_slowdown": float(np.median(ratios)) if ratios else None,
    }


_OF_MACHINE = tuple(
    f"sustained_{place}_{name}"
    for name in ("clock_mhz", "temperature_c")
    for place in ("first", "last")
)
LASTED = 0.95
"""A round that lasted less than so much of what was asked for is warned of."""


def sustained_columns(
    case: Case, run: Path, rounds: Sequence[RoundResult], samples: Sequence[Samples]
) -> Row:
    """Medians over the rounds that were timed; {} of a case that was not sustained."""
    if case.condition.kind != "sustained" or not any(len(one.started_ns) for one in samples):
        return {}
    found = [ends(one, case.condition.seconds) for one in samples if len(one.started_ns)]
    slower = [one.slower_after_s for one in found if one.slower_after_s is not None]
    values: Row = {
        f"sustained_{place}_{name}_us": _median(getattr(one, f"{place}_{name}_us") for one in found)
        for name in ("p50", "p99")
        for place in ("first", "last")
    }
    values |= {
        f"sustained_{name}_ratio": _median(_sustained_ratios(found, name))
        for name in ("p50", "p99")
    }
    values["sustained_window"] = _compared(found[0].part_s)
    values["sustained_slowdown_after_s"] = _median(slower) if 2 * len(slower) > len(found) else None
    parts_s = [one.part_s for one in found]
    told = [_of_machine(run, *one) for one in zip(rounds, samples, parts_s, strict=True)]
    known = {name: [one[name] for one in told if name in one] for name in _OF_MACHINE}
    return values | {name: _median(of) for name, of in known.items()}


def sustained_warnings(case: Case, rounds: Sequence[RoundResult]) -> list[Diagnostic]:
    """Whether rounds were shorter than what was asked for."""
    asked_s = case.condition.seconds
    short = [one for one in rounds if one.samples and one.duration_s < LASTED * asked_s]
    if not short:
        return []
    return [diagnostic("rounds_cut_short", rounds=len(short), seconds=asked_s)]


def _compared(part_s: float) -> str:
    if part_s == MINUTE_S:
        return "first and last minute"
    return f"first and last tenth ({part_s:g} s), for want of two minutes"


def _sustained_ratios(found: Iterable[Ends], name: str) -> list[float]:
    pairs = ((getattr(e, f"first_{name}_us"), getattr(e, f"last_{name}_us")) for e in found)
    return [last / first for first, last in pairs if first and last]


def _of_machine(
    run: Path, result: RoundResult, samples: Samples, part_s: float
) -> dict[str, float]:
    """Clock and temperature of what computed: a GPU as it was read, else the core that timed."""
    path = run / TELEMETRY / telemetry_name(result.case_id, result.round)
    gpu = [reading for reading in read_readings(path) if reading.device != CPU_DEVICE]
    if not gpu:
        return {name: float(result.facts[name]) for name in _OF_MACHINE if name in result.facts}
    begun_ns, ended_ns = samples.started_ns.min(), samples.started_ns.max()
    parts = {
        "first": (begun_ns, begun_ns + part_s * 1e9),
        "last": (ended_ns - part_s * 1e9, ended_ns),
    }
    return {
        f"sustained_{place}_{name}": told
        for place, (low, high) in parts.items()
        for name in ("clock_mhz", "temperature_c")
        if (told := _mean(getattr(r, name) for r in gpu if low <= r.time_ns <= high)) is not None
    }


def _median(values: Iterable[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return statistics.median(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
