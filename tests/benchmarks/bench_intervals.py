"""How often intervals and bounds hold on simulated machines, by the number of rounds."""

from __future__ import annotations

import math
import sys

from tests.simulated.held_out import HELD_OUT
from tests.simulated.machine_coverage import BOUNDED, FIGURES, MLPERF, RUNS, Count, covered
from tests.simulated.machines import MACHINES, Machine

ROUNDS = (3, 5, 8, 10)
TRIES = 300


def main() -> None:
    """Two Markdown tables, of the kinds that the method was tried on and of those held out."""
    sys.stdout.write(
        f"{TRIES} tries a cell, rounds of {RUNS:,} runs: {', '.join(FIGURES)} of unmarked "
        "intervals, in % of these; in brackets without an interval or marked for correlation, in % "
        "of the tries\n"
    )
    for machines in (MACHINES, HELD_OUT):
        heads = " | ".join(map(str, ROUNDS))
        sys.stdout.write(
            f"\n| machine | {heads} | half width, % at 8 | bounds at 5 | at 8 | MLPerf at 8 |\n"
        )
        sys.stdout.write("| --- |" + " --- |" * (len(ROUNDS) + 4) + "\n")
        for machine in machines:
            sys.stdout.write(f"{_line(machine)}\n")
            sys.stdout.flush()


def _line(machine: Machine) -> str:
    counts = {rounds: covered(machine, rounds, TRIES) for rounds in ROUNDS}
    cells = [", ".join(_share(counts[rounds][name]) for name in FIGURES) for rounds in ROUNDS]
    widths = [_percent(counts[8][name].half_width, 1) for name in FIGURES]
    bounds = [
        ", ".join(_share(counts[rounds][f"{name} bound"]) for name in BOUNDED) for rounds in (5, 8)
    ]
    mlperf = _share(counts[8][MLPERF])
    return "| " + " | ".join([machine.name, *cells, ", ".join(widths), *bounds, mlperf]) + " |"


def _share(count: Count) -> str:
    if count.unmarked < count.tries / 10:
        return "-"
    without = round(100 * count.withheld)
    return _percent(count.share, 0) + (f" ({without})" if without else "")


def _percent(share: float, digits: int) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f}"
