"""Change points of histories: false alarms without a change, and how often a slowdown is found."""

from __future__ import annotations

import sys

import numpy as np

from app.stats.change_points import MINIMUM_RUNS, change_points
from tests.simulated.histories import STATIONARY, Noise, history, linked

ALONE, TOGETHER, POWER = 1000, 200, 100
LINKED = {f"AR {rho}, a limit": linked(rho) for rho in (0.2, 0.4, 0.6)}
BANDS = (0.0, 0.02)


def alarms(noise: Noise, runs: int, series: int, tries: int, band: float) -> float:
    """The share of histories in which some series shows a change."""
    rng = np.random.default_rng(runs * 1000 + series)
    wrong = 0
    for _ in range(tries):
        wrong += any(change_points([history(rng, noise, runs) for _ in range(series)], band))
    return wrong / tries


def found(noise: Noise, runs: int, slower: slice, series: int, tries: int) -> float:
    """The share in which the beginning of `slower` is told, to a run, among so many series."""
    rng = np.random.default_rng(runs * 1000 + series + 7)
    detections = 0
    for _ in range(tries):
        latencies = history(rng, noise, runs, slower=slower)
        changes = change_points([latencies, *[[100.0] * MINIMUM_RUNS] * (series - 1)])[0]
        detections += any(abs(change.place - slower.start) <= 1 for change in changes)
    return detections / tries


def main() -> None:
    """Two Markdown tables, in percent."""
    sys.stdout.write("false alarms, runs differ by 1 %: band 0, band 2 %\n\n")
    sys.stdout.write("| runs | 10 alone | 20 alone | 60 alone | 20 of 20 series |\n")
    sys.stdout.write("| --- |" + " --- |" * 4 + "\n")
    for name, noise in (STATIONARY | LINKED).items():
        cells = []
        for runs, series, tries in (
            (10, 1, ALONE),
            (20, 1, ALONE),
            (60, 1, ALONE),
            (20, 20, TOGETHER),
        ):
            shares = [alarms(noise, runs, series, tries, band) for band in BANDS]
            cells.append(", ".join(f"{100 * share:.1f}" for share in shares))
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
    sys.stdout.write("\na slowdown of 5 % found, alone and among 100 series\n\n")
    sys.stdout.write("| runs | 10 after 10 | the last 4 of 30 | runs 10 to 20 of 30 |\n")
    sys.stdout.write("| --- |" + " --- |" * 3 + "\n")
    for name, noise in STATIONARY.items():
        cells = []
        for runs, slower in ((20, slice(10, 20)), (30, slice(26, 30)), (30, slice(10, 20))):
            shares = [found(noise, runs, slower, series, POWER) for series in (1, 100)]
            cells.append(", ".join(f"{100 * share:.0f}" for share in shares))
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
