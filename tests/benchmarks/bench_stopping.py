"""How often the interval that ends a case of `--ci-width` holds the truth: 300 tries a cell."""

from __future__ import annotations

import sys
from dataclasses import replace
from statistics import median

from tests.simulated.stopping import DISTURBED, STREAMS, stopped

TRIES = 300
FACTORS = (0.5, 1.0, 2.0)
"""Times the width that suits a stream: hard, usual and easy."""


def main() -> None:
    """A Markdown table, in percent; three widths in each cell."""
    sys.stdout.write("| stream | width, % | held | rounds, median | narrow at the end |\n")
    sys.stdout.write("| --- | --- | --- | --- | --- |\n")
    for target in (*STREAMS, *DISTURBED):
        ends = [
            (share, stopped(replace(target, share=share), TRIES))
            for share in (target.share * factor for factor in FACTORS)
        ]
        widths = ", ".join(f"{100 * share:.2g}" for share, _ in ends)
        shares = ", ".join(f"{100 * end.held / max(end.claimed, 1):.0f}" for _, end in ends)
        rounds = ", ".join(f"{median(end.ends):g}" for _, end in ends)
        narrow = ", ".join(f"{100 * end.narrow / TRIES:.0f}" for _, end in ends)
        name = f"{target.stream.name}, p{100 * target.quantile:g}"
        sys.stdout.write(f"| {name} | {widths} | {shares} | {rounds} | {narrow} |\n")
        sys.stdout.flush()
