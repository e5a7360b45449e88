"""The GPUs that the rounds of a case computed on: how each was set, and what to doubt for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from app.cases.case import Case
from app.cases.column import Row, Value
from app.cases.round import RoundResult
from app.results.cells import joined
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic

STEADY = 1.02
"""Clocks come in steps of 15 MHz, about a hundredth of what they are under load."""


def gpu_columns(rounds: Sequence[RoundResult]) -> Row:
    """How it was set as each round began; what differed between them is told by each."""
    states = [
        state
        for result in rounds
        if "gpu" in result.environment
        for state in (result.environment["gpu"], *result.environment.get("other_gpus", ()))
    ]
    if not states:
        return {}
    return {
        "gpu_uuid": joined(state.uuid for state in states),
        "gpu_driver": joined(state.driver for state in states),
        "gpu_link": joined(state.link for state in states),
        "gpu_power_limit_w": _least(state.power_limit_w for state in states),
        "gpu_clock_limit_mhz": _least(state.clock_limit_mhz for state in states),
        "gpu_persistence": _all(state.persistence for state in states),
        "gpu_ecc": _all(state.ecc for state in states),
        "gpu_mig": _all(state.mig for state in states),
    }


def gpu_warnings(case: Case, row: Row) -> Iterator[Diagnostic]:
    """What moved or shared the GPU while it was timed."""
    low, high = row["gpu_clock_min_mhz"], row["gpu_clock_max_mhz"]
    if isinstance(low, int | float) and isinstance(high, int | float) and high > STEADY * low:
        yield diagnostic("gpu_clock_varied", low_mhz=low, high_mhz=high)
    if row["gpu_clock_min_mhz"] is not None and row["throttle_reasons"] not in (None, "none"):
        yield diagnostic("gpu_throttled", reasons=str(row["throttle_reasons"]))
    others = row["gpu_other_processes"]
    if isinstance(others, int) and others and case.condition.kind != "with":
        yield diagnostic("gpu_shared", processes=others)
    if row["gpu_persistence"] is False:
        yield diagnostic("gpu_persistence_off")


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _all(values: Iterable[bool | None]) -> Value:
    known = [value for value in values if value is not None]
    return all(known) if known else None
