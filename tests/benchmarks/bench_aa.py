"""How often a run of cases compared with themselves has any wrong verdict, by cases and rounds."""

from __future__ import annotations

import sys

from tests.simulated.aa import PROCESSES, wrong_runs

ROUNDS = (3, 4, 5, 8, 16)
CASES = {1: 1000, 10: 300, 100: 100}
"""The number of cases, and of runs that are drawn with so many."""


def main() -> None:
    """A Markdown table: of 100 runs, those with a wrong verdict, with 1, 10 and 100 cases."""
    heads = " | ".join(map(str, ROUNDS))
    counts = ", ".join(f"{runs:,} of {cases}" for cases, runs in CASES.items())
    sys.stdout.write(f"% of runs with any wrong verdict, runs and cases: {counts}\n\n")
    sys.stdout.write(f"| processes | {heads} |\n| --- |" + " --- |" * len(ROUNDS) + "\n")
    for processes in PROCESSES:
        cells = []
        for rounds in ROUNDS:
            wrong = [
                100.0 * wrong_runs(processes, cases, rounds, runs) / runs
                for cases, runs in CASES.items()
            ]
            cells.append(", ".join(f"{share:.1f}" for share in wrong))
        sys.stdout.write(f"| {processes.name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
