"""Columns of devices: energy, clocks and memory, from readings joined to the runs of their round.

What was simulated took no energy of a device, so it has none of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise

import numpy as np

from app.analysis.columns.family import Count, Lower, Number, OfSamples, SampledCase, Text
from app.cases.column import Row, number_of
from app.cases.round import MEASURED, RoundResult
from app.cases.telemetry import CPU_DEVICE, Reading
from app.run_folder.run import Run, read_records
from app.run_folder.telemetry import read_readings, readings_path

_POWER_COLUMNS = ("power_w", "energy_mj_per_inference")
_STEP_S = 0.1
"""Energy counters move at least so often."""
_AVERAGED_S = 1.0
"""A power reading is the mean of up to so long before it, as on GPUs since Hopper."""
_OVER_ROUNDS: dict[str, Callable[[list[float]], float]] = {
    "gpu_clock_min_mhz": min,
    "gpu_clock_max_mhz": max,
    "gpu_other_processes": max,
    "gpu_mps_clients": max,
}
_OF_READINGS: dict[str, tuple[str, Callable[[list[float]], float]]] = {
    "gpu_memory_clock_mhz": ("memory_clock_mhz", statistics.median),
    "gpu_other_processes": ("other_processes", max),
    "gpu_mps_clients": ("mps_clients", max),
}
MINIMUM_SPAN_S = 0.5
"""A shorter difference of energies is uncertain, as counters move in steps."""


class Devices(OfSamples, heading="Energy, clocks and memory of devices"):
    """Medians over the rounds, the most memory, all throttling; memory that a driver reads replaces
    what was counted otherwise."""

    energy_mj_per_inference = Lower("Energy (mJ)", unit="mJ")
    """Energy of the whole device for one run, whatever its batch."""
    power_w = Number()
    """Mean power of the whole device; empty for rounds of less than half a second."""
    energy_uncertainty = Lower()
    """How far energy and power may be off, as a share of them: by the steps of the counter at both
    ends of the time that was read, or by the mean that a reading of the power is."""
    gpu_clock_mhz = Number("GPU clock")
    """Median clock of the GPU."""
    throttle_reasons = Text()
    """What limited the device's clock, or none."""
    gpu_clock_min_mhz = Number("GPU clock from")
    """Its lowest clock in any round."""
    gpu_clock_max_mhz = Number("GPU clock to")
    """Its highest clock in any round."""
    gpu_memory_clock_mhz = Number("GPU memory clock")
    """Median clock of its memory."""
    gpu_other_processes = Count("Other GPU processes")
    """The most other processes that had the GPU open."""
    gpu_mps_clients = Count("MPS clients")
    """The most processes that shared the GPU through the Multi-Process Service."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        rounds = [result for result in sampled.rounds if result.clock != "simulated"]
        rows = [_round_columns(sampled.run, result) for result in rounds]
        memory = [value for row in rows if (value := row.get("device_memory_peak_mib")) is not None]
        throttle = [str(v) for row in rows if (v := row.get("throttle_reasons")) is not None]
        values: Row = {
            name: statistics.median(numbers)
            for name in (
                *_POWER_COLUMNS,
                "energy_uncertainty",
                "gpu_clock_mhz",
                "gpu_memory_clock_mhz",
            )
            if (numbers := [float(v) for row in rows if (v := row.get(name)) is not None])
        }
        if memory:
            values["device_memory_peak_mib"] = max(map(float, memory))
            values["device_memory_source"] = "driver"
        for name, combine in _OVER_ROUNDS.items():
            extremes = [value for row in rows if isinstance(value := row.get(name), int | float)]
            if extremes:
                values[name] = combine(extremes)
        if throttle:
            words = dict.fromkeys(word for text in throttle for word in text.split(" "))
            reasons = [word for word in words if word != "none"]
            values["throttle_reasons"] = " ".join(reasons) or "none"
        return values


def _round_columns(run: Run, result: RoundResult) -> Row:
    readings = read_readings(readings_path(run, result))
    gpu = [reading for reading in readings if reading.device != CPU_DEVICE]
    readings = gpu or readings
    devices = list(dict.fromkeys(reading.device for reading in readings))
    memory: dict[str, float] = {}
    for reading in readings:
        memory_mb = reading.process_memory_mb
        if memory_mb is not None:
            memory[reading.device] = max(memory_mb, memory.get(reading.device, 0.0))
    values: Row = {"device_memory_peak_mib": sum(memory.values())} if memory else {}
    if not readings or not result.samples:
        return values
    records = read_records(run.samples_path(result))
    measured_records = records[records["phase"] == MEASURED]
    if not len(measured_records):
        return values
    start_ns, end_ns = measured_records["started_ns"].min(), measured_records["finished_ns"].max()
    timed_readings = [reading for reading in readings if start_ns <= reading.time_ns <= end_ns]
    clocks = {d: mhz for d in devices if (mhz := _clocks_mhz(timed_readings, d))}
    throttles = [reading.throttle for reading in timed_readings if reading.throttle is not None]
    if clocks:
        values["gpu_clock_mhz"] = statistics.median(chain.from_iterable(clocks.values()))
        widest_clocks = max(clocks.values(), key=lambda mhz: max(mhz) / min(mhz))
        values["gpu_clock_min_mhz"] = min(widest_clocks)
        values["gpu_clock_max_mhz"] = max(widest_clocks)
    for name, (figure, combine) in _OF_READINGS.items():
        if numbers := [n for r in timed_readings if (n := getattr(r, figure)) is not None]:
            values[name] = combine(numbers)
    if throttles:
        words = dict.fromkeys(word for words in throttles for word in words)
        values["throttle_reasons"] = " ".join(words) or "none"
    finished_ns = np.sort(records["finished_ns"])
    readings_by_device = ([r for r in readings if r.device == device] for device in devices)
    window_ns = (int(start_ns), int(end_ns))
    return values | _sum_over_devices(
        [_energy(series, window_ns, finished_ns) for series in readings_by_device]
    )


def _clocks_mhz(readings: Iterable[Reading], device: str) -> list[float]:
    """What one device was read at: of several that differ none has moved for that."""
    return [r.clock_mhz for r in readings if r.device == device and r.clock_mhz is not None]


def _sum_over_devices(rows: Sequence[Row]) -> Row:
    """What all devices took together; nothing of a figure that one of them does not tell."""
    figures = [[number_of(row.get(name)) for row in rows] for name in _POWER_COLUMNS]
    total: Row = {
        name: sum(numbers)
        for name, values in zip(_POWER_COLUMNS, figures, strict=True)
        if (numbers := [value for value in values if value is not None])
        and len(numbers) == len(rows)
    }
    if "power_w" not in total:
        return {}
    bounds = [number_of(row.get("energy_uncertainty")) for row in rows]
    return {**total, "energy_uncertainty": max(b for b in bounds if b is not None)}


def _energy(readings: Sequence[Reading], window_ns: _Window, finished_ns: np.ndarray) -> Row:
    """Energy between two readings in a window, for each run that ended between, and its relative
    bound."""
    energy_readings = [reading for reading in readings if reading.energy_mj is not None]
    power_readings = [reading for reading in readings if reading.power_w is not None]
    if energy_readings:
        energy = _between_steps(energy_readings, window_ns)
    else:
        energy = _power_integral(power_readings, window_ns)
    if energy is None:
        return {}
    first, last, millijoules, unknown_s = energy
    seconds = (last - first) / 1e9
    if seconds < MINIMUM_SPAN_S:
        return {}
    runs = int(np.diff(np.searchsorted(finished_ns, [first, last], side="right"))[0])
    return {
        "power_w": millijoules / 1e3 / seconds,
        "energy_mj_per_inference": millijoules / runs if runs else None,
        "energy_uncertainty": unknown_s / seconds,
    }


_Window = tuple[int, int]
_Energy = tuple[int, int, float, float]
"""From when until when, how many millijoules, and how many seconds the ends may be off."""


def _between_steps(readings: Sequence[Reading], window_ns: _Window) -> _Energy | None:
    """By a counter, from its first step in the window to its last. A step came at some time after
    the reading before it, and not longer ago than steps are apart."""
    steps = [
        (earlier.time_ns, later.time_ns, float(later.energy_mj or 0.0))
        for earlier, later in pairwise(readings)
        if later.energy_mj != earlier.energy_mj and window_ns[0] <= later.time_ns <= window_ns[1]
    ]
    if len(steps) < 2:
        return None
    (before_first, first, start_mj), (before_last, last, end_mj) = steps[0], steps[-1]
    gaps_s = [(first - before_first) / 1e9, (last - before_last) / 1e9]
    return first, last, end_mj - start_mj, sum(min(gap_s, _STEP_S) for gap_s in gaps_s)


def _power_integral(readings: Sequence[Reading], window_ns: _Window) -> _Energy | None:
    """By power over time, without a counter."""
    readings = [r for r in readings if window_ns[0] <= r.time_ns <= window_ns[1]]
    if len(readings) < 2:
        return None
    watts = np.array([reading.power_w for reading in readings], float)
    times_s = np.array([reading.time_ns for reading in readings], float) / 1e9
    millijoules = float(np.trapezoid(watts, times_s)) * 1e3
    return readings[0].time_ns, readings[-1].time_ns, millijoules, _AVERAGED_S
