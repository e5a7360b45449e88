"""Both sides of one percentile and their verdict, in one line."""

from __future__ import annotations

from app.results.text import ratio_interval
from app.results.verdicts import Sides


def sides_text(sides: Sides) -> str:
    """`slower, 1.203 times (1.1 to 1.3)`, with the code and the reason of what is undecided."""
    ratio = f"{sides.ratio:.3f}"
    verdict = sides.verdict
    found = verdict.interval
    interval = f" ({ratio_interval(found.low, found.high)})" if found else ""
    why = f": {verdict.why}" if verdict.why else ""
    code = f" ({verdict.reason})" if verdict.reason else ""
    return f"{verdict.word}{code}, {ratio} times{interval}{why}"
