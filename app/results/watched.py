"""What was recorded of the machine while a round ran: what plots lay below its samples.

Only what the run folder has: nothing is filled in for a machine that does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.cases.interference import Disturbance
from app.cases.reading import Reading
from app.cases.round import RoundResult
from app.results.folder import TELEMETRY, telemetry_name
from app.results.telemetry import read_readings


@dataclass(frozen=True, slots=True)
class Watched:
    """Of one round; times are those of its samples' clock.

    `cpu_mhz` is the mean clock of the core that timed, `load` that of the last minute when the
    round began.
    """

    readings: tuple[Reading, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    cpu_mhz: float | None = None
    load: float | None = None


def watched_round(run: Path, result: RoundResult) -> Watched:
    """Nothing of a round on a simulated clock: its times are of no machine."""
    if result.clock == "simulated":
        return Watched()
    readings = read_readings(run / TELEMETRY / telemetry_name(result.case_id, result.round))
    seen = result.interference.disturbances if result.interference else ()
    around = result.environment
    return Watched(tuple(readings), seen, around.get("cpu_mhz"), around.get("load_1min"))
