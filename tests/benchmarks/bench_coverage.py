"""How often intervals hold the truth: every stream, by rounds and runs, with 1,000 tries each."""

from __future__ import annotations

import sys

from tests.simulated.coverage import covered
from tests.simulated.streams import AUDITED, UNSEEN

CELLS = ((3, 5000), (5, 500), (5, 5000), (8, 1500), (8, 5000), (10, 500), (10, 5000))
QUANTILES = (0.5, 0.9, 0.99)
TRIES = 1000


def main() -> None:
    """A Markdown table; `(44)` says in how many of 100 runs nothing was claimed, `-` is never."""
    heads = " | ".join(f"{rounds} x {runs:,}" for rounds, runs in CELLS)
    sys.stdout.write(f"p50, p90, p99, {TRIES:,} tries\n\n| stream | {heads} |\n")
    sys.stdout.write("| --- |" + " --- |" * len(CELLS) + "\n")
    for stream in (*AUDITED, *UNSEEN):
        sys.stdout.write(f"| {stream.name} ")
        for rounds, runs in CELLS:
            cells = []
            for tally in covered(stream, rounds, runs, QUANTILES, TRIES).values():
                unclaimed_share = 100 - round(100 * tally.claimed / tally.tries)
                share = "-" if tally.absent else f"{100 * tally.share:.0f}"
                cells.append(
                    share
                    + (f" ({unclaimed_share})" if unclaimed_share and not tally.absent else "")
                )
            sys.stdout.write(f"| {', '.join(cells)} ")
            sys.stdout.flush()
        sys.stdout.write("|\n")
