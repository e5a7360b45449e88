"""How often a run of cases compared with themselves has any wrong verdict, by cases and rounds."""

from __future__ import annotations

import sys

from tests.simulated.aa import PROCESSES, WANDERING, Processes, wrong_runs

ROUNDS = (3, 4, 5, 8, 16)
CASES = {1: 1000, 10: 300, 100: 100}
"""The number of cases, and of runs that are drawn with so many."""


def main() -> None:
    """Two Markdown tables: of 100 runs, those with a wrong verdict, with 1, 10 and 100 cases."""
    counts = ", ".join(f"{runs:,} of {cases}" for cases, runs in CASES.items())
    sys.stdout.write(f"% of runs with any wrong verdict, runs and cases: {counts}\n\n")
    _write_table(PROCESSES)
    sys.stdout.write("\nthe same of sides that wander by themselves\n\n")
    _write_table(WANDERING)


def _write_table(kinds: tuple[Processes, ...]) -> None:
    heads = " | ".join(map(str, ROUNDS))
    sys.stdout.write(f"| processes | {heads} |\n| --- |" + " --- |" * len(ROUNDS) + "\n")
    for processes in kinds:
        cells = []
        for rounds in ROUNDS:
            wrong = [
                100.0 * wrong_runs(processes, cases, rounds, runs) / runs
                for cases, runs in CASES.items()
            ]
            cells.append(", ".join(f"{share:.1f}" for share in wrong))
        sys.stdout.write(f"| {processes.name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
