"""What the lowering of each operator writes to: steps, matrices, and who waits for whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtimes.faults import Unsupported
from runtimes.fpga.graph.dtypes import CARD_DTYPES
from runtimes.fpga.graph.graph import Graph, Node
from runtimes.fpga.lower.freshness import Freshness
from runtimes.fpga.lower.steps import ElementStep, Matrix, MatrixStep, Step, Vectors


class Builder:
    """Collects the steps of one graph; a tensor's sources are the steps that make it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.freshness = Freshness(graph)
        self.steps: list[Step] = []
        self.matrices: list[Matrix] = []
        self.extrapolated = ""
        self._sources: dict[str, tuple[int, ...]] = {}

    def shape(self, name: str) -> tuple[int, ...]:
        """The tensor's shape, constant or not."""
        return self.freshness.shape(name)

    def size(self, name: str) -> int:
        """The tensor's number of elements."""
        return int(np.prod(self.shape(name), dtype=np.int64))

    def after(self, names: Sequence[str]) -> tuple[int, ...]:
        """The steps that must be complete before the tensors are."""
        return tuple(sorted({step for name in names for step in self._sources.get(name, ())}))

    def made(self, names: Sequence[str], sources: tuple[int, ...]) -> None:
        """Say which steps make the tensors."""
        for name in names:
            if name:
                self._sources[name] = sources

    def extrapolate(self, reason: str) -> None:
        """Say that the published tables hold nothing like this; the first reason is kept."""
        self.extrapolated = self.extrapolated or reason

    def check_dtypes(self, node: Node) -> None:
        """Raise Unsupported if the node computes with a type that the card has no path for.

        A Cast computes nothing: whole numbers change their format on the way in.
        """
        if node.op == "Cast":
            return
        for name in node.inputs:
            value = self.graph.values.get(name)
            if value is not None and value.dtype not in CARD_DTYPES:
                raise Unsupported(
                    f"the card has no path for {value.dtype} (input {name!r} of the "
                    f"{node.op} node {node.name!r})",
                    "compute with float32",
                    node=node.name,
                )

    def require_constant(self, node: Node, *weights: str) -> None:
        """Raise Unsupported if weights that must lie in tiles are computed."""
        if any(name not in self.graph.constants for name in weights):
            raise Unsupported(
                f"the weights of {node.op} node {node.name!r} are computed",
                "give them as constants",
                node=node.name,
            )

    def hold(self, matrix: Matrix) -> int:
        """Keep a matrix on the card; its index."""
        self.matrices.append(matrix)
        return len(self.matrices) - 1

    def multiply(
        self,
        name: str,
        matrix: int,
        vectors: Sequence[Vectors],
        after: tuple[int, ...],
        *,
        recurrent: bool = False,
    ) -> int:
        """Vectors through a matrix that is held; the step's index."""
        if sum(group.count for group in vectors) > 1:
            self.extrapolate("several vectors at a time")
        return self._add(MatrixStep(name, matrix, tuple(vectors), after, recurrent))

    def sweep(self, name: str, passes: int, elements: tuple[int, int], after: Sequence[int]) -> int:
        """Passes over (fresh, stale) elements; the step's index."""
        return self._add(ElementStep(name, passes, *elements, tuple(after)))

    def cell(self, name: str, elements: tuple[int, int], updates: int, after: int) -> int:
        """Updates of a recurrent cell over its (fresh, stale) hidden vector."""
        return self._add(ElementStep(name, updates, *elements, (after,), recurrent=True))

    def sweep_output(self, name: str, passes: int, inputs: Sequence[str], output: str) -> int:
        """Passes over the elements of `output`, which is then made."""
        fresh = self.freshness.count(output)
        step = self.sweep(name, passes, (fresh, self.size(output) - fresh), self.after(inputs))
        self.made([output], (step,))
        return step

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1
