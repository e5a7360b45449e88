"""How often intervals and bounds hold on simulated machines, by the number of rounds."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from tests.simulated.held_out import HELD_OUT
from tests.simulated.machine_coverage import BOUNDED, FIGURES, MLPERF, RUNS, Count, covered
from tests.simulated.machines import MACHINES, Machine

ROUNDS = (3, 5, 8, 10)
TRIES = 300


def main() -> None:
    """Three Markdown tables: intervals on the kinds that the method was tried on and on those held
    out, and bounds on all kinds."""
    sys.stdout.write(
        f"{TRIES} tries a cell, rounds of {RUNS:,} runs: {', '.join(FIGURES)} of unmarked "
        "intervals, in % of these; in brackets without an interval or marked for correlation, in % "
        "of the tries\n"
    )
    bounds = []
    for machines in (MACHINES, HELD_OUT):
        heads = " | ".join(f"{rounds} rounds" for rounds in ROUNDS)
        sys.stdout.write(f"\n| machine | {heads} | half width, % at 8 |\n")
        sys.stdout.write("| --- |" + " --- |" * (len(ROUNDS) + 1) + "\n")
        for machine in machines:
            counts = {rounds: covered(machine, rounds, TRIES) for rounds in ROUNDS}
            cells = [
                ", ".join(_share(by_name[name]) for name in FIGURES) for by_name in counts.values()
            ]
            widths = [_percent(counts[8][name].half_width, 1) for name in FIGURES]
            sys.stdout.write(f"| {' | '.join([machine.name, *cells, ', '.join(widths)])} |\n")
            sys.stdout.flush()
            bounds.append(_bounds_line(machine, counts))
    sys.stdout.write("\n| machine | 5 rounds | 8 rounds | MLPerf, 8 rounds |\n")
    sys.stdout.write("| --- |" + " --- |" * 3 + "\n")
    sys.stdout.write("".join(f"{line}\n" for line in bounds))


def _bounds_line(machine: Machine, counts: Mapping[int, Mapping[str, Count]]) -> str:
    bounds = [
        ", ".join(_share(counts[rounds][f"{name} bound"]) for name in BOUNDED) for rounds in (5, 8)
    ]
    return f"| {' | '.join([machine.name, *bounds, _share(counts[8][MLPERF])])} |"


def _share(count: Count) -> str:
    if count.unmarked < count.tries / 10:
        return "-"
    withheld_percent = round(100 * count.withheld)
    return _percent(count.share, 0) + (f" ({withheld_percent})" if withheld_percent else "")


def _percent(share: float, digits: int) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f}"
