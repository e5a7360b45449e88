"""What eight rounds of three recorded runs contain, and verdicts between their stretches.

`python -m tests.benchmarks.stretches RUN` has the tables of a run folder of your own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from tests.benchmarks.stretches import (
    RECORDINGS,
    Recording,
    choices_of,
    marked_share,
    read_recording,
    shares_held,
    wrong_verdicts,
)

FIGURES = ("p50", "p99", "mean")
"""The throughput is the inverse of the mean."""
ROUNDS = (4, 8, 16)
SOURCES = {"rounds alone": "none", "stated": "stated", "history": "history"}


def containment(runs: Sequence[Recording]) -> Iterator[str]:
    """By figure and run: the least case and the mean of the cases."""
    choices = [choices_of(recording) for recording in runs]
    heads = list(choices[0])
    yield f"| figure | run | {' | '.join(heads)} |"
    yield "| --- | --- |" + " --- |" * len(heads)
    for name in FIGURES:
        for number, recording in enumerate(runs):
            cells = []
            for choice in choices[number].values():
                shares = list(shares_held(recording, name, choice).values())
                cells.append(f"{100 * min(shares):.0f}, {100 * float(np.mean(shares)):.0f}")
            yield f"| {name} | {number + 1} | {' | '.join(cells)} |"
    for number, recording in enumerate(runs):
        marks = [
            f"{100 * marked_share(recording, choice):.0f}" for choice in choices[number].values()
        ]
        yield f"| marked `rounds_close_in_time` | {number + 1} | {' | '.join(marks)} |"


def verdicts(runs: Sequence[Recording]) -> Iterator[str]:
    """By figure and rounds a stretch: wrong ones of each run."""
    yield f"| figure, rounds | {' | '.join(SOURCES)} |"
    yield "| --- |" + " --- |" * len(SOURCES)
    for name in FIGURES:
        for rounds in ROUNDS:
            cells = []
            for source in SOURCES.values():
                counts = [wrong_verdicts(recording, name, source, rounds) for recording in runs]
                is_unknown = all(count.undecided == count.comparisons for count in counts)
                shares = ", ".join(f"{100 * count.share:.1f}" for count in counts)
                cells.append("unknown" if is_unknown else shares)
            yield f"| {name}, {rounds} | {' | '.join(cells)} |"


def main() -> None:
    """Two Markdown tables, in percent."""
    runs = [read_recording(path) for path in RECORDINGS]
    for table in (containment(runs), verdicts(runs)):
        for line in table:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        sys.stdout.write("\n")
