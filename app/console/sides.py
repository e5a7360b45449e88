"""Both sides of one percentile and their verdict, in one line."""

from __future__ import annotations

from app.results.verdicts import Sides


def sides_text(sides: Sides) -> str:
    """`slower, 1.203 times (1.1 to 1.3)`, with the reason of what is undecided."""
    ratio = f"{sides.ratio:.3f}"
    verdict = sides.verdict
    found = verdict.interval
    interval = f" ({found.low:.3f} to {found.high:.3f})" if found else ""
    why = f": {verdict.why}" if verdict.why else ""
    return f"{verdict.word}, {ratio} times{interval}{why}"
