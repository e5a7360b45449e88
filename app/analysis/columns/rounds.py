"""Columns that rounds state: what ran, for how long, how correct, by which graph and references.

Rounds of one case with different graphs have no figures: a resumed run refuses a model that has
changed, but a folder may have been written otherwise.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from app.cases.case import Case
from app.cases.column import Row
from app.cases.columns import columns_of
from app.cases.round import FORKED, Check, RoundResult
from app.cases.turns import TURN_SET
from app.formatting import text
from app.formatting.text import one_line
from app.run_folder.files import Finding
from app.run_folder.journal import FOLDER
from app.run_folder.run import Run
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import Disagreement

_SEPARATOR = "; "


def join_values(values: Iterable[str]) -> str | None:
    """The cell of these values, in order of appearance; None if there are none."""
    plain = (value.replace(_SEPARATOR, ", ") for value in values if value)
    return _SEPARATOR.join(dict.fromkeys(plain)) or None


def reference_columns(checks: Sequence[Check], check: Check) -> Row:
    """Of all checks of a case; `check` is the one that its errors are of."""
    values: Row = {"reference": check.reference}
    usable = [item for item in checks if item.references]
    if not usable:
        return values
    agreeing = [
        name for name in usable[0].agrees_with if all(name in item.agrees_with for item in usable)
    ]
    missing_texts = [f"{name} ({reason})" for name, reason in check.missing.items()]
    return values | {
        "references": one_line(", without ".join([", ".join(check.references), *missing_texts])),
        "agreeing_references": ", ".join(agreeing) or None,
        "only_own_reference": any(item.only_own for item in usable),
        "output_disputed": any(item.disputed for item in usable),
        "reference_disagreement": join_values(
            one_line(_sentence(item)) for item in check.disagreements
        ),
    }


def _sentence(disagreement: Disagreement) -> str:
    """`onnx and onnxruntime unoptimised: output 'y' by 0.8 of its largest value, first at …`."""
    sentence = f"{disagreement.first} and {disagreement.second}: output {disagreement.output!r}"
    if disagreement.unequal is not None:
        sentence = f"{sentence} in {text.share(disagreement.unequal)} of its elements"
    elif disagreement.relative is not None:
        sentence = f"{sentence} by {disagreement.relative:.2g} of its largest value"
    else:
        sentence = f"{sentence} in its shape, or in where it is NaN or infinite"
    if disagreement.node:
        sentence = f"{sentence}, first at node {disagreement.node!r} ({disagreement.operator})"
    elif disagreement.no_node:
        sentence = f"{sentence}, at an unknown node ({disagreement.no_node})"
    return sentence


FACTS = columns_of("facts")
ROUND_FACTS = columns_of("round_facts")
"""The columns that a runtime or the measuring process may state as facts, of the compiled graph and
of each round; all others are computed."""


def round_columns(rounds: Sequence[RoundResult]) -> Row:
    """Of all rounds of a case, one at least; a figure of each is told by its median."""
    last = rounds[-1]
    timed_rounds = [result for result in rounds if result.samples]
    checks = [result.check for result in rounds if result.check is not None]
    check = max(checks, key=lambda c: (not c.output_ok, c.max_rel_error), default=None)
    values: Row = {
        "concurrency": last.concurrency if timed_rounds else None,
        "runtime_version": last.runtime_version or None,
        "execution_provider": last.execution_provider or None,
        "device_name": last.device_name or None,
        "precision": last.precision or None,
        "clock": last.clock if timed_rounds else None,
        "call_path": last.call_path or None,
        "boundary": last.boundary if timed_rounds else None,
        "rounds": len(timed_rounds),
        "warmup_iterations": sum(r.warmup_iterations for r in timed_rounds)
        if timed_rounds
        else None,
        "warmup_s": sum(r.warmup_s for r in timed_rounds) if timed_rounds else None,
        "stop_reason": join_values(result.stop_reason for result in rounds),
        "pairing": join_values("turns" if TURN_SET in r.facts else "rounds" for r in rounds),
        "processes": join_values("forked" if FORKED in r.facts else "fresh" for r in rounds),
        "iterations": sum(r.iterations for r in timed_rounds) if timed_rounds else None,
        "duration_s": sum(r.duration_s for r in timed_rounds) if timed_rounds else None,
        "compile_ms": _median(rounds, lambda r: r.phases_ms.get("compile")),
        "first_inference_ms": _median(rounds, lambda r: r.phases_ms.get("first_inference")),
        "harness_overhead_ns": _median(rounds, lambda r: r.harness_floor_ns),
        "rss_peak_mib": _maximum(
            [r for r in rounds if FORKED not in r.facts], lambda r: r.rss_peak_mb
        ),
        "device_memory_peak_mib": _maximum(rounds, lambda r: r.device_memory_peak_mb),
    }
    if check is not None:
        values |= {
            **reference_columns(checks, check),
            "max_abs_error": check.max_abs_error,
            "max_rel_error": check.max_rel_error,
            "slice_error": check.slice_error if check.slice else None,
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
    timed_rounds = [result for result in rounds if result.samples]
    return {name: _median(timed_rounds, partial(_fact, name)) for name in ROUND_FACTS}


def _fact(name: str, result: RoundResult) -> float | None:
    value = result.facts.get(name)
    return float(value) if value is not None else None


def _median(
    rounds: Sequence[RoundResult], value_of: Callable[[RoundResult], float | None]
) -> float | None:
    numbers = [value for value in map(value_of, rounds) if value is not None]
    return statistics.median(numbers) if numbers else None


def _maximum(
    rounds: Sequence[RoundResult], value_of: Callable[[RoundResult], float | None]
) -> float | None:
    return max((value for value in map(value_of, rounds) if value is not None), default=None)


_HASH_LENGTH = 8


def graph_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Rounds of more than one graph."""
    graphs = run.graphs_of(case)
    if len(graphs) > 1:
        short_hashes = tuple(graph[:_HASH_LENGTH] for graph in graphs)
        yield diagnostic("mixed_graphs", count=len(graphs), graphs=short_hashes)


def without_intervals(row: Row) -> Row:
    """The columns of intervals, empty: figures of several graphs have none."""
    return {name: None for name in row if "_ci_" in name or name == "ci_method"}


def mixed_graphs(run: Run) -> Iterator[Finding]:
    """A finding for each case with rounds of more than one graph."""
    for case in run.cases:
        graphs = run.graphs_of(case)
        if len(graphs) > 1:
            yield Finding(
                "graphs_mixed",
                FOLDER,
                f"has rounds of case {case.case_id} that measured {_graphs_text(graphs)}",
                "measure the case in a new run",
            )


def _graphs_text(graphs: tuple[str, ...]) -> str:
    return f"{len(graphs)} graphs (sha256 {', '.join(graph[:_HASH_LENGTH] for graph in graphs)})"
