"""The reports of OpenVINO's benchmark_app, of its Python and its C++ edition, JSON or CSV.

They state figures alone, in the Python edition rounded to 0.01 ms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from app.cases.units import name_of
from app.runs.importing.foreign_file import Content, Damaged, ForeignCase, NoTimings, parse_number
from exporters.diagnostics import Diagnostic, diagnostic

_PARTS = {
    "Command line parameters": "cmd_options",
    "Configuration setup": "configuration_setup",
    "Execution results": "execution_results",
}
"""The headings of a CSV report, and the keys of a JSON one."""
_SETUP, _RESULTS = "configuration_setup", "execution_results"
_ROUNDED_MS = 0.005
_FAR_ROUNDED = 0.01
"""Rounding by a larger share of a figure is warned of."""
_SCALED_COLUMNS = {
    "latency_mean_us": (("avg latency", "Average latency (ms)", "latency_avg"), 1e3),
    "latency_min_us": (("min latency", "Min latency (ms)", "latency_min"), 1e3),
    "latency_max_us": (("max latency", "Max latency (ms)", "latency_max"), 1e3),
    "duration_s": (("total execution time (ms)", "execution_time"), 1e-3),
    "compile_ms": (("compile model time (ms)", "compile_model_time"), 1.0),
    "first_inference_ms": (("first inference time (ms)", "first_inference_time"), 1.0),
    "throughput_per_s": (("throughput",), 1.0),
}
"""A column -> what either edition calls it, and what makes its unit of theirs."""
_PERCENTILE = re.compile(r"latency \((\d{1,3}) percentile\) \(ms\)")
_MEDIANS = ("latency (ms)", "Median latency (ms)", "latency_median")
_ITERATIONS = ("total number of iterations", "iterations_num")
_REQUESTS = ("number of parallel infer requests", "nireq")
_BATCH = ("batch size", "batch_size")
_DEVICE = ("target device", "target_device")
_OPTIONS = {
    "API": "api",
    "api": "api",
    "performance_hint": "hint",
    "inference_only": "inference_only",
}
_STREAMS = re.compile(r"number of (\w+) streams")


def recognises(content: Content) -> bool:
    """Whether benchmark_app wrote it."""
    if isinstance(content.data, dict):
        return _RESULTS in content.data or {"cmd_options", _SETUP} <= content.data.keys()
    return any(line.strip(" ;") in _PARTS for line in content.text.splitlines()[:200])


def read(content: Content) -> list[ForeignCase]:
    """One case, without single timings: the report has none."""
    parts = content.data if isinstance(content.data, dict) else _parse_csv(content.text)
    command_values, setup, results = (_part(parts, name) for name in _PARTS.values())
    figures = _figures(results)
    requests = _first(setup, _REQUESTS)
    if requests is not None:
        figures["concurrency"] = int(parse_number(requests, "the number of infer requests"))
    if isinstance(device := _first(setup, _DEVICE), str):
        figures["device"] = device
    batch = _first(setup, _BATCH)
    size = int(parse_number(batch, "the batch size")) if str(batch).isdecimal() else 0
    return [
        ForeignCase(
            _model(command_values, setup),
            "wall of benchmark_app",
            "an infer request, from its start to its end",
            figures=figures,
            axes={"batch": size} if size else {},
            options=_options(setup),
            warnings=_rounding(figures) if "avg latency" in results else (),
        )
    ]


def _parse_csv(text: str) -> dict[str, dict[str, str]]:
    parts: dict[str, dict[str, str]] = {}
    part: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().rstrip(";").partition(";")
        if name in _PARTS and not value:
            part = parts.setdefault(_PARTS[name], {})
        elif value and name not in part:  # later ones are of groups of shapes
            part[name] = value
    return parts


def _part(parts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = parts.get(name) or {}
    if not isinstance(part, dict):
        raise Damaged(f"{name} is no object")
    return part


def _figures(results: Mapping[str, Any]) -> dict[str, float | int | str]:
    figures: dict[str, float | int | str] = {}
    for column, (names, scale) in _SCALED_COLUMNS.items():
        value = _first(results, names)
        if value is not None:
            figures[column] = scale * parse_number(value, names[0])
    for name, value in results.items():
        percentile = _percentile(name, results)
        if percentile is not None and 0 < percentile < 100:
            figures[f"latency_{name_of(percentile)}_us"] = 1e3 * parse_number(value, name)
    if not any(name.startswith(("latency_", "throughput_")) for name in figures):
        raise NoTimings("it has neither a latency nor a throughput, as of a run that failed")
    iterations = _first(results, _ITERATIONS)
    if iterations is not None:
        figures["iterations"] = int(parse_number(iterations, _ITERATIONS[0]))
    return figures


def _percentile(name: str, results: Mapping[str, Any]) -> int | None:
    """Which percentile a figure is; in the JSON of the C++ edition all are called the median."""
    if name in _MEDIANS:
        return int(parse_number(results.get("percentile_boundary", 50), "the percentile"))
    match = _PERCENTILE.fullmatch(name)
    return None if match is None else int(match[1])


def _model(command_values: Mapping[str, Any], setup: Mapping[str, Any]) -> str:
    path = (
        _first(command_values, ("-m", "--path_to_model", "m", "model"))
        or setup.get("topology")
        or ""
    )
    return PurePath(str(path)).stem


def _options(setup: Mapping[str, Any]) -> dict[str, str]:
    options = {word: str(setup[name]) for name, word in _OPTIONS.items() if name in setup}
    for name, value in setup.items():
        match = _STREAMS.fullmatch(name)
        if match is not None:
            options[f"{match[1].lower()}_streams"] = str(value)
    return options


def _rounding(figures: Mapping[str, float | int | str]) -> tuple[Diagnostic, ...]:
    latencies = [
        value
        for name, value in figures.items()
        if name.startswith("latency_") and not isinstance(value, str)
    ]
    if not latencies or min(latencies) * _FAR_ROUNDED >= 1e3 * _ROUNDED_MS:
        return ()
    return (diagnostic("figures_rounded", "benchmark_app", step_us=1e3 * _ROUNDED_MS),)


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((values[name] for name in names if name in values), None)
