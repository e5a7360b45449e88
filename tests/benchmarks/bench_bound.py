"""How often a p90 and a p99 are at most their one-sided bound of 99 %, with 1,000 tries each."""

from __future__ import annotations

import sys

from tests.simulated.bound_streams import FRESH
from tests.simulated.bounds import bounded, early_stopped
from tests.simulated.streams import AUDITED, UNSEEN

CELLS = ((5, 5000), (6, 2500), (8, 5000), (10, 5000))
TRIES = 1000


def main() -> None:
    """A Markdown table; `(44)` says in how many of 100 runs nothing was claimed, `-` is never.

    Beside it how often MLPerf's estimate of the p99 holds, from as many samples as the first cell.
    """
    heads = " | ".join(f"{rounds} x {runs:,}" for rounds, runs in CELLS)
    sys.stdout.write(f"p90, p99, {TRIES:,} tries\n\n| stream | {heads} | MLPerf's p99 |\n")
    sys.stdout.write("| --- |" + " --- |" * (len(CELLS) + 1) + "\n")
    for stream in (*FRESH, *AUDITED, *UNSEEN):
        sys.stdout.write(f"| {stream.name} ")
        for rounds, runs in CELLS:
            cells = []
            for tally in bounded(stream, rounds, runs, (0.9, 0.99), TRIES).values():
                unclaimed_share = 100 - round(100 * tally.claimed / tally.tries)
                share = "-" if tally.absent else f"{100 * tally.share:.1f}"
                cells.append(
                    share
                    + (f" ({unclaimed_share})" if unclaimed_share and not tally.absent else "")
                )
            sys.stdout.write(f"| {', '.join(cells)} ")
            sys.stdout.flush()
        tally = early_stopped(stream, *CELLS[0], 0.99, TRIES)
        sys.stdout.write(f"| {100 * tally.share:.1f} |\n")
