"""`telemetry/<case>.<round>.jsonl`: device samples of a round, joined to its runs.

From the recorded rounds of a case come the device columns of its row. What was simulated took
no
energy of a device, so it has none of them.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.cases.column import Row, number_of
from app.cases.round import MEASURED, RoundResult
from app.cases.telemetry import CPU_DEVICE, Disturbance, Reading
from app.run_folder.folder import TELEMETRY, telemetry_name
from app.run_folder.run import SAMPLES, read_records
from exporters.codec import CodecError, from_json
from exporters.file_access import read_file

_TAKEN = ("power_w", "energy_mj_per_inference")
_OVER_ROUNDS: dict[str, Callable[[list[float]], float]] = {
    "gpu_clock_min_mhz": min,
    "gpu_clock_max_mhz": max,
    "gpu_other_processes": max,
}
LEAST_SPAN_S = 0.5
"""Energy counters move in steps of up to 0.1 s, so a shorter difference says little."""


def device_columns(run: Path, rounds: Sequence[RoundResult]) -> Row:
    """The columns that readings give: medians over the rounds, the most memory, all throttling."""
    found = [_of_round(run, result) for result in rounds if result.clock != "simulated"]
    memory = [value for row in found if (value := row.get("device_memory_peak_mib")) is not None]
    throttle = [str(value) for row in found if (value := row.get("throttle_reasons")) is not None]
    values: Row = {
        name: statistics.median(known)
        for name in ("energy_mj_per_inference", "power_w", "gpu_clock_mhz", "gpu_memory_clock_mhz")
        if (known := [float(v) for row in found if (v := row.get(name)) is not None])
    }
    if memory:
        values["device_memory_peak_mib"] = max(map(float, memory))
        values["device_memory_source"] = "driver"
    for name, of_all in _OVER_ROUNDS.items():
        extremes = [value for row in found if isinstance(value := row.get(name), int | float)]
        if extremes:
            values[name] = of_all(extremes)
    if throttle:
        words = dict.fromkeys(word for text in throttle for word in text.split(" "))
        held = [word for word in words if word != "none"]
        values["throttle_reasons"] = " ".join(held) or "none"
    return values


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


def _of_round(run: Path, result: RoundResult) -> Row:
    named = telemetry_name(result.case_id, result.round)
    readings = read_readings(run.joinpath(TELEMETRY, named))
    gpu = [reading for reading in readings if reading.device != CPU_DEVICE]
    readings = gpu or readings
    devices = list(dict.fromkeys(reading.device for reading in readings))
    memory: dict[str, float] = {}
    for reading in readings:
        held = reading.process_memory_mb
        if held is not None:
            memory[reading.device] = max(held, memory.get(reading.device, 0.0))
    values: Row = {"device_memory_peak_mib": sum(memory.values())} if memory else {}
    if not readings or not result.samples:
        return values
    records = read_records(run / SAMPLES / result.samples)
    measured = records[records["phase"] == MEASURED]
    if not len(measured):
        return values
    begun, ended = measured["started_ns"].min(), measured["finished_ns"].max()
    inside = [reading for reading in readings if begun <= reading.time_ns <= ended]
    clocks = {device: known for device in devices if (known := _clocks_mhz(inside, device))}
    throttles = [reading.throttle for reading in inside if reading.throttle is not None]
    if clocks:
        values["gpu_clock_mhz"] = statistics.median(c for known in clocks.values() for c in known)
        moved = max(clocks.values(), key=lambda known: max(known) / min(known))
        values["gpu_clock_min_mhz"], values["gpu_clock_max_mhz"] = min(moved), max(moved)
    memory_clocks = [r.memory_clock_mhz for r in inside if r.memory_clock_mhz is not None]
    if memory_clocks:
        values["gpu_memory_clock_mhz"] = statistics.median(memory_clocks)
    others = [r.other_processes for r in inside if r.other_processes is not None]
    if others:
        values["gpu_other_processes"] = max(others)
    if throttles:
        words = dict.fromkeys(word for words in throttles for word in words)
        values["throttle_reasons"] = " ".join(words) or "none"
    finished_ns = np.sort(records["finished_ns"])
    apart = ([r for r in inside if r.device == device] for device in devices)
    return values | _summed([_energy(own, finished_ns) for own in apart])


def _clocks_mhz(inside: Iterable[Reading], device: str) -> list[float]:
    """What one device was read at: of several that differ none has moved for that."""
    return [r.clock_mhz for r in inside if r.device == device and r.clock_mhz is not None]


def _summed(of_each: Sequence[Row]) -> Row:
    """What all devices took together; nothing of a figure that one of them does not tell."""
    figures = [[number_of(of.get(name)) for of in of_each] for name in _TAKEN]
    return {
        name: sum(known)
        for name, values in zip(_TAKEN, figures, strict=True)
        if (known := [value for value in values if value is not None])
        and len(known) == len(of_each)
    }


def _energy(inside: Sequence[Reading], finished_ns: np.ndarray) -> Row:
    """Energy between the first and the last reading, and for each run that ended between."""
    counted = [reading for reading in inside if reading.energy_mj is not None]
    powered = [reading for reading in inside if reading.power_w is not None]
    known = counted or powered
    if len(known) < 2:
        return {}
    first, last = known[0].time_ns, known[-1].time_ns
    seconds = (last - first) / 1e9
    if seconds < LEAST_SPAN_S:
        return {}
    if counted:
        millijoules = _difference(reading.energy_mj for reading in counted)
    else:
        watts = np.array([reading.power_w for reading in powered], float)
        times_s = np.array([reading.time_ns for reading in powered], float) / 1e9
        millijoules = float(np.trapezoid(watts, times_s)) * 1e3
    runs = int(np.diff(np.searchsorted(finished_ns, [first, last], side="right"))[0])
    return {
        "power_w": millijoules / 1e3 / seconds,
        "energy_mj_per_inference": millijoules / runs if runs else None,
    }


def _difference(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return known[-1] - known[0]


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
