"""The graph that the card's compiler and its kernels both read: frozen, shapes fixed.

It is made either from a checked ONNX file (to explain and to time) or from the OrtGraph
that ONNX Runtime hands to the provider (to compute); nothing later knows which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

AttributeValue = (
    int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | np.ndarray
)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in the graph: its numpy dtype name and its fixed shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """One ONNX operator. `since_version` is the operator's own; "" stands for no input."""

    name: str
    op: str
    domain: str
    since_version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list attribute of whole numbers; None if it is not given."""
        value = self.attributes.get(name)
        return tuple(int(number) for number in value) if isinstance(value, tuple) else None


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in topological order. `values` describes every name that is not a constant.

    `states` pairs (input, output) names whose tensor stays on the card between runs.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, np.ndarray]
    values: Mapping[str, Value]
    states: tuple[tuple[str, str], ...] = ()
