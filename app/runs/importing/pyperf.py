"""pyperf's JSON: values of several worker processes, each the mean of so many calls."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from app.runs.importing.foreign_file import (
    Content,
    Damaged,
    ForeignCase,
    NoTimings,
    consecutive_timings,
    duration,
    objects,
)
from exporters.diagnostics import diagnostic

_MAXIMUM_LOOPS = 2**31


def recognises(content: Content) -> bool:
    """Whether pyperf wrote it."""
    data = content.data
    return isinstance(data, dict) and "benchmarks" in data and "version" in data


def read(content: Content) -> list[ForeignCase]:
    """A case for each benchmark, with a round for each worker that gave values."""
    shared_metadata = _metadata(content.data)
    cases = [
        _case_of(benchmark, shared_metadata)
        for benchmark in objects(content.data["benchmarks"], "benchmarks")
    ]
    if not cases:
        raise NoTimings("it has no benchmark")
    return cases


def _case_of(benchmark: Mapping[str, Any], shared_metadata: Mapping[str, Any]) -> ForeignCase:
    metadata = {**shared_metadata, **_metadata(benchmark)}
    runs = [item for item in objects(benchmark.get("runs"), "runs") if item.get("values")]
    if not runs:
        raise NoTimings(f"the benchmark {metadata.get('name', '')!r} has no values")
    facts = {**metadata, **_metadata(runs[0])}
    if facts.get("unit", "second") != "second":
        raise NoTimings(
            f"{metadata.get('name', '')!r} counts in {facts['unit']!r}, which is no time"
        )
    calls = {_calls({**metadata, **_metadata(run)}) for run in runs}
    values = [[duration(value) for value in _values(run)] for run in runs]
    return ForeignCase(
        str(metadata.get("name") or ""),
        "wall of pyperf",
        f"a call, the mean of {max(calls):,}" if calls != {1} else "one call",
        version=str(facts.get("perf_version") or ""),
        figures={**_figures([value for item in values for value in item]), **_machine(facts)},
        rounds=tuple(map(consecutive_timings, values)),
        calls=max(calls),
        warnings=(_MEANS,) if calls != {1} else (),
    )


_MEANS = diagnostic("samples_are_means")


def _metadata(document: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        raise Damaged("metadata is no object")
    return metadata


def _values(run: Mapping[str, Any]) -> Sequence[Any]:
    if not isinstance(run["values"], list):
        raise Damaged("values are no list")
    return run["values"]


def _calls(facts: Mapping[str, Any]) -> int:
    loops = [facts.get(name, 1) for name in ("loops", "inner_loops")]
    if not all(isinstance(number, int) and 0 < number < _MAXIMUM_LOOPS for number in loops):
        raise Damaged(f"loops are {loops}")
    return int(loops[0] * loops[1])


def _figures(seconds: Sequence[float]) -> dict[str, float | int | str]:
    """As pyperf prints them: over the values of all workers."""
    figures: dict[str, float | int | str] = {
        "latency_mean_us": 1e6 * statistics.fmean(seconds),
        "latency_p50_us": 1e6 * statistics.median(seconds),
        "latency_min_us": 1e6 * min(seconds),
        "latency_max_us": 1e6 * max(seconds),
    }
    if len(seconds) > 1:
        figures["latency_std_us"] = 1e6 * statistics.stdev(seconds)
    return figures


def _machine(facts: Mapping[str, Any]) -> dict[str, float | int | str]:
    texts = {"host": facts.get("hostname"), "device_name": facts.get("cpu_model_name")}
    return {name: value for name, value in texts.items() if isinstance(value, str) and value}
