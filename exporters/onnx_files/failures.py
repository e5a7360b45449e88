"""The node at which a graph fails, and what it depends on."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path

import onnx
from onnx import NodeProto

from exporters.onnx_files.graph import node_name, reads


def failing_node(error: Exception) -> str:
    """The node that the evaluator was at; its error says no name, its frame has the node."""
    from onnx.reference import ReferenceEvaluator

    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is ReferenceEvaluator.run.__code__:
            node = frame.f_locals.get("node")
            if node is not None:
                return node_name(node.onnx_node)
    return ""


def feeding(path: Path, label: str) -> tuple[set[str], list[str]]:
    """The graph's inputs that a node called so depends on, and its own inputs that none reaches."""
    try:
        graph = onnx.load(path, format="protobuf", load_external_data=False).graph
    except Exception:  # in ONNX Runtime's own format
        return set(), []
    makers = {name: node for node in graph.node for name in node.output}
    node = next((node for node in graph.node if node_name(node) == label), None)
    if node is None:
        return set(), []
    inputs = {value.name for value in graph.input} - {value.name for value in graph.initializer}
    by_name = {name: _ancestors(name, makers) & inputs for name in reads(node)}
    constants = [name for name, found in by_name.items() if not found]
    return set().union(*by_name.values()), constants


def _ancestors(name: str, makers: Mapping[str, NodeProto]) -> set[str]:
    """All that a value is made from, itself included."""
    seen, waiting = {name}, [name]
    while waiting:
        node = makers.get(waiting.pop())
        new = set(reads(node)) - seen if node else set()
        seen |= new
        waiting += new
    return seen
