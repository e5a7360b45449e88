"""Rounds of an open loop -> its columns, and why what they tell is not to be relied on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from app.cases.case import Case
from app.cases.column import Row
from app.cases.open_loop import OpenLoop
from app.cases.round import RoundResult
from app.results.warned import joined, sentences
from app.stats.summary import Summary

LATE_SHARE = 0.1
"""A generator whose lateness is more of the latency that is told, at p50 or at p99, was late."""


def load_columns(rounds: Sequence[RoundResult], summary: Summary | None) -> Row:
    """What became of the requests; empty where the scenario is no open loop."""
    became = _became(rounds)
    if not became:
        return {}
    named = "\n".join(one.schedule_sha256 for one in became)
    values: Row = {
        "served_hz": _served_hz(became),
        "utilisation": sum(one.utilisation for one in became) / len(became),
        "left_waiting": sum(one.left for one in became),
        "start_requests": sum(one.start_requests for one in became),
        "start_s": max(one.start_s for one in became),
        "schedule_sha256": hashlib.sha256(named.encode()).hexdigest(),
    }
    if summary is not None:
        values |= {f"service_{name}_us": value for name, value in (summary.service or {}).items()}
        values |= {f"queue_{name}_us": value for name, value in (summary.queue or {}).items()}
    return values


def doubted(case: Case, rounds: Sequence[RoundResult], row: Row) -> Row:
    """A row that is not valid, with a sentence for each reason: an overload, a late generator."""
    became = _became(rounds)
    doubts = [*_overload(case, became), *_late(case, row)] if became else []
    if not doubts:
        return {}
    warnings = joined([*sentences(row["warnings"]), *doubts])
    return {"valid": False, "reason": row["reason"] or joined(doubts), "warnings": warnings}


def _became(rounds: Sequence[RoundResult]) -> list[OpenLoop]:
    return [result.open_loop for result in rounds if result.open_loop is not None]


def _served_hz(became: Sequence[OpenLoop]) -> float:
    return sum(one.due - one.left for one in became) / sum(one.seconds for one in became)


def _overload(case: Case, became: Sequence[OpenLoop]) -> list[str]:
    over = [one for one in became if one.overloaded]
    if not over:
        return []
    left = sum(one.left for one in over)
    more = "larger batches" if case.batcher else "more sessions"
    waiting = f", and {left:,} requests were left waiting" if left else ""
    return [
        f"{case.scenario.arrivals_hz:,.6g}/s were asked for and {_served_hz(over):,.6g}/s served"
        f"{waiting}: the latency grows as long as it lasts, use a lower rate or {more}"
    ]


def _late(case: Case, row: Row) -> list[str]:
    for name in ("p50", "p99"):
        late, told = row[f"start_lateness_{name}_us"], row[f"latency_{name}_us"]
        if isinstance(late, float) and isinstance(told, float) and late > LATE_SHARE * told:
            remedy = "a quieter machine" if case.wait_policy == "spin" else "--wait spin"
            return [
                f"the generator was late: of a latency of {told:,.1f} µs at {name}, {late:,.1f} µs "
                f"are its own: use {remedy}"
            ]
    return []
