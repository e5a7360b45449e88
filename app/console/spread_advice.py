"""Where spreading rounds over time helps more than adding rounds: one line at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from app.cases.case import Case
from app.results import text
from app.results.measured import Measured
from app.results.run import Run
from app.stats.between import LEAST_ROUNDS

SHORT_S = 120.0
"""Rounds within so short a time see one state of the machine; the spread of `standard`."""
ADVISED = "10m"


def spread_advice(run: Run, measured: Sequence[Measured]) -> str:
    """Empty where no case lacks rounds for its interval, or rounds are spread as they are."""
    if run.manifest.asked.is_search:
        return ""
    spans_s = [
        span_s
        for one in measured
        if _lacks_rounds(one) and 0.0 < (span_s := _span_s(run, one.case)) < SHORT_S
    ]
    if not spans_s:
        return ""
    cases = f"{len(spans_s)} case{'' if len(spans_s) == 1 else 's'}"
    return (
        f"{cases} had all rounds within {text.duration(max(spans_s))}, in one state of the "
        f"machine: --spread {ADVISED} lets their intervals hold for longer, more rounds in a row "
        "do not"
    )


def _lacks_rounds(one: Measured) -> bool:
    """Whether its interval is wide although it has rounds enough for one."""
    rounds, needed = len(one.rounds), one.row.get("required_rounds_p50")
    if one.row["clock"] == "simulated" or rounds < LEAST_ROUNDS or needed is None:
        return False
    return int(float(needed)) > rounds


def _span_s(run: Run, case: Case) -> float:
    """From the begin of the first round to that of the last; 0 where it is not recorded."""
    began = [result.started_at_utc for result in run.rounds_of(case)]
    if not began or not all(began):
        return 0.0
    moments = [datetime.fromisoformat(one) for one in began]
    return (max(moments) - min(moments)).total_seconds()
