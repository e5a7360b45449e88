"""Series as a run folder would give them: samples from known distributions, binned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.analysis.plot_data.series import ReferenceLine, Series, Standing
from app.cases.case import Case
from app.cases.column import pairs_in
from app.cases.round import MEASURED, RECORD, WARMUP
from app.cases.scenario import Scenario
from app.stats.quantiles import Histogram
from app.stats.summary import Summary, summarise
from runtimes.execution import Clock, Samples


def latencies_ns(median_us: float, count: int, seed: int, *, tail: float = 0.02) -> np.ndarray:
    """A narrow body and a share of samples some times slower, integer nanoseconds [count]."""
    rng = np.random.default_rng(seed)
    body = median_us * np.exp(rng.normal(0.0, 0.03, count))
    slow = rng.random(count) < tail
    body[slow] *= 1.3 + rng.exponential(0.4, int(slow.sum()))
    return np.maximum(1, body * 1e3).astype(np.int64)


def records(latency_ns: np.ndarray, *, warmup: int = 0) -> np.ndarray:
    """RECORD records [n] of a closed loop; the first `warmup` are marked as such."""
    rows = np.zeros(len(latency_ns), RECORD)
    rows["finished_ns"] = np.cumsum(latency_ns)
    rows["started_ns"] = rows["finished_ns"] - latency_ns
    rows["scheduled_ns"] = rows["started_ns"]
    rows["phase"] = np.where(np.arange(len(rows)) < warmup, WARMUP, MEASURED)
    return rows


def served(service_ns: np.ndarray, due_ns: np.ndarray) -> np.ndarray:
    """RECORD records [n] of an open loop on one lane: each begins when due, or after the last."""
    rows = np.zeros(len(service_ns), RECORD)
    rows["scheduled_ns"], free = due_ns, 0
    for k, duration_ns in enumerate(service_ns.tolist()):
        rows["started_ns"][k] = max(free, int(due_ns[k]))
        free = rows["finished_ns"][k] = int(rows["started_ns"][k]) + duration_ns
    rows["phase"] = MEASURED
    return rows


def open_loop(
    rate_hz: float, *, key: str = "", service_us: float = 20.0, count: int = 2000, seed: int = 1
) -> Series:
    """A case of three rounds of poisson arrivals, each of which is served in `service_us`."""
    scenario = Scenario.parse(f"poisson:{rate_hz:g}/s")
    base = _bare("cnn_tiny", "ort-cpu", key or f"poisson/{rate_hz:g}")
    case = replace(base.case, scenario=scenario)
    arrays = []
    for number in range(3):
        rng = np.random.default_rng(seed * 100 + number)
        due_ns = np.cumsum(rng.exponential(1e9 / rate_hz, count)).astype(np.int64)
        arrays.append(served(latencies_ns(service_us, count, seed * 10 + number), due_ns))
    return with_figures(
        of_rounds(replace(base, case=case, label=f"cnn_tiny ort-cpu {scenario}"), arrays)
    )


def of_rounds(base: Series, arrays: Sequence[np.ndarray], *, finished: bool = True) -> Series:
    """A case with these rounds, counted and summarised as one of a run folder is."""
    is_open = base.case.scenario.is_open_loop
    histogram, samples = Histogram(), []
    for rows in (array[array["phase"] == MEASURED] for array in arrays):
        due, begun, ended = (rows[f"{name}_ns"] for name in ("scheduled", "started", "finished"))
        histogram.add(ended - (due if is_open else begun))
        samples.append(Samples(due, begun, ended, base.clock, is_open))
    return replace(
        base,
        counts=histogram.counts,
        rounds=tuple(arrays),
        summary=summarise(samples) if finished else None,
        timed=tuple(range(len(arrays))),
    )


def with_figures(case_series: Series, names: Iterable[str] = ("p50", "p99")) -> Series:
    """A case whose row has what its samples came to."""
    row, summary = dict(case_series.row), summary_of(case_series)
    for name in names:
        interval = summary.interval_us(name)
        row[f"latency_{name}_us"] = summary.value_us(name)
        row[f"latency_{name}_ci_low_us"] = interval.low if interval else None
        row[f"latency_{name}_ci_high_us"] = interval.high if interval else None
    return replace(case_series, row=row)


def _bare(
    model: str,
    runtime: str,
    key: str,
    clock: Clock = "wall",
    status: Standing = "ok",
    **row: object,
) -> Series:
    """A case without samples."""
    common = {"model": model, "runtime": runtime, "clock": clock, "status": status}
    return Series(
        key=key,
        case=case_of(model, runtime, row),
        label=f"{model} {runtime}",
        model=model,
        runtime=runtime,
        clock=clock,
        status=status,
        counts=Histogram().counts,
        row={**common, **row},
    )


def series(
    runtime: str = "ort-cpu",
    model: str = "cnn_tiny",
    *,
    key: str = "",
    median_us: float = 20.0,
    count: int = 20_000,
    rounds: int = 4,
    warmup: int = 200,
    finished: bool = True,
    clock: Clock = "wall",
    status: Standing = "ok",
    seed: int = 1,
    tail: float = 0.02,
    references: Sequence[ReferenceLine] = (),
    **row: object,
) -> Series:
    """A case of so many rounds of `count` measured samples each."""
    arrays = []
    for number in range(rounds):
        latency = latencies_ns(median_us, count + warmup, seed * 100 + number, tail=tail)
        latency[:warmup] = (latency[:warmup] * np.linspace(2.5, 1.0, warmup)).astype(np.int64)
        arrays.append(records(latency, warmup=warmup))
    base = _bare(model, runtime, key or f"{model}/{runtime}/{seed}", clock, status, **row)
    return of_rounds(replace(base, published=tuple(references)), arrays, finished=finished)


def failed(runtime: str, model: str, status: Standing, reason: str, **row: object) -> Series:
    """A case that ended without samples."""
    key = f"{model}/{runtime}/{status}"
    return _bare(model, runtime, key, "wall", status, reason=reason, **row)


def summary_of(case_series: Series) -> Summary:
    """What its raw samples came to."""
    assert case_series.summary is not None
    return case_series.summary


def case_of(model: str, runtime: str, row: Mapping[str, object]) -> Case:
    """The case that would have such a row."""
    sizes = {"batch": row.get("batch_size"), "sequence": row.get("sequence_length")}
    options = pairs_in(str(row.get("options") or ""))
    threads = row.get("threads", 1)
    assert isinstance(threads, int)
    return Case(
        model,
        runtime,
        axes={name: size for name, size in sizes.items() if isinstance(size, int)},
        threads=threads,
        options=options,
    )
