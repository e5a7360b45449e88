"""What became of the requests that one round of an open loop had on its schedule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Of `due` requests `left` were not begun when the round ended.

    `schedule_sha256` names the times of those that are counted (`app.stats.arrivals`). It took
    `seconds` until the last one was answered, at least as long as the schedule is.
    `utilisation` is the share of the lanes' time that the requests of the asked rate need: from
    1 on they come faster than they can be answered. The first `start_requests`, of `start_s`, are
    not counted: they bring the queue into its steady state.
    """

    schedule_sha256: str
    due: int
    left: int
    seconds: float
    utilisation: float
    start_requests: int = 0
    start_s: float = 0.0

    @property
    def overloaded(self) -> bool:
        return self.left > 0 or self.utilisation >= 1.0
