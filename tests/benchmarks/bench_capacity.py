"""Searches for the highest rate on the virtual clock, beside the rate that is true there."""

from __future__ import annotations

import math
import sys

import numpy as np

from tests.simulated.servers import SERVERS, Server, search

TRIES = 40
HEADINGS = (
    "server",
    "p99 at most",
    "true rate",
    "utilisation",
    "estimate, bias %",
    "sd %",
    "promise above the truth",
    "at most %",
    "shortfall %",
    "bracket %",
    "rounds",
)


def main() -> None:
    """A Markdown table: how far the estimates are off, how often the promised rate is more than the
    server holds and by how much at most, and the medians of how much less it is, of how wide the
    bracket is and of the rounds. In the last rows rounds of one number meet the same gaps at every
    rate."""
    sys.stdout.write("| " + " | ".join(HEADINGS) + " |\n" + "| --- " * len(HEADINGS) + "|\n")
    for server, common in (
        *((kind, False) for kind in SERVERS),
        *((kind, True) for kind in SERVERS),
    ):
        sys.stdout.write("| " + " | ".join(_row(server, common)) + " |\n")
        sys.stdout.flush()


def _row(server: Server, common: bool) -> list[str]:
    true_hz = server.true_hz()
    best, low, width, rounds = [], [], [], []
    for seed in range(TRIES):
        bracket, capacity_search = search(server, seed, common=common)
        estimate = capacity_search.estimate()
        assert estimate is not None
        best.append(estimate.best_hz / true_hz - 1.0)
        low.append((bracket.low_hz or 0.0) / true_hz - 1.0)
        width.append((bracket.high_hz or math.inf) / (bracket.low_hz or 1e-9) - 1.0)
        rounds.append(capacity_search.spent)
    return [
        server.name + ", common gaps" * common,
        f"{server.limit:g} services",
        f"{true_hz:.0f}/s",
        f"{true_hz / server.capacity_hz:.2f}",
        f"{100 * np.mean(best):+.1f}",
        f"{100 * np.std(best, ddof=1):.1f}",
        f"{sum(error > 0 for error in low)} of {TRIES}",
        f"{100 * max(low):+.1f}",
        f"{-100 * np.median(low):.1f}",
        f"{100 * np.median(width):.1f}",
        f"{np.median(rounds):.0f}",
    ]
