"""Sentences of a round's warnings: what its own session gives a reader to doubt."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from app.cases.round import Check
from exporters.types import UNOPTIMISED, ExportedModel, StatePair
from runtimes.base import Arrays, Lane
from runtimes.execution import Execution
from runtimes.session.precision import INTEGER, UNKNOWN

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


def of_states(lanes: Iterable[Lane], pairs: Iterable[StatePair]) -> tuple[str, ...]:
    """A state that has run away is no number, one that has died away is too small a one: a
    processor takes another time for either. To be asked right after the timed runs."""
    given = [lane.outputs() for lane in lanes]
    found = ((pair.input, _strange(pair.output, given)) for pair in pairs)
    return tuple(
        f"the state {name!r} is {what} after the timed runs: their latency is not that of ordinary "
        "values; use a model or inputs that keep it bounded"
        for name, what in found
        if what
    )


def _strange(output: str, given: Iterable[Arrays]) -> str:
    """What no ordinary value is among the elements of an output, in any of the lanes; else ""."""
    arrays = [arrays[output] for arrays in given if output in arrays]
    floats = [array for array in arrays if array.dtype.kind == "f"]
    if not all(np.isfinite(array).all() for array in floats):
        return "infinite or NaN"
    if any(_is_subnormal(array).any() for array in floats):
        return "subnormal"
    return ""


def _is_subnormal(array: np.ndarray) -> np.ndarray:
    """Where a value is not 0, and below the least that has all its digits."""
    least: np.ndarray = (array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)
    return least


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
