"""Rows as JSON: an object that states its columns' meaning, and NeurIO's profile layout."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from app.analysis.columns.load import set_runs
from app.analysis.columns.status import worst_round
from app.analysis.columns.table import all_names, column
from app.cases.case import Case
from app.cases.column import Row
from app.cases.jobs import Sensitivity
from app.cases.round import RoundResult
from app.run_folder.diagnostics import DIAGNOSTICS, diagnostics_of, text
from app.run_folder.files import replacing
from app.run_folder.run import Run
from exporters.codec import to_json
from exporters.types import ExportedModel

RESULTS = "results.json"
_COLUMN_KEYS = ("kind", "title", "unit", "meaning", "better")
_SCALARS = frozenset({type(None), bool, int, str})
"""Most values of most rows; whether one is a mapping takes far longer to find out."""


def export_json(run: Run, rows: Sequence[Row]) -> tuple[Path, ...]:
    """Write `results.json` into the run folder; null where nothing was measured, and where what
    came out is infinite or no number, as an error of outputs may be: JSON has neither.

    Stable keys: what is added later is a new key.
    """
    names = all_names(rows)
    manifest = run.manifest
    document = {
        "format": "graphlap-results",
        "version": 1,
        "run_id": manifest.run_id,
        "name": manifest.name,
        "created_at_utc": manifest.created_at_utc,
        "graphlap_version": manifest.graphlap_version,
        "environment": manifest.environment,
        "environments": run.environments,
        "plan": manifest.plan,
        "latency_by_set": {
            case.case_id: {
                item.name: {
                    "runs": len(item.latency_us),
                    "p50_us": item.p50_us,
                    "p99_us": item.p99_us,
                }
                for item in set_runs(run, case)
            }
            for case in run.cases
            if case.given.more_inputs
        },
        "sensitivity": {
            case_id: {"factors": line.factors, "left_out": line.left_out}
            for case_id, line in run.result_by_subject(Sensitivity).items()
        },
        "columns": [_column(name) for name in names],
    }
    path = run.path / RESULTS
    # A line for each row: indented, all of it would be written by Python's slow encoder.
    head = _text(finite(document), indent=1).removesuffix("\n}")
    with replacing(path) as file:
        file.write(_encode(f'{head},\n "rows": [\n  '))
        for place, row in enumerate(rows):
            file.write(_encode((",\n  " if place else "") + _text(row_values(row, names))))
        file.write(b"\n ]\n}\n")
    return (path,)


def _encode(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


def row_values(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """The row's values, its diagnostics as objects with the text of each."""
    values = {name: finite(row.get(name)) for name in names}
    if DIAGNOSTICS in values:
        values[DIAGNOSTICS] = [
            {**finite(to_json(entry)), "text": text(entry)} for entry in diagnostics_of(row)
        ]
    return values


def finite(value: Any) -> Any:
    """The value, None for each number in it that JSON has no form for."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def _text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def _column(name: str) -> dict[str, Any]:
    definition = column(name)
    if definition is None:
        return {"name": name}
    return {"name": name, **{key: getattr(definition, key) for key in _COLUMN_KEYS}}


def as_json(profiles: Sequence[dict[str, Any]]) -> str:
    """A file of them: a list."""
    return json.dumps(profiles, indent=1) + "\n"


def profile(run: Run, case: Case, maximum_times: int) -> dict[str, Any]:
    """A case in the profiler's fields, and its status and clock.

    At most `maximum_times` of its latencies are listed; times in seconds.
    """
    rounds = run.rounds_of(case)
    model = run.model_of(case)
    decisive = worst_round(rounds)
    last = rounds[-1] if rounds else RoundResult(case.case_id, 0, "not_run")
    loads = [result.phases_ms["compile"] for result in rounds if "compile" in result.phases_ms]
    return {
        "model": {
            "model_name": case.model,
            "inputs": _shapes(model, case, "inputs"),
            "outputs": _shapes(model, case, "outputs"),
            "parameters": None if model is None else model.parameters,
            "macc": None if model is None else model.macs,
        },
        "device": {"name": last.device_name or None, "system": run.host_of(case) or None},
        "runtime": {"name": case.runtime, "version": last.runtime_version or None},
        "inference": {
            "batch_size": (case.axes if model is None else model.at(case.axes).axes).get("batch"),
            "model_load_time": float(np.median(loads)) / 1e3 if loads else None,
            "inference_time": _times_s(run, rounds, maximum_times),
            "clock": next((result.clock for result in rounds if result.samples), None),
        },
        "status": "not_run" if decisive is None else decisive.status,
        "reason": "" if decisive is None else decisive.reason,
    }


def _shapes(model: ExportedModel | None, case: Case, side: str) -> dict[str, list[int]] | None:
    if model is None:
        return None
    sized_model = model.at(case.axes)
    return {spec.name: list(spec.shape_at(sized_model.axes)) for spec in getattr(sized_model, side)}


def _times_s(run: Run, rounds: Sequence[RoundResult], maximum: int) -> list[float]:
    """At most so many of the measured latencies, evenly spread over all rounds, in seconds."""
    round_times_ns = [run.samples_of(result).latency_ns for result in rounds if result.samples]
    if not round_times_ns:
        return []
    all_ns = np.concatenate(round_times_ns)
    indices = np.linspace(0, len(all_ns) - 1, min(maximum, len(all_ns))).astype(int)
    return [float(nanoseconds) / 1e9 for nanoseconds in all_ns[indices]]
