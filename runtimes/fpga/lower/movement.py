"""Data movement: free where it is addressing that the compiler settles, else one pass.

Reshapes, joins and cuts only change where a block is read or written, and so does padding
with a constant. What shuffles elements within blocks is copied in one pass.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np

from runtimes.fpga.graph.graph import Node
from runtimes.fpga.lower.builder import Builder


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
    stretch = all(after - before == 1 for before, after in pairwise(flat))
    (free if stretch else copy)(builder, node)


def cut(builder: Builder, node: Node) -> None:
    """Slice: free unless it reverses or skips."""
    steps = builder.freshness.constant(node, 4, "steps")
    (free if steps is None or (steps == 1).all() else copy)(builder, node)


def pad(builder: Builder, node: Node) -> None:
    """Pad: free for a constant, which the readers know; reflections are copied."""
    constant = node.attributes.get("mode", "constant") == "constant"
    (free if constant else copy)(builder, node)
