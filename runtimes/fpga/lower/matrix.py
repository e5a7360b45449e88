"""Conv, Gemm and MatMul: a matrix held in tiles, and the vectors that go through it.

A convolution's matrix has a row for each output channel and a column for each input channel
and tap; every output position is one vector.
"""

from __future__ import annotations

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
    transposed = bool(node.attributes.get("transA", 0))
    _product(builder, node, left, right, rows, transposed=transposed)
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
    written = builder.sweep(
        f"{node.name} (write)",
        1,
        (fresh_count, builder.size(right) - fresh_count),
        builder.after([right]),
    )
    fresh = bool(np.any(builder.freshness.mask(left))) or fresh_count > 0
    held = builder.hold(Matrix(node.name, batches, rows, (inner,)))
    after = (*builder.after([left]), written)
    step = builder.multiply(node.name, held, [_whole(count, inner, fresh=fresh)], after)
    builder.made(node.outputs, (step,))


def _batches(shape: tuple[int, ...]) -> int:
    """How many matrices a tensor of two or more axes stacks."""
    return int(np.prod(shape[:-2], dtype=np.int64)) if len(shape) > 2 else 1


def _multiply(
    builder: Builder, node: Node, matrix: Matrix, vectors: tuple[Vectors, ...], source: str
) -> None:
    parts = tuple(columns for columns in vectors[0].fresh + vectors[0].stale if columns)
    held = builder.hold(Matrix(matrix.name, matrix.groups, matrix.rows, parts))
    step = builder.multiply(node.name, held, vectors, builder.after([source]))
    builder.made(node.outputs, (step,))


def _whole(count: int, columns: int, *, fresh: bool) -> Vectors:
    return Vectors(count, (columns,)) if fresh else Vectors(count, (), (columns,))


def _split(fresh_columns: np.ndarray, columns: int) -> tuple[Vectors, ...]:
    """Vectors grouped by how many of their columns are fresh."""
    found, counts = np.unique(fresh_columns, return_counts=True)
    return tuple(
        Vectors(int(count), (int(fresh),), (columns - int(fresh),))
        for fresh, count in zip(found, counts, strict=True)
    )
