"""The detail log of MLPerf's LoadGen: what it states of a run; single latencies are not in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from app.cases.scenario import (
    CLOSED_LOOP,
    MAXIMUM_BURST,
    MAXIMUM_RATE_HZ,
    MINIMUM_RATE_HZ,
    Scenario,
)
from app.cases.units import name_of
from app.runs.importing.foreign_file import Content, Damaged, ForeignCase, NoTimings, parse_number
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic

_MARK = ":::MLLOG "
_SAMPLE_KEYS = ("result_{}_latency_ns", r"result_(\d+\.\d+)_percentile_latency_ns")
_QUERY_KEYS = ("result_{}_query_latency_ns", r"result_(\d+\.\d+)_percentile_per_query_latency_ns")
_RATES = {
    "SingleStream": "result_qps_with_loadgen_overhead",
    "Server": "result_completed_samples_per_sec",
    "Offline": "result_samples_per_second",
}
"""What it calls the inputs in a second, by scenario; MultiStream has no such figure."""
_BOUNDARIES = {
    "Server": "from when a query was due to its completion",
    "Offline": "from when all were due to a sample's completion",
}


def recognises(content: Content) -> bool:
    """Whether LoadGen wrote it."""
    return content.text.lstrip().startswith(_MARK)


def read(content: Content) -> list[ForeignCase]:
    """One case: the system under test in its scenario."""
    log = _last_values(content)
    kind = log.get("effective_scenario")
    if not isinstance(kind, str):
        raise Damaged("it names no scenario")
    if "result_validity" not in log:
        raise NoTimings("it has no results, as of a test for accuracy or one that was cut short")
    means, percentiles = _QUERY_KEYS if kind == "MultiStream" else _SAMPLE_KEYS
    figures: dict[str, float | int | str] = {
        f"latency_{word}_us": parse_number(log[means.format(word)], means.format(word)) / 1e3
        for word in ("mean", "min", "max")
        if means.format(word) in log
    }
    for key, value in log.items():
        match = re.fullmatch(percentiles, key)
        if match is not None:
            figures[f"latency_{name_of(float(match[1]))}_us"] = parse_number(value, key) / 1e3
    if not figures:
        raise NoTimings("it states no latency")
    if kind in _RATES and _RATES[kind] in log:
        figures["throughput_per_s"] = parse_number(log[_RATES[kind]], _RATES[kind])
    if isinstance(start := log.get("test_datetime"), str):
        figures["started_at_utc"] = start
    if "result_query_count" in log:
        figures["iterations"] = int(parse_number(log["result_query_count"], "result_query_count"))
    scenario = _scenario(kind, log)
    unlike = scenario is CLOSED_LOOP and kind != "SingleStream"
    return [
        ForeignCase(
            str(log.get("sut_name") or ""),
            "wall of LoadGen",
            _BOUNDARIES.get(kind, "from a query's issue to its completion"),
            version=str(log.get("loadgen_version") or "").split(" ")[0],
            figures=figures,
            options={"scenario": kind} if unlike else {},
            scenario=scenario,
            warnings=_warnings(log),
        )
    ]


def _last_values(content: Content) -> Mapping[str, Any]:
    """The value of each key, the last one where it is told more than once."""
    log = {}
    for number, line in enumerate(content.text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line.removeprefix(_MARK))
            log[entry["key"]] = entry["value"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Damaged(f"line {number} is {line[:60]!r}") from None
    return log


def _scenario(kind: str, log: Mapping[str, Any]) -> Scenario:
    """The one of ours that asks in the same way; a closed loop where there is none."""
    rate = _number(log, "effective_target_qps")
    count = _number(log, "effective_samples_per_query")
    if kind == "Offline":
        return Scenario("offline")
    if kind == "Server" and MINIMUM_RATE_HZ <= rate <= MAXIMUM_RATE_HZ:
        return Scenario("poisson", rate_hz=rate)
    if kind == "MultiStream" and 1 <= count <= MAXIMUM_BURST:
        return Scenario("multistream", count=int(count))
    return CLOSED_LOOP


def _number(log: Mapping[str, Any], key: str) -> float:
    """0 where it is not told."""
    return parse_number(log.get(key, 0), key)


def _warnings(log: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    if log["result_validity"] == "VALID":
        return ()
    why = " ".join(
        str(log.get("result_invalid_reason") or log.get("early_stopping_result", "")).split()
    )
    validity = str(log["result_validity"])
    return (diagnostic("loadgen_invalid", validity=validity, reason=why or "no reason given"),)
