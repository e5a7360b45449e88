"""The mean clock of the cores that ran a case, by which its times become clock cycles."""

from __future__ import annotations

import statistics

from app.cases.case import Case
from app.machine.available import runtime
from app.results.run import Run
from runtimes import registry
from runtimes.registry import parse_spec


def mean_clock_mhz(run: Run, case: Case) -> float | None:
    """The geometric mean over the case's timed rounds; None where a round does not tell it, or
    where cores do not compute: on a device of its own, or on a simulated clock."""
    name = parse_spec(case.runtime).name
    if name not in registry.names() or runtime(name).accelerator:
        return None
    rounds = [result for result in run.rounds_of(case) if result.iterations]
    clocks = [result.environment.get("cpu_mhz") for result in rounds if result.clock == "wall"]
    known = [clock for clock in clocks if clock and clock > 0]
    return statistics.geometric_mean(known) if known and len(known) == len(rounds) else None
