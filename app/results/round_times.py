"""When the rounds of a case began, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from app.cases.round import RoundResult


def round_starts_s(rounds: Sequence[RoundResult]) -> tuple[float, ...]:
    """Seconds since 1970 of each round; empty where the start of one is not recorded."""
    starts = [epoch_s(result.started_at_utc) for result in rounds]
    known = tuple(start for start in starts if start is not None)
    return known if len(known) == len(starts) else ()


def epoch_s(utc: str) -> float | None:
    """Of a time as the journal has it; None for one that is missing or damaged."""
    try:
        moment = datetime.fromisoformat(utc)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
