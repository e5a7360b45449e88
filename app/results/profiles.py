"""Cases in the fields of NeurIO's profiler: the layout of its results, with status and clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.cases.case import Case
from app.cases.round import RoundResult
from app.results.ended import worst
from app.results.run import Run
from exporters.types import ExportedModel


def as_json(profiles: Sequence[dict[str, Any]]) -> str:
    """A file of them: a list."""
    return json.dumps(profiles, indent=1) + "\n"


def profile(run: Run, case: Case, most_times: int) -> dict[str, Any]:
    """A case in the profiler's fields, and its status and clock.

    At most `most_times` of its latencies are listed; times in seconds.
    """
    rounds = run.rounds_of(case)
    model = run.model_of(case)
    decisive = worst(rounds)
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
            "inference_time": _times_s(run, rounds, most_times),
            "clock": next((result.clock for result in rounds if result.samples), None),
        },
        "status": "not_run" if decisive is None else decisive.status,
        "reason": "" if decisive is None else decisive.reason,
    }


def _shapes(model: ExportedModel | None, case: Case, side: str) -> dict[str, list[int]] | None:
    if model is None:
        return None
    there = model.at(case.axes)
    return {spec.name: list(spec.shape_at(there.axes)) for spec in getattr(there, side)}


def _times_s(run: Run, rounds: Sequence[RoundResult], most: int) -> list[float]:
    """At most so many of the measured latencies, evenly spread over all rounds, in seconds."""
    timed = [run.samples_of(result).latency_ns for result in rounds if result.samples]
    if not timed:
        return []
    all_ns = np.concatenate(timed)
    kept = np.linspace(0, len(all_ns) - 1, min(most, len(all_ns))).astype(int)
    return [float(nanoseconds) / 1e9 for nanoseconds in all_ns[kept]]
