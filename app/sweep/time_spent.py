"""How long a sweep did what: all of its time, by what was in flight."""

from __future__ import annotations

import time
from collections import defaultdict

from app.results.lines import TimeSpent
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork

START, BETWEEN, EXPORT = "start", "between rounds", "export and references"
PHASES = {
    "start": "process start",
    "import": "import of the engine",
    "compile": "compile",
    "first_inference": "first inference",
    "warmup": "warm-up",
    "measure": "measurement",
    "correctness": "output checks",
    "teardown": "process end",
}
"""What each phase of a round is called."""


class TimeSpending:
    """Begins at `begun_s` (monotonic seconds) with the start of the program; `pass_to` names what
    follows, and is told everything that changes."""

    def __init__(self, begun_s: float) -> None:
        self._since_s = begun_s
        self._now = START, ""
        self._seconds: defaultdict[str, defaultdict[str, float]] = defaultdict(
            lambda: defaultdict(float)
        )

    def pass_to(self, in_flight: tuple[Work, ...]) -> None:
        """Count the time until now for what was in flight, and go on with this."""
        now_s = time.monotonic()
        what, runtime = self._now
        self._seconds[what][runtime] += now_s - self._since_s
        self._since_s, self._now = now_s, _doing(in_flight)

    @property
    def line(self) -> TimeSpent:
        """What the journal is to have of it."""
        return TimeSpent({what: dict(parts) for what, parts in self._seconds.items()})


def _doing(in_flight: tuple[Work, ...]) -> tuple[str, str]:
    """What the time is spent on, and the runtime that it is of, empty for none."""
    if any(isinstance(work, ExportWork) for work in in_flight):
        return EXPORT, ""
    if not in_flight:
        return BETWEEN, ""
    work = in_flight[0]
    if isinstance(work, RoundWork):
        return PHASES.get(work.phase, work.phase), work.case.runtime
    return work.kind, ""
