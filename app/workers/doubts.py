"""Sentences of a round's warnings: what its own session gives a reader to doubt."""

from __future__ import annotations

from app.cases.round import Check
from exporters.types import UNOPTIMISED, ExportedModel
from runtimes.execution import Execution
from runtimes.session.precision import INTEGER, UNKNOWN

_ALONE = "since ONNX's evaluator cannot compute the graph"


def of_nans(check: Check) -> tuple[str, ...]:
    """NaN in the same places on both sides is right, and worth a word."""
    named = ", ".join(map(repr, check.nans))
    return (f"outputs hold NaN, as the reference does: {named}",) if check.nans else ()


def of_itself(check: Check, runtime: str) -> tuple[str, ...]:
    """ONNX Runtime checked by ONNX Runtime: what both get wrong does not show."""
    if check.reference != UNOPTIMISED or not runtime.startswith("ort-"):
        return ()
    return (f"compared with ONNX Runtime's own unoptimised self, {_ALONE}",)


def of_crowding(sessions: int, threads: int, cores: int) -> tuple[str, ...]:
    """Threads on too few cores wait for each other, whatever the device can do."""
    if sessions * (threads or cores) <= cores:
        return ()
    who = f"{threads} thread{'s' * (threads > 1)}" if threads else "as many threads"
    if sessions > 1:
        who = f"{sessions} sessions of {who}"
    return (
        f"{who} share {cores} core{'s' * (cores > 1)}: their latency is in part the wait for one",
    )


def of_precision(model: ExportedModel, execution: Execution) -> tuple[str, ...]:
    """A simulated card has one precision, which its rows tell; an engine may have chosen.

    At fp32 a graph is run as it is, so its own types are what was asked for: a quantised file runs
    in int8, one of doubles in fp64.
    """
    asked = model.precision
    own = {asked, INTEGER, *((model.narrowest, "fp64") if asked == "fp32" else ())}
    if own.issuperset(execution.precision.split("+")) or execution.clock == "simulated":
        return ()
    if execution.precision == UNKNOWN:
        return (f"{asked} was asked for and the engine does not tell what it executed",)
    return (f"{asked} was asked for and {execution.precision} was executed",)
