"""pyperf's JSON: values of several worker processes, each the mean of so many calls."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from app.runs.importing.foreign_file import (
    Content,
    Damaged,
    Found,
    NoTimings,
    duration,
    laid_out,
    objects,
)
from exporters.diagnostics.catalogue import diagnostic

_MOST_LOOPS = 2**31


def recognises(content: Content) -> bool:
    """Whether pyperf wrote it."""
    data = content.data
    return isinstance(data, dict) and "benchmarks" in data and "version" in data


def read(content: Content) -> list[Found]:
    """A case for each benchmark, with a round for each worker that gave values."""
    shared = _metadata(content.data)
    found = [_found(one, shared) for one in objects(content.data["benchmarks"], "benchmarks")]
    if not found:
        raise NoTimings("it has no benchmark")
    return found


def _found(benchmark: Mapping[str, Any], shared: Mapping[str, Any]) -> Found:
    own = {**shared, **_metadata(benchmark)}
    runs = [one for one in objects(benchmark.get("runs"), "runs") if one.get("values")]
    if not runs:
        raise NoTimings(f"the benchmark {own.get('name', '')!r} has no values")
    facts = {**own, **_metadata(runs[0])}
    if facts.get("unit", "second") != "second":
        raise NoTimings(f"{own.get('name', '')!r} counts in {facts['unit']!r}, which is no time")
    calls = {_calls({**own, **_metadata(run)}) for run in runs}
    values = [[duration(value) for value in _values(run)] for run in runs]
    return Found(
        str(own.get("name") or ""),
        "wall of pyperf",
        f"a call, the mean of {max(calls):,}" if calls != {1} else "one call",
        version=str(facts.get("perf_version") or ""),
        figures={**_figures([value for one in values for value in one]), **_machine(facts)},
        rounds=tuple(map(laid_out, values)),
        calls=max(calls),
        warnings=(_MEANS,) if calls != {1} else (),
    )


_MEANS = diagnostic("samples_are_means")


def _metadata(of: Mapping[str, Any]) -> Mapping[str, Any]:
    told = of.get("metadata", {})
    if not isinstance(told, dict):
        raise Damaged("metadata is no object")
    return told


def _values(run: Mapping[str, Any]) -> Sequence[Any]:
    if not isinstance(run["values"], list):
        raise Damaged("values are no list")
    return run["values"]


def _calls(facts: Mapping[str, Any]) -> int:
    loops = [facts.get(name, 1) for name in ("loops", "inner_loops")]
    if not all(isinstance(number, int) and 0 < number < _MOST_LOOPS for number in loops):
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
    named = {"host": facts.get("hostname"), "device_name": facts.get("cpu_model_name")}
    return {name: value for name, value in named.items() if isinstance(value, str) and value}
