"""The smallest change that a row foretells beside the one that nine of ten comparisons find."""

from __future__ import annotations

import sys

from tests.simulated.power import ROUNDS_OF, power

ROUNDS = (3, 4, 5, 8, 16, 32)


def main() -> None:
    """A Markdown table: found, foretold in the median of the rows, in %."""
    sys.stdout.write("found, foretold (rows that foretell less than half), in %\n\n")
    sys.stdout.write(f"| rounds | {' | '.join(map(str, ROUNDS))} |\n")
    sys.stdout.write("| --- |" + " --- |" * len(ROUNDS) + "\n")
    for kind in ROUNDS_OF:
        cells = []
        for rounds in ROUNDS:
            row = power(kind, rounds)
            cells.append(
                f"{100 * row.found:.1f}, {100 * row.foretold:.1f} ({100 * row.below_half:.0f})"
            )
        sys.stdout.write(f"| {kind} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
