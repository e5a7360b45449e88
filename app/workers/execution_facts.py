"""Execution facts of a compiled session: its engine, precision, outputs, states and threads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from app.cases.round import Check
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import UNOPTIMISED, ExportedModel, StatePair
from runtimes.base import Arrays, Lane, Runtime
from runtimes.execution import Execution, NodePlacement
from runtimes.session.precision import INTEGER, UNKNOWN, saturates_int8


def engine_facts(runtime: Runtime) -> dict[str, str]:
    """`engine_path` and `engine_distribution` of a round's result; empty where there is none."""
    file = runtime.engine_file()
    if file is None:
        return {}
    return {"engine_path": str(file), "engine_distribution": ", ".join(distributions_of(file))}


def distributions_of(file: Path) -> tuple[str, ...]:
    """The names of the packages that say they have installed this file; () for a file of none.

    Two packages may have written the same folder, as the builds of ONNX Runtime do.
    """
    for folder in file.parents:
        dist_infos = sorted(folder.glob("*.dist-info"))
        if dist_infos:
            relative_path = file.relative_to(folder)
            matching = [p for p in dist_infos if p.name.startswith(relative_path.parts[0])]
            rest = [package for package in dist_infos if package not in matching]
            return tuple(_owners(matching, relative_path)) or tuple(_owners(rest, relative_path))
    return ()


def _owners(dist_infos: list[Path], file: Path) -> Iterator[str]:
    for folder in dist_infos:
        try:
            if f"\n{file.as_posix()}," in "\n" + (folder / "RECORD").read_text("utf-8"):
                yield _name(folder / "METADATA")
        except OSError:
            continue


def _name(metadata: Path) -> str:
    lines = metadata.read_text("utf-8").splitlines()
    return next((line[6:].strip() for line in lines if line.startswith("Name: ")), "")


_NODES_NAMED = 5


def execution_fields(execution: Execution) -> dict[str, Any]:
    """What really runs; a float node that the engine did not take makes it partial."""
    fields: dict[str, Any] = {
        "clock": execution.clock,
        "boundary": execution.boundary,
        "call_path": execution.call_path,
        "execution_provider": execution.provider,
        "precision": execution.precision,
        "device_name": execution.device_name,
        "facts": dict(execution.facts),
    }
    fallback_nodes = execution.elsewhere
    if not fallback_nodes:
        return fields
    return fields | {
        "status": "partial",
        "reason": f"not all of the graph runs on {execution.provider}: {_nodes(fallback_nodes)}",
        "placement": tuple(asdict(node) for node in fallback_nodes),
        "facts": {
            **execution.facts,
            "fallback_ops": _operators(fallback_nodes),
            **_partitions(execution),
        },
    }


def _partitions(execution: Execution) -> dict[str, int | str]:
    """How often the providers change, and for which nodes; nothing where that is not known."""
    if not execution.partitions:
        return {}
    splitting = _nodes(execution.splitting)
    return {
        "partitions": len(execution.partitions),
        **({"splitting_nodes": splitting} if splitting else {}),
    }


def _nodes(fallback_nodes: Sequence[NodePlacement]) -> str:
    texts = [f"{n.op} {n.node!r} on {n.provider}" for n in fallback_nodes[:_NODES_NAMED]]
    hidden_count = len(fallback_nodes) - len(texts)
    return ", ".join(texts) + (f" and {hidden_count} more" if hidden_count else "")


def _operators(fallback_nodes: Sequence[NodePlacement]) -> str:
    """`Resize 2, Loop 1`: the most frequent first."""
    counts = Counter(node.op for node in fallback_nodes).most_common()
    return ", ".join(f"{op} {count}" for op, count in counts)


def output_diagnostics(check: Check) -> Iterator[Diagnostic]:
    """NaN in the same places on both sides is right, and worth a note; so is a lost slice."""
    for silence in dict.fromkeys(check.silent.values()):
        names = tuple(name for name, other in check.silent.items() if other == silence)
        if silence == "empty":
            yield diagnostic("outputs_empty", outputs=names)
        else:
            yield diagnostic("outputs_say_nothing", outputs=names, why=silence)
    if check.nans and "empty" not in check.silent.values():
        yield diagnostic("outputs_have_nan", outputs=check.nans)
    if check.output_ok and check.slices_lost:
        yield diagnostic(
            "slices_lost", check.worst_output, slice=check.slice, share=check.slices_lost
        )


def reference_diagnostics(check: Check) -> Iterator[Diagnostic]:
    """Outputs that no independent reference supports, or not every one expects; of wrong ones the
    reason says more."""
    agreeing = check.agrees_with
    if not check.output_ok or not check.references:
        return
    other_references = tuple(name for name in check.references if name not in agreeing)
    if not agreeing:
        yield diagnostic("no_agreeing_reference", others=other_references)
    elif check.only_own and other_references:
        yield diagnostic("only_own_engine_agrees", agreeing=agreeing, others=other_references)
    elif check.only_own:
        yield diagnostic("only_own_reference", agreeing=agreeing)
    elif check.disagreements:
        yield diagnostic("references_disagree", agreeing=agreeing)


def saturation_note(check: Check, model: ExportedModel, runtime: str) -> str:
    """What to set where ONNX Runtime is right without its optimisations and wrong with them, for
    int8 products of a processor that saturates; "" elsewhere."""
    name = runtime.partition(":")[0].partition("@")[0]
    parties = {party for item in check.disagreements for party in (item.first, item.second)}
    is_right_unoptimised = UNOPTIMISED in set(check.references) - parties
    if not name.startswith("ort-") or model.precision != "fp32" or model.narrowest != "int8":
        return ""
    if not is_right_unoptimised or not saturates_int8():
        return ""
    return (
        "; unoptimised, ONNX Runtime is right, and this processor has no VNNI, so that sums of two "
        f"int8 products saturate in 16 bits: set --option {name}.session.x64quantprecision=1"
    )


def wrong_output_diagnostic(check: Check) -> Diagnostic:
    """What is wrong with outputs that have no timing, and so no status of their own."""
    output, reference = check.worst_output, check.reference
    if check.unequal is not None:
        return diagnostic("outputs_unequal", output, reference=reference, share=check.unequal)
    if not math.isfinite(check.max_rel_error):
        return diagnostic("outputs_incomparable", output, reference=reference)
    error, tolerance = check.max_rel_error, check.tolerance
    return diagnostic(
        "outputs_inexact", output, reference=reference, error=error, tolerance=tolerance
    )


def state_diagnostics(lanes: Iterable[Lane], pairs: Iterable[StatePair]) -> Iterator[Diagnostic]:
    """A state that has run away is no number, one that has died away is too small a one: a
    processor takes another time for either. To be asked right after the timed runs."""
    lane_outputs = [lane.outputs() for lane in lanes]
    for pair in pairs:
        if code := _anomaly_code(pair.output, lane_outputs):
            yield diagnostic(code, pair.input)


def _anomaly_code(output: str, outputs: Iterable[Arrays]) -> str:
    """The code of values that are not ordinary, in any of the lanes; "" where all are."""
    arrays = [arrays[output] for arrays in outputs if output in arrays]
    floats = [array for array in arrays if array.dtype.kind == "f"]
    if not all(np.isfinite(array).all() for array in floats):
        return "state_not_finite"
    if any(_is_subnormal(array).any() for array in floats):
        return "state_subnormal"
    return ""


def _is_subnormal(array: np.ndarray) -> np.ndarray:
    """Where a value is not 0, and below the least that has all its digits."""
    is_tiny: np.ndarray = (array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)
    return is_tiny


def crowding_diagnostics(sessions: int, threads: int, cores: int) -> Iterator[Diagnostic]:
    """Threads on too few cores wait for each other, whatever the device can do."""
    if sessions * (threads or cores) > cores:
        yield diagnostic(
            "threads_exceed_cores", sessions=sessions, threads=threads or cores, cores=cores
        )


def precision_diagnostics(model: ExportedModel, execution: Execution) -> Iterator[Diagnostic]:
    """A simulated card has one precision, which its rows tell; an engine may have chosen.

    At fp32 a graph is run as it is, so its own types are what was asked for: a quantised file runs
    in int8, one of doubles in fp64.
    """
    model_precision = model.precision
    allowed_types = {
        model_precision,
        INTEGER,
        *((model.narrowest, "fp64") if model_precision == "fp32" else ()),
    }
    if allowed_types.issuperset(execution.precision.split("+")) or execution.clock == "simulated":
        return
    if execution.precision == UNKNOWN:
        yield diagnostic("precision_unknown", requested=model_precision)
    else:
        yield diagnostic(
            "precision_changed", requested=model_precision, executed=execution.precision
        )
