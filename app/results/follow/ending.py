"""How a run stands or ended, in words: never just finished where something was amiss."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from app.cases.status import FAILED, FITS, STATUSES, Tone
from app.results.follow.state import RunState
from app.results.live import Live

_BROKEN = 1


@dataclass(frozen=True, slots=True)
class Ending:
    """`tone` is None while the run goes on."""

    text: str
    tone: Tone | None


def ending(state: RunState, live: Live) -> Ending:
    """Of a run that goes on what it does, else how it ended and what can be done about it."""
    if not state.over:
        if state.alive:
            return Ending(live.state, "doubtful" if live.state == "paused" else None)
        return Ending("interrupted, can be resumed", "bad")
    if live.state == "stopped":
        if live.exit_code == _BROKEN:
            return Ending("broken off by an error, the log says which; can be resumed", "bad")
        return Ending("stopped, can be resumed", "doubtful")
    return _finished(state)


def _finished(state: RunState) -> Ending:
    ends = Counter(one.status for one in state.series)
    total = len(state.series)
    failed = sum(count for status, count in ends.items() if status in FAILED)
    if total and failed == total:
        return Ending("finished: every case failed, see Reason in the table", "bad")
    if total and not any(status in FITS for status in ends):
        return Ending("finished: nothing could be measured, see Reason in the table", "bad")
    without = sum(count for status, count in ends.items() if _is_missing(status)) - failed
    told = [f"{failed:,} of {total:,} cases failed"] if failed else []
    told += [f"{without:,} not measured"] if without else []
    tone: Tone = "bad" if failed else "doubtful" if without else "good"
    return Ending(", ".join(["finished", *told]), tone)


def _is_missing(status: str) -> bool:
    return status in STATUSES and status not in FITS
