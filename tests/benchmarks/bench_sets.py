"""How often intervals over sets of processes that take turns hold, and how often verdicts on copies
are wrong, on simulated machines and on a recorded run."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from app.stats.verdict import Difference
from tests.simulated.turns import KINDS, alike, held, holding, recorded, resampled, wrong_runs

SETS, JUDGED = (3, 5, 8, 16), (5, 8)
"""Numbers of sets: of intervals, and of verdicts."""
TRIES, COMPARISONS = 2000, 10_000
"""Of each number: 93 % is known to 0.6 %, and 5 % of 100 runs of 100 comparisons to 2 %."""
CASES = (1, 10, 100)
BANDS = (0.02, 0.005)


def main() -> None:
    """Three Markdown tables: intervals and verdicts on the kinds of machines, the recorded run."""
    numbers, cases = (", ".join(map(str, counts)) for counts in (SETS, CASES))
    sys.stdout.write(f"intervals that hold the ratio in % of {TRIES:,} tries\n\n")
    _write_line("machine", f"{numbers} sets")
    _write_line("---", "---")
    for kind in KINDS:
        shares = [f"{100 * held(kind, sets, TRIES) / TRIES:.0f}" for sets in SETS]
        _write_line(kind.name, ", ".join(shares))
    sys.stdout.write(
        f"\nruns of {cases} copies with any wrong verdict in % of those of {COMPARISONS:,} "
        "comparisons\n\n"
    )
    bands = [f"wrong at {100 * band:g} %, {sets} sets" for sets in JUDGED for band in BANDS]
    _write_line("machine", *bands)
    _write_line(*["---"] * (1 + len(bands)))
    for kind in KINDS:
        cells = [cell for sets in JUDGED for cell in _wrong(alike(kind, sets, COMPARISONS))]
        _write_line(kind.name, *cells)
    sys.stdout.write("\n")
    _write_recorded()


def _wrong(differences: Sequence[Difference | None]) -> list[str]:
    """The shares of runs with a wrong verdict, by band those of each number of cases."""
    return [
        ", ".join(f"{100 * wrong_runs(differences, cases, band):.1f}" for cases in CASES)
        for band in BANDS
    ]


def _write_recorded() -> None:
    """Sets drawn from a run; the truth is the ratio of all of its sets."""
    sides = recorded()
    (everything,) = resampled(sides, len(sides[0]), 1)
    assert everything is not None
    ratio = math.exp(everything.log)
    heads = [f"wrong at {100 * band:g} %" for band in BANDS]
    _write_line(f"sets of {len(sides[0])} recorded, ratio {ratio:.4f}", "held", *heads)
    _write_line(*["---"] * (2 + len(heads)))
    for sets in JUDGED:
        differences = resampled(sides, sets, TRIES)
        wrong = [f"{100 * wrong_runs(differences, 1, band):.1f}" for band in BANDS]
        _write_line(str(sets), f"{100 * holding(differences, ratio) / TRIES:.0f}", *wrong)


def _write_line(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()
