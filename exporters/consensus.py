"""References of a model at one point, compared with each other: which agree, and which do not.

The outputs of the first are kept, and those of any other that is not as good as equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from exporters.agreement import TOLERANCE, Bound, difference, scale_of
from exporters.complaint import first_line
from exporters.types import EVALUATED, UNOPTIMISED, Disagreement, Reference

Arrays = Mapping[str, np.ndarray]
Outputs = Mapping[str, Arrays]
"""By the name of a reference."""
NO_OUTPUTS: Outputs = {}
Node = tuple[str, str]
"""A node's name and its operator."""

AS_ONE = TOLERANCE["fp32"] / 10
"""References that differ by no more are one: a tenth of the least that any row is allowed."""


@dataclass(frozen=True, slots=True)
class Computed:
    """Outputs by reference, in the order of preference, and why others could not be had."""

    outputs: Outputs
    missing: Mapping[str, str] = field(default_factory=dict)


def reconciled(
    inputs: Arrays,
    computed: Computed,
    bound: Bound,
    first_difference: Callable[[], Node | None],
) -> Reference:
    """The references as one value; `first_difference` is asked for the node where ONNX's evaluator
    and ONNX Runtime part, if these two differ by more than the bound allows."""
    names = list(computed.outputs)
    first, scale = names[0], scale_of(inputs)
    near = Bound(min(AS_ONE, bound.tolerance))
    disagreements = []
    for one, other in combinations(names, 2):
        found = disagreement(one, other, computed.outputs, bound, scale)
        if found is not None:
            if {one, other} == {EVALUATED, UNOPTIMISED}:
                found = _located(found, first_difference)
            disagreements.append(found)
    equal = tuple(
        name
        for name in names
        if name == first or disagreement(name, first, computed.outputs, near, scale) is None
    )
    return Reference(
        inputs,
        computed.outputs[first],
        equal,
        {name: computed.outputs[name] for name in names if name not in equal},
        computed.missing,
        tuple(disagreements),
    )


def two_agree(outputs: Outputs, bound: Bound, scale: float) -> bool:
    """Whether there are two references within the bound of each other."""
    pairs = combinations(outputs, 2)
    return any(disagreement(one, other, outputs, bound, scale) is None for one, other in pairs)


def disagreement(
    one: str, other: str, outputs: Outputs, bound: Bound, scale: float
) -> Disagreement | None:
    """The worst output in which two references differ by more than the bound; None if none does."""
    worst: tuple[float, Disagreement] | None = None
    for name, wanted in outputs[other].items():
        found = difference(outputs[one].get(name), wanted, scale)
        if bound.holds(found, wanted):
            continue
        relative = found.relative if np.isfinite(found.relative) else None
        unequal = found.unequal / max(wanted.size, 1) if bound.is_exact(wanted) else None
        if worst is None or found.relative > worst[0]:
            worst = found.relative, Disagreement(one, other, name, relative, unequal)
    return None if worst is None else worst[1]


def _located(found: Disagreement, first_difference: Callable[[], Node | None]) -> Disagreement:
    """With the node, or why there is none: all values of a graph can be too much to hold."""
    try:
        node = first_difference()
    except Exception as error:
        return replace(found, no_node=first_line(error))
    if node is None:
        return replace(found, no_node="no value between inputs and outputs differs so much")
    return replace(found, node=node[0], operator=node[1])
