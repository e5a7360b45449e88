"""How sure the figures of a run are, in two sentences: what would make them surer, and what a
comparison with as many rounds would find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.cases.judged import JUDGED
from app.stats.needed import NARROW

_HUGE = 1.0
"""A change beyond this is told as such: nobody plans for more exactly."""


def sureness(rows: Sequence[Row]) -> Iterator[str]:
    """Nothing where no wall clock measured three rounds."""
    known = [row for row in rows if row["clock"] != "simulated" and row["required_rounds_p50"]]
    if not known:
        return
    rounds: list[str] = []
    changes: list[str] = []
    for name in JUDGED:
        some = [row for row in known if row[f"required_rounds_{name}"]]
        if some:
            needed = [int(row[f"required_rounds_{name}"] or 0) for row in some]
            rounds.append(f"{_between(needed)} rounds for {name}")
            found = [float(row[f"detectable_slowdown_{name}"] or 0.0) for row in some]
            changes.append(f"{name} {_shares(found)}")
    had = _between([int(row["rounds"] or 0) for row in known])
    lacking = any(int(row["required_rounds_p50"] or 0) > int(row["rounds"] or 0) for row in known)
    narrow = f"{100 * NARROW:g}"
    remedy = f"; --ci-width p50={narrow}% adds them" if lacking else ""
    yield f"±{narrow} % needs {', '.join(rounds)} ({had} were run){remedy}"
    yield f"detectable slowdown at 90 % power with {had} rounds: {', '.join(changes)}"


def _between(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _shares(values: Sequence[float]) -> str:
    low, high = f"{100 * min(values):.0f}", f"{100 * max(values):.0f}"
    if min(values) > _HUGE:
        return f"more than {100 * _HUGE:.0f} %"
    if max(values) > _HUGE:
        return f"{low} to more than {100 * _HUGE:.0f} %"
    return f"{low} %" if low == high else f"{low} to {high} %"
