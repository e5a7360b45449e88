"""What a case's rounds say of themselves -> columns: what ran where, for how long, how right."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial

from app.cases.column import Row
from app.cases.round import RoundResult
from app.results.cells import joined
from app.results.references import reference_columns

_OF_ROUNDS = (
    "h2d_p50_us",
    "device_p50_us",
    "d2h_p50_us",
    "eviction_ms",
    "sampled_fraction",
    "colocated_runs_per_s",
    "colocated_busy_fraction",
)
"""Facts that are figures of each round and not of the compiled graph."""
FACTS = (
    *_OF_ROUNDS,
    *("fidelity", "fidelity_reason", "card_release"),
    *("cycles", "io_us", "weight_tiles_used", "weight_tiles_total"),
    *("sync", "host_memory", "device_memory_source", "evicted_mb"),
    *("check_level", "engine_size_mib", "refused_node", "fallback_ops"),
)
"""The columns that a runtime or the measuring process may state as facts; all others are computed.
"""


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
    values |= {name: value for name, value in last.facts.items() if name in FACTS}
    return values | {name: _median(timed, partial(_fact, name)) for name in _OF_ROUNDS}


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
