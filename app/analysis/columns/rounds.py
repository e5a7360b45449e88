"""Columns that rounds state: what ran, for how long, how correct, by which graph and references.

Rounds of one case with different graphs have no figures: a resumed run refuses a model that has
changed, but a folder may have been written otherwise.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from app.analysis.columns.family import CaseData, Count, Family, Flag, Lower, Number, Text
from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import FORKED, Check
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
    agreeing = [n for n in usable[0].agrees_with if all(n in item.agrees_with for item in usable)]
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


class AsMeasured(Family, heading="The case as it was measured"):
    runtime_version = Text()
    """The engine's own version."""
    execution_provider = Text("Provider")
    """The engine or provider that ran the graph."""
    device_name = Text(group="identity")
    """The device's own name; of several that differ all of them."""
    precision = Text(group="settings")
    """The precision that was executed, read from the graph."""
    concurrency = Count()
    """How many runs were in flight at once."""
    clock = Text(group="settings")
    """Wall clock, the device's own clock, or simulated: never compare them blindly. Of another
    program its own, in words."""
    call_path = Text()
    """Through which entry point of the engine a run is called."""
    boundary = Text()
    """Where the outputs are complete: in host or device memory. Of another program what lies
    between its readings of the clock."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        last = data.rounds[-1]
        has_samples = any(result.samples for result in data.rounds)
        return {
            "runtime_version": last.runtime_version or None,
            "execution_provider": last.execution_provider or None,
            "device_name": last.device_name or None,
            "precision": last.precision or None,
            "concurrency": last.concurrency if has_samples else None,
            "clock": last.clock if has_samples else None,
            "call_path": last.call_path or None,
            "boundary": last.boundary if has_samples else None,
        }


class Measurement(Family, heading="Measurement"):
    """A figure of each round is told by its median."""

    rounds = Count(group="confidence")
    """How many processes gave timings."""
    pairing = Text()
    """How the rounds alternated with those of other cases: turns, rounds, or both."""
    processes = Text()
    """Whether each round had a process of its own from its start (fresh), or a fork of one that had
    done the imports (forked)."""
    warmup_iterations = Count("Warm-up runs")
    """Runs before the measurement, of all rounds."""
    warmup_s = Number("Warm-up")
    """How long the rounds warmed up, together."""
    iterations = Count("Samples", "confidence")
    """Measured runs, of all rounds; of multistream its queries, of ahead its waits."""
    duration_s = Number("Measured")
    """How long the rounds measured, together."""
    stop_reason = Text("Stopped by")
    """What ended the rounds: what a precise case had reached, the looks of a sequential one."""
    compile_ms = Lower()
    """Median over the rounds of the time to compile."""
    first_inference_ms = Lower("First run")
    """Median over the rounds of the first run."""
    harness_overhead_ns = Number()
    """What the timed loop measures for an empty call."""
    rss_peak_mib = Lower("Memory")
    """The peak memory of the measuring process on the host."""
    device_memory_peak_mib = Lower("Device memory")
    """The peak memory of the measuring process on the device."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        rounds, timed = data.rounds, [result for result in data.rounds if result.samples]
        fresh = [result for result in rounds if FORKED not in result.facts]
        return {
            "rounds": len(timed),
            "pairing": join_values("turns" if TURN_SET in r.facts else "rounds" for r in rounds),
            "processes": join_values("forked" if FORKED in r.facts else "fresh" for r in rounds),
            "warmup_iterations": sum(r.warmup_iterations for r in timed) if timed else None,
            "warmup_s": sum(r.warmup_s for r in timed) if timed else None,
            "iterations": sum(r.iterations for r in timed) if timed else None,
            "duration_s": sum(r.duration_s for r in timed) if timed else None,
            "stop_reason": join_values(result.stop_reason for result in rounds),
            "compile_ms": median(r.phases_ms.get("compile") for r in rounds),
            "first_inference_ms": median(r.phases_ms.get("first_inference") for r in rounds),
            "harness_overhead_ns": median(result.harness_floor_ns for result in rounds),
            "rss_peak_mib": maximum(result.rss_peak_mb for result in fresh),
            "device_memory_peak_mib": maximum(r.device_memory_peak_mb for r in rounds),
        }


class Outputs(Family, heading="Outputs"):
    """Of the worst check of a case; of its references over all checks."""

    reference = Text()
    """Who computed the outputs that the errors are of: the first reference that the outputs agree
    with, else the nearest."""
    references = Text()
    """All references of the model, and why it is without others."""
    agreeing_references = Text()
    """The references that the outputs agree with, within the tolerance."""
    only_own_reference = Flag()
    """Whether right outputs agree with nothing but what the runtime's own engine computed."""
    output_disputed = Flag()
    """Whether references contradict outputs that are not known to be wrong."""
    reference_disagreement = Text("References disagree")
    """Which references differ by more than the graph's types allow, by how much, and the first node
    where ONNX's evaluator and ONNX Runtime do."""
    max_abs_error = Lower("Absolute error")
    """The largest difference from the reference."""
    max_rel_error = Lower("Error")
    """The largest difference from the reference output, over its largest value."""
    slice_error = Lower("Error of a slice")
    """Of the slice of the output, such as a channel, that is farthest off by its own scale: the
    root of its error energy over its signal energy; 0.5 are 6 dB."""
    tolerance = Number()
    """The error that is allowed: from the types that the graph computes in, or as asked for."""
    output_ok = Flag("Output right", "verdict")
    """Whether the error is within the tolerance; empty where nothing was compared."""

    @staticmethod
    def fill(data: CaseData, _: Row) -> Row:
        checks = [result.check for result in data.rounds if result.check is not None]
        if not checks:
            return {}
        check = max(checks, key=lambda check: (not check.output_ok, check.max_rel_error))
        return {
            **reference_columns(checks, check),
            "max_abs_error": check.max_abs_error,
            "max_rel_error": check.max_rel_error,
            "slice_error": check.slice_error if check.slice else None,
            "tolerance": check.tolerance,
            "output_ok": check.output_ok,
        }


def median(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None without any."""
    numbers = [value for value in values if value is not None]
    return statistics.median(numbers) if numbers else None


def minimum(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None without any."""
    return min((value for value in values if value is not None), default=None)


def maximum(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None without any."""
    return max((value for value in values if value is not None), default=None)


_HASH_LENGTH = 8


def graph_warnings(run: Run, case: Case) -> Iterator[Diagnostic]:
    """Rounds of more than one graph."""
    graphs = run.graphs_of(case)
    if len(graphs) > 1:
        short_hashes = tuple(graph[:_HASH_LENGTH] for graph in graphs)
        yield diagnostic("mixed_graphs", count=len(graphs), graphs=short_hashes)


class MixedGraphs(Family):
    """Figures of several graphs have no intervals."""

    @staticmethod
    def fill(data: CaseData, row: Row) -> Row:
        if len(data.run.graphs_of(data.case)) < 2:
            return {}
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
