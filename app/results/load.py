"""Rounds of an open loop -> its columns, and why what they tell is not to be relied on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from app.cases.case import Case
from app.cases.column import Row
from app.cases.open_loop import OpenLoop
from app.cases.round import RoundResult
from app.stats.summary import Summary
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic

LATE_SHARE = 0.1
"""A generator whose lateness is more of the latency that is told, at p50 or at p99, was late."""


def load_columns(rounds: Sequence[RoundResult], summary: Summary | None) -> Row:
    """What became of the requests; empty where the scenario is no open loop."""
    became = _became(rounds)
    if not became:
        return {}
    named = "\n".join(one.schedule_sha256 for one in became)
    values: Row = {
        "achieved_rate_hz": _served_hz(became),
        "utilisation": sum(one.utilisation for one in became) / len(became),
        "backlog_at_end": sum(one.left for one in became),
        "ramp_up_requests": sum(one.start_requests for one in became),
        "ramp_up_s": max(one.start_s for one in became),
        "schedule_sha256": hashlib.sha256(named.encode()).hexdigest(),
    }
    if summary is not None:
        values |= {f"service_{name}_us": value for name, value in (summary.service or {}).items()}
        values |= {f"queue_{name}_us": value for name, value in (summary.queue or {}).items()}
    return values


def load_warnings(case: Case, rounds: Sequence[RoundResult], row: Row) -> list[Diagnostic]:
    """Why what the row tells of an open loop is not valid: an overload, a late generator."""
    became = _became(rounds)
    return [*_overload(case, became), *_late(row)] if became else []


def _became(rounds: Sequence[RoundResult]) -> list[OpenLoop]:
    return [result.open_loop for result in rounds if result.open_loop is not None]


def _served_hz(became: Sequence[OpenLoop]) -> float:
    return sum(one.due - one.left for one in became) / sum(one.seconds for one in became)


def _overload(case: Case, became: Sequence[OpenLoop]) -> Iterator[Diagnostic]:
    over = [one for one in became if one.overloaded]
    if over:
        yield diagnostic(
            "overloaded",
            offered_hz=case.scenario.arrivals_hz,
            served_hz=_served_hz(over),
            left=sum(one.left for one in over),
        )


def _late(row: Row) -> Iterator[Diagnostic]:
    for name in ("p50", "p99"):
        late, latency = row[f"schedule_slip_{name}_us"], row[f"latency_{name}_us"]
        if isinstance(late, float) and isinstance(latency, float) and late > LATE_SHARE * latency:
            yield diagnostic(
                "load_generator_late", percentile=name, late_us=late, latency_us=latency
            )
            return
