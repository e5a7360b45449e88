"""How a run stands or ended, in words: never just finished where something was amiss."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from app.cases.disk import is_no_room
from app.cases.status import FAILED, FITS, STATUSES, Tone
from app.results.follow.state import RunState
from app.results.live import Live

_BROKEN = 1
_FULL_BELOW_BYTES = 1 << 20
"""With less room than this the next file of a run does not fit: its journal, `live.json`."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`tone` is None while the run goes on; `word` says it at a glance, "" of one that does."""

    text: str
    tone: Tone | None
    word: str = ""


_DISK_FULL = Ending("no room on the disk: free space, then resume the run", "error", "DISK FULL")


def ending(state: RunState, live: Live) -> Ending:
    """Of a run that goes on what it does, else how it ended and what can be done about it."""
    if not state.over:
        if state.alive and live.state == "paused":
            return Ending("paused", "warning", "PAUSED")
        if state.alive:
            return Ending(live.state, None)
        if _is_full(state.folder):
            return _DISK_FULL
        return Ending("interrupted, can be resumed", "error", "INTERRUPTED")
    if live.state == "stopped":
        if live.exit_code == _BROKEN and _is_full(state.folder):
            return _DISK_FULL
        if live.disk_error:
            full = is_no_room(live.disk_error)
            text = f"{live.disk_error}; can be resumed"
            return Ending(text, "error", "DISK FULL" if full else "DISK ERROR")
        if live.exit_code == _BROKEN:
            text = "ended by an error, which is in the log; can be resumed"
            return Ending(text, "error", "BROKEN OFF")
        return Ending("stopped, can be resumed", "warning", "STOPPED")
    return _finished(state)


def without_word(state: RunState) -> str:
    """Of a run of which no batch process tells how it stands."""
    if state.alive:
        return "no output yet"
    if state.series and all(one.status == "imported" for one in state.series):
        return "imported"
    return "its end was not recorded"


def _is_full(folder: Path) -> bool:
    """Of a run that was cut off: who could not write could not say why either."""
    try:
        return shutil.disk_usage(folder).free < _FULL_BELOW_BYTES
    except OSError:
        return False


def _finished(state: RunState) -> Ending:
    ends = Counter(one.status for one in state.series)
    total = len(state.series)
    failed = sum(count for status, count in ends.items() if status in FAILED)
    if total and failed == total:
        return Ending("finished: every case failed, see Reason in the table", "error", "FAILED")
    if total and not any(status in FITS for status in ends):
        text = "finished: nothing could be measured, see Reason in the table"
        return Ending(text, "error", "FAILED")
    without = sum(count for status, count in ends.items() if _is_missing(status)) - failed
    told = [f"{failed:,} of {total:,} cases failed"] if failed else []
    told += [f"{without:,} not measured"] if without else []
    tone: Tone = "error" if failed else "warning" if without else "ok"
    return Ending(", ".join(["finished", *told]), tone, "FINISHED")


def _is_missing(status: str) -> bool:
    return status in STATUSES and status not in FITS
