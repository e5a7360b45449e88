"""Sentences of a round's warnings: what its own session gives a reader to doubt."""

from __future__ import annotations

from app.cases.round import Check
from exporters.types import UNOPTIMISED
from runtimes.execution import Execution

_OF_ENGINES = {"ort": UNOPTIMISED, "torch": "torch"}
"""The reference that the engine of a runtime has computed, by the beginning of its name."""
_LOOK = "compare the node that reference_disagreement names with the model's source"
_BRING = "lay expected outputs beside the model (NAME_output_0.pb)"


def of_nans(check: Check) -> tuple[str, ...]:
    """NaN in the same places on both sides is right, and worth a word."""
    named = ", ".join(map(repr, check.nans))
    return (f"outputs hold NaN, as the reference does: {named}",) if check.nans else ()


def is_only_own(check: Check, runtime: str) -> bool:
    """Whether right outputs agree with nothing but what the runtime's own engine computed.

    ONNX Runtime as the only reference counts too: what both get wrong does not show. A torch
    module is what its graph was made of, so torch counts only where another reference differs.
    """
    kind = runtime.partition("-")[0]
    own = _OF_ENGINES.get(kind)
    if own is None or not check.output_ok or not check.agrees_with:
        return False
    if not all(name.startswith(own) for name in check.agrees_with):
        return False
    return kind == "ort" or len(check.agrees_with) < len(check.references)


def of_references(check: Check) -> tuple[str, ...]:
    """Outputs that not every reference expects; of wrong ones the reason says more."""
    agreeing = " and ".join(check.agrees_with)
    if not check.output_ok or not check.references:
        return ()
    if not agreeing:
        return (f"the outputs agree with no single reference throughout: {_LOOK}",)
    others = " and ".join(name for name in check.references if name not in check.agrees_with)
    if check.only_own and others:
        alone = f"the outputs agree with {agreeing} alone, which is the runtime's own engine"
        return (f"{alone}, and not with {others}: {_LOOK}",)
    if check.only_own:
        return (f"compared with ONNX Runtime's own unoptimised self alone: {_BRING}",)
    if check.disagreements:
        return (f"the references disagree, and the outputs agree with {agreeing}: {_LOOK}",)
    return ()


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


def of_precision(asked: str, execution: Execution) -> tuple[str, ...]:
    """A simulated card has one precision, which its rows tell; an engine may have chosen."""
    if execution.precision == asked or execution.clock == "simulated":
        return ()
    return (f"{asked} was asked for and {execution.precision} was executed",)
