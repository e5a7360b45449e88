"""Rounds as traces for Perfetto and as histograms in HdrHistogram's formats.

A histogram keeps values to three significant digits, so a percentile read off it may lie 0.1 %
away from that of the samples. Values are nanoseconds throughout.

A trace is in the published Trace Event Format, its JSON object form, compressed as both viewers
open it. Times are microseconds from the round's first event, with the nanoseconds behind the
point.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from app.analysis.columns.rows import epoch_s
from app.cases.column import Row
from app.cases.round import MEASURED, RoundResult
from app.cases.telemetry import Disturbance, Reading
from app.formatting.case_labels import case_label
from app.formatting.text import one_line, storable
from app.run_folder.files import own_subfolder, replacing, write_atomically
from app.run_folder.run import Run
from app.run_folder.telemetry import read_readings, readings_path
from app.runs.exporting.tables import PHASES, Recording, recordings

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram


LOG, TABLES = "latency.hlog", "hgrm"
DIGITS = 3
_LONGEST_NS = 24 * 3600 * 10**9
"""A day: all histograms have one range, so that they can be added."""


def export_hdr(run: Run, _: Sequence[Row]) -> tuple[Path, ...]:
    """Write `latency.hlog`, a line for each round, and `hgrm/CASE.hgrm`, all rounds of a case.

    The measured samples, in the log's format 1.2: the tag is the case's id, start and length are
    those of the round, and of an open loop the latency counts from when a run was due.
    """
    lines = [
        "#[Histogram log format version 1.2]",
        "#[latencies in nanoseconds; a tag is a case_id, an interval a round]",
        *(f"#[{case.case_id} is {one_line(case_label(case))}]" for case in run.cases),
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    histograms: dict[str, HdrHistogram] = {}
    for recording in recordings(run):
        latency = recording.latency_ns[recording.records["phase"] == MEASURED]
        if not len(latency):
            continue
        histogram = _histogram(latency)
        lines.append(_line(recording.result, histogram))
        histograms.setdefault(recording.case.case_id, _empty()).add(histogram)
    log = run.path / LOG
    write_atomically(log, ("\n".join(lines) + "\n").encode())
    if not histograms:
        return (log,)
    folder = own_subfolder(run.path, TABLES)
    return log, *(_table(folder, name, total) for name, total in histograms.items())


def _histogram(latency_ns: np.ndarray) -> HdrHistogram:
    histogram = _empty()
    values, counts = np.unique(np.maximum(latency_ns, 1), return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        histogram.record_value(value, count)
    return histogram


def _empty() -> HdrHistogram:
    from hdrh.histogram import HdrHistogram

    return HdrHistogram(1, _LONGEST_NS, DIGITS)


def _line(result: RoundResult, histogram: HdrHistogram) -> str:
    payload = histogram.encode().decode("ascii")
    largest_s = histogram.get_max_value() / 1e9
    begun_s = epoch_s(result.started_at_utc) or 0.0
    return f"Tag={result.case_id},{begun_s:.3f},{result.duration_s:.3f},{largest_s:.9f},{payload}"


def _table(folder: Path, case_id: str, histogram: HdrHistogram) -> Path:
    path = folder / f"{case_id}.hgrm"
    with replacing(path) as file:
        histogram.output_percentile_distribution(file, 1)
    return path


FOLDER = "trace"
_MINIMUM_PAUSE_NS = 1_000
"""Between runs of a closed loop lies only the loop itself; what is longer is a pause."""
_PROCESS, _DISTURBANCES, _FIRST_LANE = 1, 0, 1
_QUEUE_OFFSET = 1000
"""The thread numbers of lanes' queues stand so far behind those of the lanes."""
_TIMES = ("scheduled_ns", "started_ns")
_FACTS = (
    "steal_ms",
    "involuntary_switches",
    "major_faults",
    "many_interrupts",
    "low_clock",
    "shared_core",
)
_COUNTERS = ("clock_mhz", "power_w", "temperature_c")


def export_trace(run: Run, _: Sequence[Row]) -> tuple[Path, ...]:
    """Write `trace/CASE.ROUND.json.gz` for each round that has samples."""
    folder = own_subfolder(run.path, FOLDER)
    return tuple(_write(run, folder, recording) for recording in recordings(run))


def _write(run: Run, folder: Path, recording: Recording) -> Path:
    path = folder / f"{recording.result.case_id}.{recording.result.round}.json.gz"
    readings = read_readings(readings_path(run, recording.result))
    start_ns = _start_ns(recording, readings)
    head = {
        "displayTimeUnit": "ns",
        "otherData": {
            "case_id": recording.result.case_id,
            "case": storable(case_label(recording.case)),
            "round": recording.result.round,
            "clock": recording.result.clock,
            "boundary": recording.result.boundary,
            "begun_ns": start_ns,
        },
    }
    with (
        replacing(path) as packed_path,
        gzip.open(packed_path, "wt", compresslevel=1, encoding="utf-8") as file,
    ):
        file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "traceEvents": [\n')
        events = _events(recording, start_ns, readings)
        file.write(next(events))
        file.writelines(",\n" + event for event in events)
        file.write("\n]}\n")
    return path


def _start_ns(recording: Recording, readings: Sequence[Reading]) -> int:
    """When the first event is: a device may be read before the first run. 0 without any."""
    interference = recording.result.interference
    starts = [int(recording.records[name].min()) for name in _TIMES if len(recording.records)]
    if interference is not None:
        starts += [disturbance.begun_ns for disturbance in interference.disturbances]
    starts += [reading.time_ns for reading in readings]
    return min(starts, default=0)


def _events(recording: Recording, start_ns: int, readings: Sequence[Reading]) -> Iterator[str]:
    """Each event as JSON."""
    lanes = np.unique(recording.records["lane"]).tolist()
    yield _metadata("process_name", _DISTURBANCES, storable(case_label(recording.case)))
    from_schedule = recording.result.open_loop is not None
    unit = "shape" if "shapes_sha256" in recording.result.facts else "lane"
    for lane in lanes:
        yield _metadata("thread_name", _FIRST_LANE + lane, f"{unit} {lane}")
        if from_schedule:
            yield _metadata("thread_name", _QUEUE_OFFSET + lane, f"waiting for lane {lane}")
        lane_records = recording.records[recording.records["lane"] == lane]
        yield from _runs(lane_records, _FIRST_LANE + lane, start_ns)
        yield from _pauses(lane_records, _FIRST_LANE + lane, start_ns)
        if from_schedule:
            yield from _waits(lane_records, _QUEUE_OFFSET + lane, start_ns)
    if recording.result.interference is not None and recording.result.interference.disturbances:
        yield _metadata("thread_name", _DISTURBANCES, "what came between")
        for disturbance in recording.result.interference.disturbances:
            yield _disturbance(disturbance, start_ns)
    for reading in readings:
        yield from _counters(reading, start_ns)


def _runs(records: np.ndarray, thread: int, start_ns: int) -> Iterator[str]:
    for number, (phase, run_start_ns, run_end_ns) in enumerate(
        zip(
            records["phase"].tolist(),
            (records["started_ns"] - start_ns).tolist(),
            (records["finished_ns"] - start_ns).tolist(),
            strict=True,
        )
    ):
        yield _span(PHASES[phase], "run", thread, run_start_ns, run_end_ns, f'{{"run":{number}}}')


def _pauses(records: np.ndarray, thread: int, start_ns: int) -> Iterator[str]:
    ends, starts = records["finished_ns"][:-1] - start_ns, records["started_ns"][1:] - start_ns
    long = starts - ends >= _MINIMUM_PAUSE_NS
    for end, start in zip(ends[long].tolist(), starts[long].tolist(), strict=True):
        yield _span("pause", "gap", thread, end, start)


def _waits(records: np.ndarray, thread: int, start_ns: int) -> Iterator[str]:
    """From when a run was due to its start; several may overlap, so they are async events."""
    due, starts = records["scheduled_ns"] - start_ns, records["started_ns"] - start_ns
    for number, (begin, end) in enumerate(zip(due.tolist(), starts.tolist(), strict=True)):
        for phase, time_ns in (("b", begin), ("e", max(begin, end))):
            yield (
                f'{{"ph":"{phase}","cat":"queue","name":"waiting","id":"{thread}.{number}",'
                f'"ts":{_us(time_ns)},"pid":{_PROCESS},"tid":{thread}}}'
            )


def _disturbance(disturbance: Disturbance, start_ns: int) -> str:
    facts = {name: value for name in _FACTS if (value := getattr(disturbance, name))}
    begin, end = disturbance.begun_ns - start_ns, disturbance.ended_ns - start_ns
    label = " ".join(facts)
    return _span(label, "interference", _DISTURBANCES, begin, end, json.dumps(facts))


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


def _metadata(kind: str, thread: int, name: str) -> str:
    return _json(ph="M", name=kind, pid=_PROCESS, tid=thread, args={"name": name})


def _json(**event: Any) -> str:
    return json.dumps(event)
