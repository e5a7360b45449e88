"""What a user says of a model's inputs on the command line: ranges to draw in, and states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from exporters.types import ExportError, Reference, StatePair, TensorSpec


def in_ranges(
    specs: Sequence[TensorSpec], ranges: Mapping[str, tuple[float, float]], model: str
) -> tuple[TensorSpec, ...]:
    """The inputs, those with a range drawn in it; integers take both of its ends.

    ExportError for a name that is no input, and for values that a table does not have.
    """
    _refuse_unknown(ranges, [spec.name for spec in specs], "input", "--input-range", model)
    return tuple(
        _in_range(spec, *ranges[spec.name], model) if spec.name in ranges else spec
        for spec in specs
    )


def paired(
    inputs: Sequence[TensorSpec],
    outputs: Sequence[str],
    states: Mapping[str, str],
    model: str,
) -> tuple[StatePair, ...]:
    """The pairs of `states`, which maps outputs to the inputs that they become."""
    _refuse_unknown(states, outputs, "output", "--state", model)
    _refuse_unknown(states.values(), [spec.name for spec in inputs], "input", "--state", model)
    return tuple(StatePair(given, output) for output, given in states.items())


def refuse_unfit_states(
    pairs: Sequence[StatePair],
    types: Mapping[str, str],
    reference: Reference,
    model: str,
) -> None:
    """ExportError for an output that is not of the shape and type of the input it becomes.

    `types` are those of the float32 graph, whatever the reference is fed. A shape is right if
    one reference has it; without outputs nothing is known of it.
    """
    computed = [of for of in (reference.outputs, *reference.others.values()) if of]
    for pair in pairs:
        taken = types[pair.input], list(reference.inputs[pair.input].shape)
        shapes = [list(outputs[pair.output].shape) for outputs in computed] or [taken[1]]
        given = types[pair.output], taken[1] if taken[1] in shapes else shapes[0]
        if taken != given:
            raise ExportError(
                f"the output {pair.output!r} of {model} is {given[0]} {given[1]} and cannot "
                f"become the input {pair.input!r}, {taken[0]} {taken[1]}",
                "give --state pairs that keep their shape, as a cache of fixed length does",
            )


def _in_range(spec: TensorSpec, low: float, high: float, model: str) -> TensorSpec:
    _refuse_unfit_range(spec, low, high, model)
    if spec.dtype[0] == "f":
        return replace(spec, low=low, high=high, count_up=False, guessed=False)
    if spec.allowed and not spec.allowed[0] <= low <= high <= spec.allowed[1]:
        raise ExportError(
            f"the tables that {spec.name!r} of {model} indexes have the entries "
            f"{spec.allowed[0]} to {spec.allowed[1]}",
            f"give --input-range {spec.name}={max(spec.allowed[0], 0)}:{spec.allowed[1]}",
        )
    return replace(spec, low=low, high=high + 1, count_up=False, guessed=False)


def _refuse_unfit_range(spec: TensorSpec, low: float, high: float, model: str) -> None:
    """ExportError for ends that the input's type can't hold, and for parts of whole numbers."""
    dtype = np.dtype(spec.dtype)
    if dtype.kind == "f":
        largest = float(np.finfo(dtype).max)
        least = -largest
    elif dtype.kind == "b":
        least, largest = 0.0, 1.0
    else:
        held = np.iinfo(dtype)
        least, largest = float(held.min), float(min(held.max, 2**63 - 1))
    if not least <= low <= high <= largest:
        raise ExportError(
            f"--input-range {spec.name}: the input of {model} is {dtype}, which holds {least:g} to "
            f"{largest:g} (got {low:g} to {high:g})",
            "give ends within that",
        )
    if dtype.kind != "f" and not (low.is_integer() and high.is_integer()):
        raise ExportError(
            f"--input-range {spec.name}: the input of {model} is {dtype} (got {low:g} to {high:g})",
            "give integers",
        )


def _refuse_unknown(
    names: Iterable[str],
    known: Sequence[str],
    kind: str,
    flag: str,
    model: str,
) -> None:
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise ExportError(f"{model} has no {kind} {name!r}, which {flag} names", remedy)
