"""The first node at which ONNX's evaluator and ONNX Runtime compute different values.

ONNX Runtime runs the graph as it is written, with every value that a node gives as an output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, NodeProto

from exporters.agreement import Bound, difference, scale_of
from exporters.consensus import Arrays, Node
from exporters.files.nodes import node_name, reads
from exporters.files.unoptimised import opened

_AT_ONCE = 32
"""Nodes whose values are fetched by one run, so that they need not all be held together."""
_FOLDER_OF_WEIGHTS = "session.model_external_initializers_file_folder_path"


def first_difference(
    path: Path,
    evaluated: Mapping[str, Any],
    inputs: Arrays,
    bound: Bound,
    custom_ops: Sequence[str],
) -> Node | None:
    """The first node of which a value that is used differs from `evaluated` beyond the bound.

    `evaluated` are the evaluator's values by name. None if no such value differs; raises what
    ONNX Runtime raises. A difference in an inner graph is one of the node that holds it.
    """
    model = onnx.load(path, load_external_data=False)
    used = {name for node in model.graph.node for name in reads(node)}
    used |= {value.name for value in model.graph.output}
    _give_all(model.graph, used)
    entries = {_FOLDER_OF_WEIGHTS: str(path.parent)}
    session = opened(model.SerializeToString(), custom_ops, entries)
    scale = scale_of(inputs)
    nodes = iter(model.graph.node)
    while some := list(islice(nodes, _AT_ONCE)):
        names = [name for node in some for name in _given(node, used)]
        values = dict(zip(names, session.run(names, dict(inputs)), strict=True)) if names else {}
        for node in some:
            for name in _given(node, used):
                if _differs(values[name], evaluated.get(name), bound, scale):
                    return node_name(node), node.op_type
    return None


def _give_all(graph: GraphProto, used: set[str]) -> None:
    """Make every value an output; ONNX Runtime infers the types."""
    there = {value.name for value in graph.output}
    for node in graph.node:
        for name in _given(node, used):
            if name not in there:
                graph.output.add(name=name)


def _given(node: NodeProto, used: set[str]) -> Iterator[str]:
    return (name for name in node.output if name in used)


def _differs(got: Any, wanted: Any, bound: Bound, scale: float) -> bool:
    """Of two tensors; sequences, maps and absent values are passed over."""
    if not isinstance(got, np.ndarray | np.generic) or not isinstance(
        wanted, np.ndarray | np.generic
    ):
        return False
    got, wanted = np.asarray(got), np.asarray(wanted)
    if wanted.dtype.kind not in "biufc" or got.dtype.kind not in "biufc":
        return False
    return not bound.holds(difference(got, wanted, scale), wanted)
