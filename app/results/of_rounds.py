"""What a case's rounds say of themselves -> columns: what ran where, for how long, how right."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial

from app.cases.column import Row
from app.cases.columns import columns_of
from app.cases.round import RoundResult
from app.results.cells import joined
from app.results.references import reference_columns

FACTS = columns_of("facts")
ROUND_FACTS = columns_of("round_facts")
"""The columns that a runtime or the measuring process may state as facts, of the compiled graph and
of each round; all others are computed."""


def round_columns(rounds: Sequence[RoundResult]) -> Row:
    """Of all rounds of a case, one at least; a figure of each is told by its median."""
    last = rounds[-1]
    timed = [result for result in rounds if result.samples]
    checks = [result.check for result in rounds if result.check is not None]
    check = max(checks, key=lambda c: (not c.output_ok, c.max_rel_error), default=None)
    steady = [result.settled for result in timed if result.settled is not None]
    values: Row = {
        "concurrency": last.concurrency if timed else None,
        "runtime_version": last.runtime_version or None,
        "execution_provider": last.execution_provider or None,
        "device_name": last.device_name or None,
        "precision": last.precision or None,
        "clock": last.clock if timed else None,
        "call_path": last.call_path or None,
        "boundary": last.boundary if timed else None,
        "rounds": len(timed),
        "warmup_iterations": sum(r.warmup_iterations for r in timed) if timed else None,
        "warmup_s": sum(r.warmup_s for r in timed) if timed else None,
        "steady_state": all(steady) if steady else None,
        "stop_reason": joined(result.stop_reason for result in rounds),
        "iterations": sum(r.iterations for r in timed) if timed else None,
        "duration_s": sum(r.duration_s for r in timed) if timed else None,
        "compile_ms": _median(rounds, lambda r: r.phases_ms.get("compile")),
        "first_inference_ms": _median(rounds, lambda r: r.phases_ms.get("first_inference")),
        "harness_overhead_ns": _median(rounds, lambda r: r.harness_floor_ns),
        "rss_peak_mib": _most(rounds, lambda r: r.rss_peak_mb),
        "device_memory_peak_mib": _most(rounds, lambda r: r.device_memory_peak_mb),
    }
    if check is not None:
        values |= {
            **reference_columns(checks, check),
            "max_abs_error": check.max_abs_error,
            "max_rel_error": check.max_rel_error,
            "cosine_similarity": check.cosine,
            "tolerance": check.tolerance,
            "output_ok": check.output_ok,
        }
    return values


def fact_columns(rounds: Sequence[RoundResult]) -> Row:
    """What the last round states of the graph and its run as a whole."""
    return {name: value for name, value in rounds[-1].facts.items() if name in FACTS}


def round_fact_columns(rounds: Sequence[RoundResult]) -> Row:
    """Figures that each timed round states, by their medians; of a check, which times nothing,
    none."""
    timed = [result for result in rounds if result.samples]
    return {name: _median(timed, partial(_fact, name)) for name in ROUND_FACTS}


def _fact(name: str, result: RoundResult) -> float | None:
    value = result.facts.get(name)
    return float(value) if value is not None else None


def _median(
    rounds: Sequence[RoundResult], of: Callable[[RoundResult], float | None]
) -> float | None:
    known = [value for value in map(of, rounds) if value is not None]
    return statistics.median(known) if known else None


def _most(rounds: Sequence[RoundResult], of: Callable[[RoundResult], float | None]) -> float | None:
    return max((value for value in map(of, rounds) if value is not None), default=None)
