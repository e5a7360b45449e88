"""How often the interval that ends a precise case holds the truth, with 300 tries a stream."""

from __future__ import annotations

import sys
from dataclasses import replace
from statistics import median

from tests.simulated.stopping import DISTURBED, STREAMS, stopped

TRIES = 300


def main() -> None:
    """A Markdown table; each stream is asked for three intervals."""
    sys.stdout.write("| stream | percentile | asked | rounds: median, most | narrow | held |\n")
    sys.stdout.write("| --- | --- | --- | --- | --- | --- |\n")
    for one in (*STREAMS, *DISTURBED):
        for factor in (0.5, 1.0, 2.0):
            asked = replace(one, share=one.share * factor)
            told = stopped(asked, TRIES)
            held = 100 * told.held / max(told.claimed, 1)
            sys.stdout.write(
                f"| {one.stream.name} | p{100 * one.quantile:g} | {100 * asked.share:.2g} % | "
                f"{median(told.ends):g}, {told.ends[-1]} | {100 * told.narrow / TRIES:.0f} % | "
                f"{held:.1f} % of {told.claimed} |\n"
            )
            sys.stdout.flush()
