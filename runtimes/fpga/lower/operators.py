"""Lowering of operators: tiled matrices, data movement, LSTM and GRU, reductions over blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import cast

import numpy as np

from runtimes.fpga.graph.graph import Node
from runtimes.fpga.lower.builder import Builder
from runtimes.fpga.lower.steps import Matrix, Vectors


def convolution(builder: Builder, node: Node) -> None:
    """Conv in one to three space axes, grouped, strided and dilated."""
    source, weights = node.inputs[:2]
    builder.require_constant(node, weights)
    batch, channels, *space = builder.shape(source)
    outputs, _, *kernel = builder.shape(weights)
    positions = builder.shape(node.outputs[0])[2:]
    groups = int(cast(int, node.attributes.get("group", 1)))
    columns = channels // groups * int(np.prod(kernel))
    if len(space) > 1 or groups > 1:
        builder.extrapolate(f"{node.op} in {len(space)} axes and {groups} groups")
    mask = builder.freshness.mask(source)
    if isinstance(mask, np.ndarray):
        vectors = _split(builder.freshness.in_windows(node).max(axis=1), columns)
    else:
        count = batch * int(np.prod(positions))
        vectors = (_whole(count, columns, fresh=mask),)
    _multiply(builder, node, Matrix(node.name, groups, outputs // groups, ()), vectors, source)


def transposed_convolution(builder: Builder, node: Node) -> None:
    """ConvTranspose: every input position makes a patch, and patches that overlap are added."""
    builder.extrapolate(node.op)
    source, weights = node.inputs[:2]
    builder.require_constant(node, weights)
    batch, channels, *space = builder.shape(source)
    _, outputs, *kernel = builder.shape(weights)
    groups = int(cast(int, node.attributes.get("group", 1)))
    strides = node.integers("strides") or (1,) * len(kernel)
    overlapping = int(np.prod([-(-k // s) for k, s in zip(kernel, strides, strict=True)]))
    rows = outputs * int(np.prod(kernel))
    fresh = builder.freshness.count(source) > 0
    vectors = (_whole(batch * int(np.prod(space)), channels // groups, fresh=fresh),)
    _multiply(builder, node, Matrix(node.name, groups, rows, ()), vectors, source)
    builder.sweep_output(f"{node.name} (add)", overlapping, node.outputs, node.outputs[0])


def gemm(builder: Builder, node: Node) -> None:
    """Gemm; alpha and beta go into constants, a bias that is computed is added in a pass."""
    left, right, *bias = node.inputs
    rows = builder.shape(node.outputs[0])[1]
    is_transposed = bool(node.attributes.get("transA", 0))
    _product(builder, node, left, right, rows, transposed=is_transposed)
    if bias and bias[0] and bias[0] not in builder.graph.constants:
        builder.sweep_output(node.name, 1, [node.outputs[0], bias[0]], node.outputs[0])


def matmul(builder: Builder, node: Node) -> None:
    """MatMul with one constant operand, or with a second one that is first written to tiles."""
    left, right = node.inputs
    right_shape = builder.shape(right)
    rows = right_shape[-1] if len(right_shape) > 1 else 1
    _product(builder, node, left, right, rows, transposed=False)


def _product(
    builder: Builder, node: Node, left: str, right: str, rows: int, *, transposed: bool
) -> None:
    """left x right: the operand that is constant is the matrix, the other one the vectors."""
    shape = builder.shape(left)
    inner = shape[-2] if transposed and len(shape) > 1 else shape[-1]
    batches = _batches(builder.shape(right))
    count = builder.size(node.outputs[0]) // (rows * batches)
    if right in builder.graph.constants:
        mask = builder.freshness.mask(left)
        if isinstance(mask, np.ndarray) and batches == 1:
            elements = mask.swapaxes(-1, -2) if transposed else mask
            vectors = _split(elements.reshape(-1, inner).sum(axis=1), inner)
        else:
            vectors = (_whole(count, inner, fresh=bool(np.any(mask))),)
        _multiply(builder, node, Matrix(node.name, batches, rows, ()), vectors, left)
        return
    builder.extrapolate(f"{node.op} of two computed tensors or with constant vectors")
    if left in builder.graph.constants and _batches(shape) == 1:
        count = builder.size(right) // inner
        fresh = bool(np.any(builder.freshness.mask(right)))
        matrix = Matrix(node.name, 1, builder.size(left) // inner, ())
        _multiply(builder, node, matrix, (_whole(count, inner, fresh=fresh),), right)
        return
    fresh_count = builder.freshness.count(right)
    write_step = builder.sweep(
        f"{node.name} (write)",
        1,
        (fresh_count, builder.size(right) - fresh_count),
        builder.after([right]),
    )
    fresh = bool(np.any(builder.freshness.mask(left))) or fresh_count > 0
    matrix_index = builder.hold(Matrix(node.name, batches, rows, (inner,)))
    dependencies = (*builder.after([left]), write_step)
    step = builder.multiply(
        node.name, matrix_index, [_whole(count, inner, fresh=fresh)], dependencies
    )
    builder.made(node.outputs, (step,))


def _batches(shape: tuple[int, ...]) -> int:
    """How many matrices a tensor of two or more axes stacks."""
    return int(np.prod(shape[:-2], dtype=np.int64)) if len(shape) > 2 else 1


def _multiply(
    builder: Builder, node: Node, matrix: Matrix, vectors: tuple[Vectors, ...], source: str
) -> None:
    parts = tuple(columns for columns in vectors[0].fresh + vectors[0].stale if columns)
    matrix_index = builder.hold(Matrix(matrix.name, matrix.groups, matrix.rows, parts))
    step = builder.multiply(node.name, matrix_index, vectors, builder.after([source]))
    builder.made(node.outputs, (step,))


def _whole(count: int, columns: int, *, fresh: bool) -> Vectors:
    return Vectors(count, (columns,)) if fresh else Vectors(count, (), (columns,))


def _split(fresh_columns: np.ndarray, columns: int) -> tuple[Vectors, ...]:
    """Vectors grouped by how many of their columns are fresh."""
    fresh_counts, counts = np.unique(fresh_columns, return_counts=True)
    return tuple(
        Vectors(int(count), (int(fresh),), (columns - int(fresh),))
        for fresh, count in zip(fresh_counts, counts, strict=True)
    )


def free(builder: Builder, node: Node) -> None:
    """No work: the outputs are complete when the inputs are."""
    builder.made(node.outputs, builder.after(node.inputs))


def copy(builder: Builder, node: Node) -> None:
    """One pass over the output's elements."""
    builder.extrapolate(f"{node.op} that moves elements")
    builder.sweep_output(node.name, 1, node.inputs, node.outputs[0])


def transpose(builder: Builder, node: Node) -> None:
    """Free where only axes of size 1 change places."""
    shape = builder.shape(node.inputs[0])
    order = node.integers("perm") or tuple(range(len(shape)))[::-1]
    long_axes = [axis for axis in order if shape[axis] > 1]
    (free if long_axes == sorted(long_axes) else copy)(builder, node)


def gather(builder: Builder, node: Node) -> None:
    """Free where constant indices pick one stretch, as a slice does."""
    indices = builder.graph.constants.get(node.inputs[1])
    if indices is None:
        copy(builder, node)
        return
    axis = int(cast(int, node.attributes.get("axis", 0)))
    size = builder.shape(node.inputs[0])[axis]
    flat = np.where(indices < 0, indices + size, indices).ravel().tolist()
    stretch = all(upper_index - lower_index == 1 for lower_index, upper_index in pairwise(flat))
    (free if stretch else copy)(builder, node)


def cut(builder: Builder, node: Node) -> None:
    """Slice: free unless it reverses or skips."""
    steps = builder.freshness.constant(node, 4, "steps")
    (free if steps is None or (steps == 1).all() else copy)(builder, node)


def pad(builder: Builder, node: Node) -> None:
    """Pad: free for a constant, which the readers know; reflections are copied."""
    constant = node.attributes.get("mode", "constant") == "constant"
    (free if constant else copy)(builder, node)


@dataclass(slots=True)
class _Direction:
    """One direction on its way through time: its state's freshness, and its last step.

    `gates` is the matrix of the gates that see the state as it is, `candidate` the one of
    a gate that sees it after the reset gate, None where there is none.
    """

    name: str
    times: range
    gates: int
    candidate: int | None
    fresh: bool
    after: tuple[int, ...]


def lstm(builder: Builder, node: Node) -> None:
    """LSTM: four gates; peepholes are one more update of the cell."""
    peepholes = len(node.inputs) > 7 and bool(node.inputs[7])
    _recur(builder, node, gates=4, updates=2 if peepholes else 1, reset_first=False)


def gru(builder: Builder, node: Node) -> None:
    """GRU: three gates; where the reset comes before the product, one waits for the others."""
    builder.extrapolate("a GRU")
    reset_first = not node.attributes.get("linear_before_reset", 0)
    _recur(builder, node, gates=3, updates=1, reset_first=reset_first)


def _recur(builder: Builder, node: Node, gates: int, updates: int, *, reset_first: bool) -> None:
    builder.require_constant(node, *node.inputs[1:3])
    masks = builder.freshness.elements(node.inputs[0])
    if node.attributes.get("layout", 0):
        masks = masks.swapaxes(0, 1)
    length, batch, inputs = masks.shape
    directions, _, hidden_size = builder.shape(node.inputs[2])
    if length > 1 or directions > 1:
        builder.extrapolate(f"{node.op} over {length} time steps in {directions} directions")
    # Without an initial state zeros are held, which count like any other held state.
    initial = [name for name in node.inputs[5:7] if name]
    stateless = not builder.graph.states
    ready = builder.after([node.inputs[0], *initial])
    ways = []
    for i in range(directions):
        name = node.name if directions == 1 else f"{node.name}.{i}"
        backwards = i == 1 or node.attributes.get("direction") == "reverse"
        rows = (gates - reset_first) * hidden_size
        ways.append(
            _Direction(
                name,
                range(length)[:: -1 if backwards else 1],
                builder.hold(Matrix(name, 1, rows, (inputs, hidden_size))),
                builder.hold(Matrix(f"{name} candidate", 1, hidden_size, (inputs, hidden_size)))
                if reset_first
                else None,
                stateless or any(builder.freshness.count(name) for name in initial),
                ready,
            )
        )
    # Both directions take turns, so that one fills the pipeline while the other drains.
    for turn in range(length):
        for way in ways:
            time = way.times[turn]
            label = f"{way.name}[{time}]" if length > 1 else way.name
            new = int(masks[time].any(axis=0).sum())
            vectors = _vectors(batch, inputs, new, hidden_size, state_is_fresh=way.fresh)
            way.fresh = way.fresh or new > 0
            elements = (batch * hidden_size, 0) if way.fresh else (0, batch * hidden_size)
            step = builder.multiply(label, way.gates, [vectors], way.after, recurrent=True)
            if way.candidate is not None:
                step = builder.sweep(f"{label} reset", 1, elements, (step,))
                vectors = _vectors(batch, inputs, new, hidden_size, state_is_fresh=way.fresh)
                step = builder.multiply(label, way.candidate, [vectors], (step,), recurrent=True)
            way.after = (builder.cell(f"{label} cell", elements, updates, step),)
    builder.made(node.outputs, tuple(sorted(step for way in ways for step in way.after)))


def _vectors(
    batch: int, inputs: int, new: int, hidden_size: int, *, state_is_fresh: bool
) -> Vectors:
    """The columns of one time step: new inputs, older inputs, hidden state."""
    fresh, stale = ((hidden_size,), ()) if state_is_fresh else ((), (hidden_size,))
    return Vectors(batch, (new, *fresh), (inputs - new, *stale))


def pool(builder: Builder, node: Node) -> None:
    """MaxPool, AveragePool, LpPool: one pass for each position of the kernel."""
    builder.extrapolate(node.op)
    taps = int(np.prod(node.integers("kernel_shape") or ()))
    step = builder.sweep_output(node.name, taps, node.inputs, node.outputs[0])
    builder.made(node.outputs, (step,))


def reduction(builder: Builder, node: Node) -> None:
    """Reduce*, ArgMax, global pools: one pass over the input, two where it is not a sum."""
    _in_turn(builder, node, [2 if node.op in _TWO_PASSES else 1])


def local_response(builder: Builder, node: Node) -> None:
    """LRN: a square, a pass for each channel of the window, the power and the division."""
    _in_turn(builder, node, [int(cast(int, node.attributes["size"])) + 3])


_TWO_PASSES = {"ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "Hardmax"}


def _in_turn(builder: Builder, node: Node, passes: list[int]) -> None:
    """Steps over all of the first input, each waiting for the one before."""
    builder.extrapolate(node.op)
    source = node.inputs[0]
    size = builder.size(source)
    fresh = any(builder.freshness.count(name) for name in node.inputs if name)
    elements = (size, 0) if fresh else (0, size)
    dependencies = builder.after(node.inputs)
    for position, count in enumerate(passes):
        name = node.name if len(passes) == 1 else f"{node.name} {position + 1}/{len(passes)}"
        dependencies = (builder.sweep(name, count, elements, dependencies),)
    builder.made(node.outputs, dependencies)


in_three = partial(_in_turn, passes=[1, 1, 1])
"""Softmax: greatest, exponentials and their sum, division."""
normalisation = partial(_in_turn, passes=[1, 1, 2])
"""Layer, instance, group norm: mean, variance, then centre-scale and scale-shift."""
vector_norm = partial(_in_turn, passes=[1, 1])
"""LpNormalization, RMSNormalization: the norm, then the division and scale."""
