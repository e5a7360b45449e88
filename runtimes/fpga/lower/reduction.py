"""Pools, reductions, softmax and normalisations: sweeps over blocks, some of them in turn.

A pool makes one pass a tap over its output; a reduction one pass over its input. A
normalisation is the reductions that it needs and then passes that apply them.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from runtimes.fpga.graph.graph import Node
from runtimes.fpga.lower.builder import Builder


def pool(builder: Builder, node: Node) -> None:
    """MaxPool, AveragePool, LpPool: one pass for each position of the kernel."""
    builder.extrapolate(node.op)
    taps = int(np.prod(node.integers("kernel_shape") or ()))
    step = builder.sweep_output(node.name, taps, node.inputs, node.outputs[0])
    builder.made(node.outputs, (step,))


def reduction(builder: Builder, node: Node) -> None:
    """Reduce*, ArgMax, global pools: one pass over the input, two where it is not a sum."""
    _in_turn(builder, node, [2 if node.op in _TWO_PASSES else 1])


def in_three(builder: Builder, node: Node) -> None:
    """Softmax: greatest, exponentials and their sum, division."""
    _in_turn(builder, node, [1, 1, 1])


def normalisation(builder: Builder, node: Node) -> None:
    """Layer, instance, group norm: mean, variance, then centre-scale and scale-shift."""
    _in_turn(builder, node, [1, 1, 2])


def vector_norm(builder: Builder, node: Node) -> None:
    """LpNormalization, RMSNormalization: the norm, then the division and scale."""
    _in_turn(builder, node, [1, 1])


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
    after = builder.after(node.inputs)
    for position, count in enumerate(passes):
        name = node.name if len(passes) == 1 else f"{node.name} {position + 1}/{len(passes)}"
        after = (builder.sweep(name, count, elements, after),)
    builder.made(node.outputs, after)
