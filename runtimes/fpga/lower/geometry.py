"""How much of what each window of a convolution sees is set in a mask."""

from __future__ import annotations

from typing import cast

import numpy as np

from runtimes.faults import Unsupported
from runtimes.fpga.graph.graph import Graph, Node
from runtimes.fpga.numerics.operator import Call, Refused
from runtimes.fpga.numerics.window import window_of


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
