"""Where spreading rounds over time helps more than adding rounds: one line at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence

from app.results import text
from app.results.measured import Measured
from app.results.run import Run
from app.stats.between import LEAST_ROUNDS
from app.stats.needed import NARROW
from app.stats.precise import MOST_ROUNDS
from app.stats.round_correlation import CLOSE_CONTENDED_S

SHORT_S = 120.0
"""Rounds within so short a time see one state of the machine; the spread of `standard`."""
ADVISED, ADVISED_CONTENDED = "10m", "30m"


def spread_advice(run: Run, measured: Sequence[Measured]) -> str:
    """Empty where no case lacks rounds for its interval, or rounds are spread as they are.

    It names a number of rounds too, where so many would narrow the intervals and the rounds do not
    correlate: of rounds that do, more in the same time hardly help.
    """
    if run.manifest.asked.is_search:
        return ""
    close = [one for one in measured if _lacks_rounds(one) and 0.0 < _span_s(one) < _short_s(one)]
    if not close:
        return ""
    advised = ADVISED_CONTENDED if any(_has(one, "contended") for one in close) else ADVISED
    most, longest_s = max(len(one.rounds) for one in close), max(map(_span_s, close))
    cases = f"{len(close)} case{'' if len(close) == 1 else 's'}"
    return (
        f"{cases} had all rounds (at most {most}) within {text.duration(longest_s)}, "
        f"in one state of the machine: --spread {advised} lets their intervals hold for longer, "
        f"more rounds in a row do not{_rounds_besides(close)}"
    )


def _rounds_besides(close: Sequence[Measured]) -> str:
    needed = [_needed(one) or 0 for one in close if not _has(one, "rounds_correlated")]
    helped = [rounds for rounds in needed if rounds <= MOST_ROUNDS]
    if not helped:
        return ""
    return f"; --rounds {max(helped)} would bring {len(helped)} of them to ±{100 * NARROW:g} %"


def _span_s(one: Measured) -> float:
    """From the begin of the first round to that of the last; 0 where it is not recorded."""
    return float(one.row.get("rounds_span_s") or 0.0)


def _short_s(one: Measured) -> float:
    return CLOSE_CONTENDED_S if _has(one, "contended") else SHORT_S


def _lacks_rounds(one: Measured) -> bool:
    """Whether its interval is wide although it has rounds enough for one."""
    needed = _needed(one)
    if one.row["clock"] == "simulated" or len(one.rounds) < LEAST_ROUNDS or needed is None:
        return False
    return needed > len(one.rounds)


def _needed(one: Measured) -> int | None:
    needed = one.row.get("required_rounds_p50")
    return None if needed is None else int(float(needed))


def _has(one: Measured, flag: str) -> bool:
    return flag in str(one.row.get("ci_flags") or "").split()
