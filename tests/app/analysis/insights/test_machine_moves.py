"""A machine whose rounds move all cases alike is told, over many simulated runs."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.insights.rules import find_insights
from app.cases.case import Case
from app.cases.column import Row
from app.stats.estimates import Estimate
from app.stats.intervals import interval_between, typical
from app.stats.summary import Summary

RATIOS = (1.0, 1.005, 1.02, 1.05, 1.1, 1.6, 3.0)
RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu")


def summary_of(rounds_us: np.ndarray) -> Summary:
    """Of a case that has a p50 and nothing else."""
    figure = Estimate(
        typical(rounds_us), interval_between(rounds_us), "", tuple(rounds_us.tolist())
    )
    empty = dict.fromkeys((field.name for field in fields(Summary)), None)
    values = {"figures": {"p50": figure}, "warnings": (), "confidence": 0.95, "drift": ""}
    return Summary(**{**empty, **values})  # type: ignore[arg-type]


def measured_of(case: Case, options: str, rounds_us: np.ndarray) -> MeasuredCase:
    summary = summary_of(rounds_us)
    interval = summary.interval_us("p50")
    row: Row = {
        "status": "ok", "valid": True, "model": case.model, "runtime": case.runtime,
        "options": options, "precision": "fp32", "threads": 1, "clock": "wall", "axes": "",
        "host": "a", "cpu_clock_min_mhz": 4200.0, "cpu_clock_max_mhz": 4500.0,
        "latency_p50_us": summary.value_us("p50"),
        "latency_p50_ci_low_us": interval.low if interval else None,
        "latency_p50_ci_high_us": interval.high if interval else None,
    }  # fmt: skip
    return MeasuredCase(case, row, summary, tuple(range(len(rounds_us))), turn="one run")


def run_of(
    rng: np.random.Generator, rounds: int, shared_noise: float, own_noise: float
) -> list[MeasuredCase]:
    """Two models on three runtimes, of which one has two values of an option; what the machine does
    in a round all of them share."""
    cases = []
    for model in ("mlp", "cnn"):
        machine = shared_noise * rng.standard_normal(rounds)
        variants = [(runtime, "") for runtime in RUNTIMES]
        variants += [("ort-cpu", "graph=all"), ("ort-cpu", "graph=off")]
        for runtime, options in variants:
            level = 100.0 * rng.choice(RATIOS)
            noise = machine + own_noise * rng.standard_normal(rounds)
            case = Case(model, runtime, options={"graph": options[6:]} if options else {})
            cases.append(measured_of(case, options, level * np.exp(noise)))
    return cases


def moves(shared_noise: float, own_noise: float, tries: int) -> float:
    """In which share of simulated runs the machine is said to have moved."""
    rng = np.random.default_rng(12)
    finds = (find_insights(run_of(rng, 8, shared_noise, own_noise)) for _ in range(tries))
    return sum(any(one.kind == "machine_moves" for one in found) for found in finds) / tries


def test_a_machine_that_moves_all_cases_is_noticed_and_independent_processes_are_not() -> None:
    assert moves(0.0, 0.03, 200) <= 0.03
    assert moves(0.03, 0.01, 60) >= 0.85


def test_it_has_the_range_of_the_clock_beside_it() -> None:
    insight, *_ = find_insights(run_of(np.random.default_rng(3), 8, 0.05, 0.005))
    assert "4.20 to 4.50 GHz" in insight.sentence and "GHz" in insight.brief
