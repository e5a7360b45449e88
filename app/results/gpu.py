"""The GPUs that the rounds of a case computed on: how each was set, and what to doubt for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.cases.case import Case
from app.cases.column import Row, Value
from app.cases.round import RoundResult
from app.results.warned import joined

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


def gpu_warnings(case: Case, row: Row) -> list[str]:
    """What moved or shared the GPU while it was timed."""
    said = []
    low, high = row["gpu_clock_min_mhz"], row["gpu_clock_max_mhz"]
    if isinstance(low, int | float) and isinstance(high, int | float) and high > STEADY * low:
        said.append(
            f"the GPU's clock moved between {low:g} and {high:g} MHz: "
            "lock it with sudo nvidia-smi -lgc MHZ"
        )
    if row["gpu_clock_min_mhz"] is not None and row["throttle"] not in (None, "none"):
        said.append(
            f"the GPU's clock was held down ({row['throttle']}): "
            "cool it, raise its power limit, or lock a lower clock"
        )
    others = row["gpu_others"]
    if isinstance(others, int) and others and case.condition.kind != "with":
        said.append(
            f"{others} other process{'es' * (others > 1)} had the GPU open: "
            "end what nvidia-smi lists"
        )
    if row["gpu_persistence"] is False:
        said.append("the GPU's persistence mode is off: sudo nvidia-smi -pm 1")
    return said


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _all(values: Iterable[bool | None]) -> Value:
    known = [value for value in values if value is not None]
    return all(known) if known else None
