"""Columns of load: open loop, batcher, sessions of several shapes, sustained rounds."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.columns.family import (
    CaseData,
    Count,
    Family,
    Higher,
    Lower,
    Number,
    OfSamples,
    SampledCase,
    Text,
)
from app.analysis.columns.rounds import median
from app.cases.case import Case
from app.cases.column import Row
from app.cases.objectives import JUDGED
from app.cases.round import FIRST_OF_SHAPE, MEASURED, SETS, OpenLoop, RoundResult, latency_ns
from app.cases.telemetry import CPU_DEVICE
from app.run_folder.run import Run, read_records
from app.run_folder.telemetry import read_readings, readings_path
from app.stats.open_loop import batches_of
from app.stats.quantiles import supported_quantile
from app.stats.steadiness import MINUTE_S, Ends, ends
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import axes_key
from runtimes.execution import Samples

LATE_SHARE = 0.1
"""A generator whose lateness is more of the latency that is told, at p50 or at p99, was late."""


class Load(Family, heading="Open-loop load"):
    """What became of the requests; empty where the scenario is no open loop."""

    service_p99_us = Lower(group="latency", each=("p50", "p90", "p99"))
    """99 of 100 runs of an open loop took at most so long from their own start, of all rounds'
    samples together. Its latency counts from when a run was due."""
    queue_p99_us = Lower(group="latency", each=JUDGED)
    """99 of 100 runs waited at most so long from when they were due to their start."""
    achieved_rate_hz = Higher(group="throughput")
    """Requests answered per second of an open loop, over all rounds; compare offered_rate_hz."""
    utilisation = Number(group="throughput")
    """The share of the lanes' time that the asked rate needs: from 1 on they can't keep up."""
    backlog_at_end = Count("Backlog", "throughput")
    """Requests that were due and not begun when their round ended."""
    ramp_up_requests = Count("Ramp-up requests", "latency")
    """Requests that are not counted, at the beginning of the rounds, in which the queue reaches its
    steady state. Their samples are kept."""
    schedule_sha256 = Text()
    """Names when the requests came: the sha256 of the rounds' own, a line each, in their order."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        loads, summary = _open_loops(data.rounds), data.summary
        if not loads:
            return {}
        schedule_hashes = "\n".join(load.schedule_sha256 for load in loads)
        values: Row = {
            "achieved_rate_hz": _achieved_hz(loads),
            "utilisation": sum(load.utilisation for load in loads) / len(loads),
            "backlog_at_end": sum(load.left for load in loads),
            "ramp_up_requests": sum(load.start_requests for load in loads),
            "schedule_sha256": hashlib.sha256(schedule_hashes.encode()).hexdigest(),
        }
        if summary is not None:
            values |= {f"service_{name}_us": v for name, v in (summary.service or {}).items()}
            values |= {f"queue_{name}_us": value for name, value in (summary.queue or {}).items()}
        return values


def load_warnings(case: Case, rounds: Sequence[RoundResult], row: Row) -> list[Diagnostic]:
    """Why what the row tells of an open loop is not valid: an overload, a late generator."""
    loads = _open_loops(rounds)
    return [*_overload_warnings(case, loads), *_lateness_warnings(case, row)] if loads else []


def _open_loops(rounds: Sequence[RoundResult]) -> list[OpenLoop]:
    return [result.open_loop for result in rounds if result.open_loop is not None]


def _achieved_hz(loads: Sequence[OpenLoop]) -> float:
    return sum(load.due - load.left for load in loads) / sum(load.seconds for load in loads)


def _overload_warnings(case: Case, loads: Sequence[OpenLoop]) -> Iterator[Diagnostic]:
    overloads = [load for load in loads if load.overloaded]
    if overloads:
        yield diagnostic(
            "overloaded",
            offered_hz=case.scenario.arrivals_hz,
            served_hz=_achieved_hz(overloads),
            left=sum(load.left for load in overloads),
        )


def _lateness_warnings(case: Case, row: Row) -> Iterator[Diagnostic]:
    for name in ("p50", "p99"):
        late, latency = row[f"schedule_slip_{name}_us"], row[f"latency_{name}_us"]
        if isinstance(late, float) and isinstance(latency, float) and late > LATE_SHARE * latency:
            yield diagnostic(
                "load_generator_late",
                percentile=name,
                late_us=late,
                latency_us=latency,
                wait_policy=case.wait_policy,
            )
            return


class Batches(OfSamples, heading="Dynamic batcher"):
    """Of all rounds' requests together; empty without a batcher or samples."""

    batch_size_mean = Number("Mean batch", "throughput")
    """The mean number of requests in a batch."""
    batch_fill_fraction = Number("Batch fill", "throughput")
    """The fraction of the places in the batches that held a request; the others were padding."""
    batcher_wait_p99_us = Lower("Batcher p99", "latency", each=JUDGED)
    """p99 of what the batcher added: how long a request waited while the server was free."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        batcher = sampled.case.batcher
        if batcher is None:
            return {}
        batches = [batches_of(samples, batcher) for samples in sampled.samples]
        counts, places, added_ns = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(batch, part) for batch in batches)])
            for part in ("held", "places", "added_ns")
        )
        if not len(counts):
            return {}
        added_us = np.sort(added_ns) / 1e3
        return {
            "batch_size_mean": float(counts.mean()),
            "batch_fill_fraction": float(counts.sum() / places.sum()),
            "batcher_wait_p50_us": supported_quantile(added_us, 0.5),
            "batcher_wait_p99_us": supported_quantile(added_us, 0.99),
        }


@dataclass(frozen=True, slots=True)
class ShapeRuns:
    """One shape's runs of all rounds, in microseconds ascending: `first_us` [rounds at most] and
    `seen_us` [n]. `ratios` [rounds at most] are each first run over the median of the later ones
    of its process; `share` is how much of all later runs these are."""

    sizes: str
    first_us: np.ndarray
    seen_us: np.ndarray
    ratios: tuple[float, ...]
    share: float


def shape_runs(run: Run, case: Case) -> tuple[ShapeRuns, ...]:
    """Of each shape in the order of its file; () for a case of one shape, or without samples."""
    timed_rounds = [result for result in run.rounds_of(case) if result.samples]
    if not case.condition.points or not timed_rounds:
        return ()
    rounds = [read_records(run.samples_path(result)) for result in timed_rounds]
    measured_count = sum(int(np.count_nonzero(records["phase"] == MEASURED)) for records in rounds)
    return tuple(
        _runs_of_shape(number, axes_key(point), rounds, measured_count)
        for number, point in enumerate(case.condition.points)
    )


def _runs_of_shape(
    number: int, sizes: str, rounds: Sequence[np.ndarray], measured_count: int
) -> ShapeRuns:
    shape_records = [records[records["lane"] == number] for records in rounds]
    first = [_us(records[records["phase"] == FIRST_OF_SHAPE]) for records in shape_records]
    measured_us = [_us(records[records["phase"] == MEASURED]) for records in shape_records]
    pooled_us = np.sort(np.concatenate(measured_us))
    return ShapeRuns(
        sizes,
        np.sort(np.concatenate(first)),
        pooled_us,
        tuple(_ratios(first, measured_us)),
        len(pooled_us) / max(measured_count, 1),
    )


def _us(records: np.ndarray) -> np.ndarray:
    return latency_ns(records) / 1e3


def _ratios(first: Sequence[np.ndarray], later: Sequence[np.ndarray]) -> Iterator[float]:
    for first_runs, later_runs in zip(first, later, strict=True):
        if len(first_runs) and len(later_runs):
            yield float(first_runs[0] / np.median(later_runs))


class Shapes(OfSamples, heading="Several shapes"):
    """Of all shapes together; empty for a case of one, or without samples."""

    shapes = Count(group="settings")
    """How many shapes the session serves; latencies are of all together."""
    shapes_sha256 = Text()
    """Names which shapes came and in which order: the sha256 of the rounds' own, a line each."""
    first_runs = Count()
    """First runs of a shape in a process, without the first run of the process."""
    first_run_p99_us = Lower(group="latency", each=JUDGED)
    """The p99 of these runs; empty if there are too few."""
    first_run_slowdown = Number(group="latency")
    """A first run over the median of the later runs of its shape in that process: the median of
    these ratios."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        shapes = shape_runs(sampled.run, sampled.case)
        if not shapes:
            return {}
        first = np.sort(np.concatenate([shape.first_us for shape in shapes]))
        ratios = [ratio for shape in shapes for ratio in shape.ratios]
        hashes = "\n".join(str(result.facts["shapes_sha256"]) for result in sampled.rounds)
        return {
            "shapes": len(shapes),
            "shapes_sha256": hashlib.sha256(hashes.encode()).hexdigest(),
            "first_runs": len(first),
            "first_run_p50_us": supported_quantile(first, 0.5),
            "first_run_p99_us": supported_quantile(first, 0.99),
            "first_run_slowdown": float(np.median(ratios)) if ratios else None,
        }


@dataclass(frozen=True, slots=True)
class SetRuns:
    """The runs of all rounds that were fed one set of the user's inputs: latencies [n]. `name` is
    the set's file."""

    name: str
    latency_us: np.ndarray
    p50_us: float | None
    p99_us: float | None


def set_runs(run: Run, case: Case) -> tuple[SetRuns, ...]:
    """Of each set, the slowest by its median first; () for a case that was fed one."""
    model = run.model_of(case)
    rounds = [r for r in run.rounds_of(case) if r.samples and SETS in r.facts]
    if model is None or not rounds:
        return ()
    samples = [run.samples_of(result) for result in rounds]
    sets = []
    for number, name in enumerate(model.input_files):
        latencies_ns = [item.latency_ns[item.shapes == number] for item in samples]
        ascending_us = np.sort(np.concatenate(latencies_ns)) / 1e3
        figures = (supported_quantile(ascending_us, quantile) for quantile in (0.5, 0.99))
        sets.append(SetRuns(name, ascending_us, *figures))
    return tuple(sorted(sets, key=lambda item: -(item.p50_us or 0.0)))


_MACHINE_FACTS = tuple(
    f"sustained_{place}_{name}"
    for name in ("clock_mhz", "temperature_c")
    for place in ("first", "last")
)
MINIMUM_DURATION = 0.95
"""A round that lasted less than so much of what was asked for is warned of."""


class Sustained(OfSamples, heading="Sustained rounds"):
    """Medians over the rounds that were timed; empty for a case that was not sustained."""

    sustained_window = Text("Window", "settings")
    """The parts of a sustained round that are compared: its first and last minute, or tenth."""
    sustained_first_p99_us = Lower("First p99", "latency", each=JUDGED)
    """The p99 at the beginning."""
    sustained_last_p99_us = Lower("Last p99", "latency", each=JUDGED)
    """The p99 at the end."""
    sustained_p99_ratio = Lower("Last to first p99", "latency", each=JUDGED)
    """The p99 at the end over that at the beginning."""
    sustained_slowdown_after_s = Number("Slowdown after", "latency")
    """When the latency had risen for good by half of its total rise; empty: no rise."""
    sustained_first_clock_mhz = Number("First clock", "latency")
    """The mean clock of what computed at the beginning."""
    sustained_last_clock_mhz = Number("Last clock", "latency")
    """The mean clock of what computed at the end."""
    sustained_first_temperature_c = Number("First temperature", "latency")
    """The mean temperature of what computed at the beginning."""
    sustained_last_temperature_c = Number("Last temperature", "latency")
    """The mean temperature of what computed at the end."""

    @classmethod
    def of(cls, sampled: SampledCase) -> Row:
        case, samples = sampled.case, sampled.samples
        if case.condition.kind != "sustained" or not any(len(item.started_ns) for item in samples):
            return {}
        edges = [ends(item, case.condition.seconds) for item in samples if len(item.started_ns)]
        slower = [item.slower_after_s for item in edges if item.slower_after_s is not None]
        values: Row = {
            f"sustained_{place}_{name}_us": median(getattr(e, f"{place}_{name}_us") for e in edges)
            for name in ("p50", "p99")
            for place in ("first", "last")
        }
        values |= {
            f"sustained_{name}_ratio": median(_sustained_ratios(edges, name))
            for name in ("p50", "p99")
        }
        values["sustained_window"] = _window_text(edges[0].part_s)
        is_usual = 2 * len(slower) > len(edges)
        values["sustained_slowdown_after_s"] = median(slower) if is_usual else None
        parts_s = [item.part_s for item in edges]
        machine_values = [
            _machine_values(sampled.run, *item)
            for item in zip(sampled.rounds, samples, parts_s, strict=True)
        ]
        values_by_name = {
            name: [item[name] for item in machine_values if name in item] for name in _MACHINE_FACTS
        }
        return values | {name: median(numbers) for name, numbers in values_by_name.items()}


def sustained_warnings(case: Case, rounds: Sequence[RoundResult]) -> list[Diagnostic]:
    """Whether rounds were shorter than what was asked for."""
    requested_s = case.condition.seconds
    short = [r for r in rounds if r.samples and r.duration_s < MINIMUM_DURATION * requested_s]
    if not short:
        return []
    return [diagnostic("rounds_cut_short", rounds=len(short), seconds=requested_s)]


def _window_text(part_s: float) -> str:
    if part_s == MINUTE_S:
        return "first and last minute"
    return f"first and last tenth ({part_s:g} s), for want of two minutes"


def _sustained_ratios(edges: Iterable[Ends], name: str) -> list[float]:
    pairs = ((getattr(e, f"first_{name}_us"), getattr(e, f"last_{name}_us")) for e in edges)
    return [last / first for first, last in pairs if first and last]


def _machine_values(
    run: Run, result: RoundResult, samples: Samples, part_s: float
) -> dict[str, float]:
    """Clock and temperature of what computed: a GPU as it was read, else the core that timed."""
    path = readings_path(run, result)
    gpu = [reading for reading in read_readings(path) if reading.device != CPU_DEVICE]
    if not gpu:
        return {name: float(result.facts[name]) for name in _MACHINE_FACTS if name in result.facts}
    start_ns, end_ns = samples.started_ns.min(), samples.started_ns.max()
    parts = {
        "first": (start_ns, start_ns + part_s * 1e9),
        "last": (end_ns - part_s * 1e9, end_ns),
    }
    return {
        f"sustained_{place}_{name}": mean
        for place, (low, high) in parts.items()
        for name in ("clock_mhz", "temperature_c")
        if (mean := _mean(getattr(r, name) for r in gpu if low <= r.time_ns <= high)) is not None
    }


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return statistics.fmean(numbers) if numbers else None
