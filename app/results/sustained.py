"""The columns of a case whose rounds were sustained: its end held against its beginning."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.cases.case import Case
from app.cases.column import Row
from app.cases.reading import CPU_DEVICE
from app.cases.round import RoundResult
from app.results.folder import TELEMETRY, telemetry_name
from app.results.telemetry import read_readings
from app.stats.sustained import MINUTE_S, Ends, ends
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.execution import Samples

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
    values |= {f"sustained_{name}_ratio": _median(_ratios(found, name)) for name in ("p50", "p99")}
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


def _ratios(found: Iterable[Ends], name: str) -> list[float]:
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
