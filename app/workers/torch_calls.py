"""The calls of a torch module and the nodes that its exporter made of them.

A profiler of torch knows modules and operators, a file neither: but the exporter calls a node after
the operator (`node_relu_1`), and a parameter after its module (`encoder.linear1.weight`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from exporters.node_graph import NodeGraph
from runtimes.execution import OpTime


def told_by_calls(graph: NodeGraph, ops: Sequence[OpTime]) -> dict[str, int]:
    """Node -> the number of the call in `ops` that it belongs to; only what is certain."""
    found: dict[str, int] = {}
    for kind in dict.fromkeys(op.op for op in ops):
        calls = [number for number, op in enumerate(ops) if op.op == kind]
        called = re.compile(rf"node_{re.escape(kind)}(_\d+)?")
        names = [node.name for node in graph.nodes if called.fullmatch(node.name)]
        if len(names) == len(calls):
            found |= dict(zip(names, calls, strict=True))
    modules: dict[str, list[int]] = {}
    for number, op in enumerate(ops):
        modules.setdefault(op.node.partition(" #")[0], []).append(number)
    for node in graph.nodes:
        for tensor in node.reads:
            # Equal parameters are one tensor in a file: that one tells of no module.
            calls = modules.get(_module_of(tensor, modules), [])
            if len(calls) == 1 and len(graph.needing(tensor)) == 1:
                found.setdefault(node.name, calls[0])
    return found


def _module_of(parameter: str, modules: dict[str, list[int]]) -> str:
    """The innermost module that made a call of its own and has this parameter; "" for none."""
    parts = parameter.split(".")
    starts = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    return next((start for start in starts if start in modules), "")
