"""Builder that the lowering of each operator writes to: steps, matrices, dependencies, and which
elements depend on new inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from runtimes.errors import Unsupported
from runtimes.fpga.graph.graph import CARD_DTYPES, POINTWISE, Graph, Node
from runtimes.fpga.lower.steps import ElementStep, Matrix, MatrixStep, Step, Vectors
from runtimes.fpga.numerics.movement import python_slice
from runtimes.fpga.numerics.operator import Call, Refused
from runtimes.fpga.numerics.windows import window_of


def count_in_windows(graph: Graph, node: Node, mask: np.ndarray) -> np.ndarray:
    """Set elements in the windows of a Conv: bool [N, C, *space] to [N, groups, *positions].

    Unsupported for padding that the card does not know.
    """
    weights = graph.constants[node.inputs[1]].shape
    output = graph.values[node.outputs[0]].shape
    call = Call(node, (mask.shape, weights), (None, None), (output,))
    try:
        window = window_of(call, weights[2:])
    except Refused as reason:
        raise Unsupported(
            f"{node.op} node {node.name!r} can't be lowered: {reason}",
            "leave that part to another runtime",
            node=node.name,
        ) from None
    groups = int(cast(int, node.attributes.get("group", 1)))
    counts = mask.reshape(mask.shape[0], groups, -1, *mask.shape[2:]).sum(axis=2)
    return cast(np.ndarray, sum(window.taps(window.pad(counts, 0))))


Mask = bool | np.ndarray
"""True where fresh: one truth for the whole tensor, or one for each element."""


class Freshness:
    """The masks of all tensors of one graph; without state, everything counts as fresh."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stateless = not graph.states
        self._masks: dict[str, Mask] = {}
        if self._stateless:
            return
        states = {name for name, _ in graph.states}
        self._masks = {name: name not in states for name in graph.inputs}
        for node in graph.nodes:
            output_masks = self._output_masks(node)
            for name, mask in zip(node.outputs, output_masks, strict=True):
                self._masks[name] = _simplest(mask)

    def mask(self, name: str) -> Mask:
        """The tensor's mask; beside a state, constants are stale."""
        return self._masks.get(name, self._stateless)

    def elements(self, name: str) -> np.ndarray:
        """The tensor's mask with one truth an element, in its shape."""
        return np.broadcast_to(np.asarray(self.mask(name)), self.shape(name))

    def count(self, name: str) -> int:
        """How many elements of the tensor are fresh."""
        mask = self.mask(name)
        if isinstance(mask, np.ndarray):
            return int(mask.sum())
        return int(np.prod(self.shape(name), dtype=np.int64)) if mask else 0

    def in_windows(self, node: Node) -> np.ndarray:
        """Fresh inputs that each window of a Conv sees, [N, groups, *positions]."""
        return count_in_windows(self._graph, node, self.elements(node.inputs[0]))

    def is_constant(self, name: str) -> bool:
        """Whether the tensor is known before any run."""
        return name in self._graph.constants

    def shape(self, name: str) -> tuple[int, ...]:
        """The tensor's shape, constant or not."""
        constants: Mapping[str, np.ndarray] = self._graph.constants
        return constants[name].shape if name in constants else self._graph.values[name].shape

    def _output_masks(self, node: Node) -> list[Mask]:
        masks = [self.mask(name) for name in node.inputs if name]
        uniform = not any(isinstance(mask, np.ndarray) for mask in masks)
        if not any(np.any(mask) for mask in masks):
            return [False] * len(node.outputs)
        if uniform and (node.op != "Concat" or all(masks)):
            return [True] * len(node.outputs)
        if node.op in _MOVEMENT:
            return list(_MOVEMENT[node.op](self, node))
        if node.op in POINTWISE and node.op != "BatchNormalization":
            either = np.logical_or.reduce(np.broadcast_arrays(*masks))
            return [np.broadcast_to(either, self.shape(node.outputs[0]))]
        return [True] * len(node.outputs)

    def constant(self, node: Node, position: int, attribute: str) -> np.ndarray | None:
        """Integers that are an attribute in old opsets and a constant input in newer ones."""
        if attribute in node.attributes:
            return np.asarray(node.attributes[attribute])
        if position < len(node.inputs) and node.inputs[position]:
            return self._graph.constants.get(node.inputs[position])
        return None


def _simplest(mask: Mask) -> Mask:
    if isinstance(mask, np.ndarray):
        if mask.all():
            return True
        if not mask.any():
            return False
    return mask


def _concat(freshness: Freshness, node: Node) -> list[Mask]:
    parts = [freshness.elements(name) for name in node.inputs]
    return [np.concatenate(parts, axis=int(cast(int, node.attributes["axis"])))]


def _reshape_mask(freshness: Freshness, node: Node) -> list[Mask]:
    return [freshness.elements(node.inputs[0]).reshape(freshness.shape(node.outputs[0]))]


def _transpose(freshness: Freshness, node: Node) -> list[Mask]:
    order = node.integers("perm")
    return [freshness.elements(node.inputs[0]).transpose(order)]


def _slice(freshness: Freshness, node: Node) -> list[Mask]:
    mask = freshness.elements(node.inputs[0])
    starts = freshness.constant(node, 1, "starts")
    ends = freshness.constant(node, 2, "ends")
    if starts is None or ends is None:
        return [True]
    axes = freshness.constant(node, 3, "axes")
    steps = freshness.constant(node, 4, "steps")
    axes = np.arange(len(starts)) if axes is None else axes
    steps = np.ones(len(starts), np.int64) if steps is None else steps
    cut = [slice(None)] * mask.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        cut[axis] = python_slice(int(start), int(end), int(step), mask.shape[axis])
    return [mask[tuple(cut)]]


def _split(freshness: Freshness, node: Node) -> list[Mask]:
    mask = freshness.elements(node.inputs[0])
    axis = int(cast(int, node.attributes.get("axis", 0)))
    sizes = [freshness.shape(name)[axis] for name in node.outputs]
    return list(np.split(mask, np.cumsum(sizes)[:-1], axis=axis))


def _gather(freshness: Freshness, node: Node) -> list[Mask]:
    indices = freshness.constant(node, 1, "")
    if indices is None:
        return [True]
    axis = int(cast(int, node.attributes.get("axis", 0)))
    return [np.take(freshness.elements(node.inputs[0]), indices, axis=axis)]


def _pad(freshness: Freshness, node: Node) -> list[Mask]:
    mask = freshness.elements(node.inputs[0])
    pads = freshness.constant(node, 1, "pads")
    axes = freshness.constant(node, 3, "axes")
    constant = node.attributes.get("mode", "constant") == "constant"
    if pads is None or not constant or (pads < 0).any():
        return [True]
    widths = [(0, 0)] * mask.ndim
    padded_axes = range(mask.ndim) if axes is None else axes.tolist()
    for position, axis in enumerate(padded_axes):
        widths[axis] = (int(pads[position]), int(pads[position + len(pads) // 2]))
    return [np.pad(mask, widths)]


def _expand(freshness: Freshness, node: Node) -> list[Mask]:
    mask = freshness.elements(node.inputs[0])
    return [np.broadcast_to(mask, freshness.shape(node.outputs[0]))]


def _convolution(freshness: Freshness, node: Node) -> list[Mask]:
    if not freshness.is_constant(node.inputs[1]):
        return [True]
    is_fresh = freshness.in_windows(node) > 0
    channels = freshness.shape(node.outputs[0])[1]
    return [np.repeat(is_fresh, channels // is_fresh.shape[1], axis=1)]


_MOVEMENT = {
    "Concat": _concat,
    "Conv": _convolution,
    "Expand": _expand,
    "Gather": _gather,
    "Pad": _pad,
    "Slice": _slice,
    "Split": _split,
    "Transpose": _transpose,
    **dict.fromkeys(("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"), _reshape_mask),
}
"""Operators whose outputs' elements are known to come from some of the inputs' alone."""


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
        dependencies: tuple[int, ...],
        *,
        recurrent: bool = False,
    ) -> int:
        """Vectors through a matrix that is held; the step's index."""
        if sum(group.count for group in vectors) > 1:
            self.extrapolate("several vectors at a time")
        return self._add(MatrixStep(name, matrix, tuple(vectors), dependencies, recurrent))

    def sweep(
        self, name: str, passes: int, elements: tuple[int, int], dependencies: Sequence[int]
    ) -> int:
        """Passes over (fresh, stale) elements; the step's index."""
        return self._add(ElementStep(name, passes, *elements, tuple(dependencies)))

    def cell(self, name: str, elements: tuple[int, int], updates: int, dependency: int) -> int:
        """Updates of a recurrent cell over its (fresh, stale) hidden vector."""
        return self._add(ElementStep(name, updates, *elements, (dependency,), recurrent=True))

    def sweep_output(self, name: str, passes: int, inputs: Sequence[str], output: str) -> int:
        """Passes over the elements of `output`, which is then made."""
        fresh = self.freshness.count(output)
        step = self.sweep(name, passes, (fresh, self.size(output) - fresh), self.after(inputs))
        self.made([output], (step,))
        return step

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1
