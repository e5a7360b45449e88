"""Sequential comparisons over 3 to 16 rounds: wrong verdicts of alike cases, rounds of changes."""

from __future__ import annotations

import sys
from statistics import median

import numpy as np

from app.cases.objectives import BAND
from app.stats.verdict import RoundPairs, judge_rounds
from tests.simulated.aa import PROCESSES, Processes, wrong_runs
from tests.simulated.sequential import endings

MAXIMUM = 16
CASES = {1: 2000, 10: 300}
"""The number of comparisons, and of runs that are drawn with so many."""
CHANGES = (0.0, 0.05, 0.1, 0.2, 0.5)
TRIES = 500


def main() -> None:
    """Two Markdown tables: wrong verdicts by kinds of processes, then changes at 3 % of noise."""
    counts = ", ".join(f"{runs:,} of {cases}" for cases, runs in CASES.items())
    sys.stdout.write(f"% of runs with any wrong verdict, runs and cases: {counts}\n\n")
    sys.stdout.write("| processes | sequential | fixed 16 | sequential, no threshold |\n")
    sys.stdout.write("| --- | --- | --- | --- |\n")
    for processes in PROCESSES:
        if processes.tick_us:
            continue  # what ticks leave open is the rows' own, and no figure of a round has it
        cells = [_wrong(processes, BAND), _wrong_fixed(processes), _wrong(processes, 0.0)]
        sys.stdout.write(f"| {processes.name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
    sys.stdout.write(
        "\n| change | called slower, % | rounds, median | fixed 16: called slower, % |\n"
    )
    sys.stdout.write("| --- | --- | --- | --- |\n")
    for change in CHANGES:
        results = endings(PROCESSES[0], (1, MAXIMUM), TRIES, change)
        count = sum(ending.verdicts[0].word == "slower" for ending in results)
        rounds = median(ending.rounds[0] for ending in results)
        fixed_count = _found_fixed(PROCESSES[0], change)
        shares = f"{100 * count / TRIES:.0f} | {rounds:g} | {100 * fixed_count / TRIES:.0f}"
        sys.stdout.write(f"| {100 * change:g} % | {shares} |\n")
        sys.stdout.flush()


def _wrong(processes: Processes, band: float) -> str:
    shares = []
    for cases, runs in CASES.items():
        results = endings(processes, (cases, MAXIMUM), runs, band=band)
        shares.append(100.0 * sum(ending.is_wrong_without_change for ending in results) / runs)
    return ", ".join(f"{share:.1f}" for share in shares)


def _wrong_fixed(processes: Processes) -> str:
    shares = (
        100.0 * wrong_runs(processes, cases, MAXIMUM, runs) / runs for cases, runs in CASES.items()
    )
    return ", ".join(f"{share:.1f}" for share in shares)


def _found_fixed(processes: Processes, change: float) -> int:
    """Of comparisons with all rounds and one look, those that were called slower."""
    rng = np.random.default_rng(35)
    shape = TRIES, MAXIMUM
    first, second = processes.figures(rng, shape), (1.0 + change) * processes.figures(rng, shape)
    return sum(
        judge_rounds([RoundPairs(*sides)])[0].word == "slower"
        for sides in zip(first, second, strict=True)
    )
