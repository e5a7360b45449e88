"""`20us..1s`: short for a list of paced scenarios, to see how latency grows with idleness."""

from __future__ import annotations

from app.cases.errors import PlanError
from app.cases.scenario import Scenario
from app.plan.plan import Plan
from exporters.invalid_value import InvalidValue

LEAST_GAPS = 3
"""Two gaps are a comparison and no curve."""
_STEPS = (1, 2, 5)
LONGEST_S = 60.0
"""After a longer gap a round of any profile has too few runs for a median."""


def paced_scenarios(text: str) -> list[str]:
    """Both ends and all of 1, 2 and 5 times a power of ten between them; ValueError."""
    low, dots, high = text.partition("..")
    try:
        least_ns, most_ns = _nanoseconds(low), _nanoseconds(high)
    except ValueError:
        least_ns = most_ns = 0
    if not dots or not 0 < least_ns < most_ns:
        raise InvalidValue(f"{text!r} is no range of gaps", "write it like 20us..1s")
    if most_ns > LONGEST_S * 1e9:
        raise InvalidValue(f"{text!r} has gaps too long to measure", f"use at most {LONGEST_S:g}s")
    steps = (step * 10**power for power in range(12) for step in _STEPS)
    between = (gap_ns for gap_ns in steps if least_ns < gap_ns < most_ns)
    return [str(Scenario("paced", ns / 1e3)) for ns in (least_ns, *between, most_ns)]


def refuse_without_gaps(plan: Plan) -> None:
    """PlanError for a plan of which no curve over gaps can come."""
    paced = ({t for t in sweep.scenarios if t.startswith("paced")} for sweep in plan.sweeps)
    if max(map(len, paced)) < LEAST_GAPS:
        raise PlanError(
            "--plot draws latency over pauses, and the plan has fewer than three",
            "add --gaps 20us..1s, or leave --plot out",
        )


def _nanoseconds(word: str) -> int:
    return round(Scenario.parse(f"paced:{word.strip()}").gap_us * 1e3)
