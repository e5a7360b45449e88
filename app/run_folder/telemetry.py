"""`telemetry/<case>.<round>.jsonl`: device samples of a round."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.cases.round import RoundResult
from app.cases.telemetry import Disturbance, Reading
from app.run_folder.folder import TELEMETRY, telemetry_name
from app.run_folder.run import Run
from exporters.codec import CodecError, from_json
from exporters.file_access import read_file


def read_readings(path: Path) -> list[Reading]:
    """The readings of one round in their order; none without the file, a torn end and what is
    damaged left out: a round stands without them."""
    return [reading for reading in _lines(path) if reading is not None]


def damaged_readings(path: Path) -> int:
    """How many lines of the file can't be understood."""
    return sum(reading is None for reading in _lines(path))


def _lines(path: Path) -> Iterator[Reading | None]:
    try:
        *lines, _ = read_file(path).split(b"\n")
    except FileNotFoundError:
        return
    except OSError:
        yield None
        return
    for line in lines:
        try:
            yield from_json(Reading, json.loads(line), finite=True)
        except (CodecError, ValueError, RecursionError):
            yield None


def readings_path(run: Run, result: RoundResult) -> Path:
    """The file of what the devices told during a round."""
    stem = Path(result.samples).stem  # a union may call the case by another id than its files
    name = f"{stem}.jsonl" if stem else telemetry_name(result.case_id, result.round)
    return run.folder_of(result) / TELEMETRY / name


@dataclass(frozen=True, slots=True)
class RoundTelemetry:
    """Of one round; times are those of its samples' clock.

    `cpu_mhz` is the usual clock of the core that timed, `load` that of the last minute when the
    round began.
    """

    readings: tuple[Reading, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    cpu_mhz: float | None = None
    load: float | None = None


def round_telemetry(run: Run, result: RoundResult) -> RoundTelemetry:
    """Nothing of a round on a simulated clock: its times are of no machine."""
    if result.clock == "simulated":
        return RoundTelemetry()
    readings = read_readings(readings_path(run, result))
    counters, load_1min = result.interference, result.environment.get("load_1min")
    if counters is None:
        return RoundTelemetry(tuple(readings), load=load_1min)
    return RoundTelemetry(tuple(readings), counters.disturbances, counters.usual_mhz, load_1min)
