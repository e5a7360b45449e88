"""Rounds as traces for Perfetto and Chrome's viewer: runs, pauses, waits, what came between.

The format is the published Trace Event Format, its JSON object form, compressed as both viewers
open it. Times are microseconds from the round's first event, with the nanoseconds behind the point.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from app.cases.interference import Disturbance
from app.cases.reading import Reading
from app.results.atomic import own_subfolder, replacing
from app.results.exports.records import PHASES, Recorded, recorded
from app.results.folder import TELEMETRY, telemetry_name
from app.results.labels import case_label
from app.results.measured import Measured
from app.results.plain import storable
from app.results.run import Run
from app.results.telemetry import read_readings

FOLDER = "trace"
_LEAST_PAUSE_NS = 1_000
"""Between runs of a closed loop lies only the loop itself; what is longer is a pause."""
_PROCESS, _DISTURBANCES, _FIRST_LANE = 1, 0, 1
_QUEUE_OFFSET = 1000
"""The thread numbers of lanes' queues stand so far behind those of the lanes."""
_TIMES = ("scheduled_ns", "started_ns")
_FACTS = ("steal_ms", "involuntary_switches", "major_faults", "many_interrupts", "low_clock")
_COUNTERS = ("clock_mhz", "power_w", "temperature_c")


def export_trace(run: Run, _: Sequence[Measured]) -> tuple[Path, ...]:
    """Write `trace/CASE.ROUND.json.gz` for each round that has samples."""
    folder = own_subfolder(run.path, FOLDER)
    return tuple(_write(run, folder, one) for one in recorded(run))


def _write(run: Run, folder: Path, one: Recorded) -> Path:
    path = folder / f"{one.result.case_id}.{one.result.round}.json.gz"
    readings = read_readings(
        run.path / TELEMETRY / telemetry_name(one.case.case_id, one.result.round)
    )
    begun_ns = _begun_ns(one, readings)
    head = {
        "displayTimeUnit": "ns",
        "otherData": {
            "case_id": one.result.case_id,
            "case": storable(case_label(one.case)),
            "round": one.result.round,
            "clock": one.result.clock,
            "boundary": one.result.boundary,
            "begun_ns": begun_ns,
        },
    }
    with (
        replacing(path) as packed,
        gzip.open(packed, "wt", compresslevel=1, encoding="utf-8") as file,
    ):
        file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "traceEvents": [\n')
        events = _events(one, begun_ns, readings)
        file.write(next(events))
        file.writelines(",\n" + event for event in events)
        file.write("\n]}\n")
    return path


def _begun_ns(one: Recorded, readings: Sequence[Reading]) -> int:
    """When the first event is: a device may be read before the first run. 0 without any."""
    seen = one.result.interference.disturbances if one.result.interference is not None else ()
    begun = [int(one.records[name].min()) for name in _TIMES if len(one.records)]
    begun += [disturbance.begun_ns for disturbance in seen]
    begun += [reading.time_ns for reading in readings]
    return min(begun, default=0)


def _events(one: Recorded, begun_ns: int, readings: Sequence[Reading]) -> Iterator[str]:
    """Each event as JSON."""
    lanes = np.unique(one.records["lane"]).tolist()
    yield _named("process_name", _DISTURBANCES, storable(case_label(one.case)))
    from_schedule = one.result.open_loop is not None
    of = "shape" if "shapes_sha256" in one.result.facts else "lane"
    for lane in lanes:
        yield _named("thread_name", _FIRST_LANE + lane, f"{of} {lane}")
        if from_schedule:
            yield _named("thread_name", _QUEUE_OFFSET + lane, f"waiting for lane {lane}")
        own = one.records[one.records["lane"] == lane]
        yield from _runs(own, _FIRST_LANE + lane, begun_ns)
        yield from _pauses(own, _FIRST_LANE + lane, begun_ns)
        if from_schedule:
            yield from _waits(own, _QUEUE_OFFSET + lane, begun_ns)
    if one.result.interference is not None and one.result.interference.disturbances:
        yield _named("thread_name", _DISTURBANCES, "what came between")
        for disturbance in one.result.interference.disturbances:
            yield _disturbance(disturbance, begun_ns)
    for reading in readings:
        yield from _counters(reading, begun_ns)


def _runs(own: np.ndarray, thread: int, begun_ns: int) -> Iterator[str]:
    for number, (phase, started, finished) in enumerate(
        zip(
            own["phase"].tolist(),
            (own["started_ns"] - begun_ns).tolist(),
            (own["finished_ns"] - begun_ns).tolist(),
            strict=True,
        )
    ):
        yield _span(PHASES[phase], "run", thread, started, finished, f'{{"run":{number}}}')


def _pauses(own: np.ndarray, thread: int, begun_ns: int) -> Iterator[str]:
    ends, starts = own["finished_ns"][:-1] - begun_ns, own["started_ns"][1:] - begun_ns
    long = starts - ends >= _LEAST_PAUSE_NS
    for end, start in zip(ends[long].tolist(), starts[long].tolist(), strict=True):
        yield _span("pause", "gap", thread, end, start)


def _waits(own: np.ndarray, thread: int, begun_ns: int) -> Iterator[str]:
    """From when a run was due to its start; several may overlap, so they are async events."""
    due, starts = own["scheduled_ns"] - begun_ns, own["started_ns"] - begun_ns
    for number, (begin, end) in enumerate(zip(due.tolist(), starts.tolist(), strict=True)):
        for phase, time_ns in (("b", begin), ("e", max(begin, end))):
            yield (
                f'{{"ph":"{phase}","cat":"queue","name":"waiting","id":"{thread}.{number}",'
                f'"ts":{_us(time_ns)},"pid":{_PROCESS},"tid":{thread}}}'
            )


def _disturbance(seen: Disturbance, begun_ns: int) -> str:
    facts = {name: value for name in _FACTS if (value := getattr(seen, name))}
    begin, end = seen.begun_ns - begun_ns, seen.ended_ns - begun_ns
    named = " ".join(facts)
    return _span(named, "interference", _DISTURBANCES, begin, end, json.dumps(facts))


def _counters(reading: Reading, begun_ns: int) -> Iterator[str]:
    for name in _COUNTERS:
        value = getattr(reading, name)
        if value is not None:
            yield _json(
                ph="C",
                name=f"{reading.device} {name}",
                ts=(reading.time_ns - begun_ns) / 1e3,
                pid=_PROCESS,
                args={name: value},
            )


def _span(
    name: str, category: str, thread: int, begin_ns: int, end_ns: int, args: str = "{}"
) -> str:
    # By hand: there may be a million of them, and of names only words of ours.
    return (
        f'{{"ph":"X","cat":"{category}","name":"{name}","ts":{_us(begin_ns)},'
        f'"dur":{_us(end_ns - begin_ns)},"pid":{_PROCESS},"tid":{thread},"args":{args}}}'
    )


def _us(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e3:.3f}"


def _named(what: str, thread: int, name: str) -> str:
    return _json(ph="M", name=what, pid=_PROCESS, tid=thread, args={"name": name})


def _json(**event: Any) -> str:
    return json.dumps(event)
