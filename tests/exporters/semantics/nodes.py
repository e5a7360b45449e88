"""One node as a graph, run by our evaluator; and ONNX's own node tests at older opsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from exporters.semantics.evaluator import Evaluator

BECAME_INPUTS: Mapping[str, tuple[int, Mapping[int, str]]] = {
    "Clip": (11, {1: "min", 2: "max"}),
    "Pad": (11, {1: "pads", 2: "value"}),
    "Slice": (10, {1: "starts", 2: "ends", 3: "axes"}),
    "Split": (13, {1: "split"}),
    "Squeeze": (13, {1: "axes"}),
    "TopK": (10, {1: "k"}),
    "Unsqueeze": (13, {1: "axes"}),
    "Upsample": (9, {1: "scales"}),
    "ReduceSum": (13, {1: "axes"}),
    **{
        f"Reduce{kind}": (18, {1: "axes"})
        for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
    },
}
"""Operators whose inputs, by position, were attributes below an opset."""
OLDEST_OPSET, NEWEST_OPSET = 7, 20


def run(
    op: str, inputs: list[Any], opset: int, outputs: int = 1, **attributes: Any
) -> list[np.ndarray]:
    """What our evaluator gives for one node; None stands for an input left out."""
    names = [f"x{place}" if value is not None else "" for place, value in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{place}" for place in range(outputs)], **attributes)
    graph = helper.make_graph(
        [node],
        "node",
        [],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
        [
            numpy_helper.from_array(value, name)
            for name, value in zip(names, inputs, strict=True)
            if value is not None
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    with np.errstate(all="ignore"):
        return list(Evaluator(model).run(None, {}))


def at_older_opsets(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> Iterator[Any]:
    """(opset, model, inputs) for each older version of the operator that takes this very node."""
    (node,) = model.graph.node
    versions: set[int] = set()
    for opset in range(NEWEST_OPSET, OLDEST_OPSET - 1, -1):
        try:
            schema = onnx.defs.get_schema(node.op_type, opset, "")
        except onnx.defs.SchemaError:
            return
        if schema.since_version in versions:
            continue
        versions.add(schema.since_version)
        older, older_inputs = _as_attributes(node, inputs, opset)
        fits = {a.name for a in older.attribute} <= set(schema.attributes)
        if not fits or not schema.min_input <= len(older.input) <= schema.max_input:
            continue
        ends = [value for value in model.graph.input if value.name in older_inputs]
        graph = helper.make_graph([older], "node", ends, model.graph.output)
        opsets = [helper.make_opsetid("", opset)]
        older_model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        try:
            onnx.checker.check_model(older_model)
        except onnx.checker.ValidationError:
            continue
        yield opset, older_model, older_inputs


def _as_attributes(
    node: NodeProto, inputs: Mapping[str, Any], opset: int
) -> tuple[NodeProto, dict[str, Any]]:
    older, other_inputs = NodeProto(), dict(inputs)
    older.CopyFrom(node)
    first_opset, places = BECAME_INPUTS.get(node.op_type, (0, {}))
    for place in sorted(places, reverse=True) if opset < first_opset else ():
        if len(older.input) <= place:
            continue
        name = older.input.pop(place)
        if name:
            value = np.asarray(other_inputs.pop(name))
            attribute_value: Any = (
                value.item() if places[place] in ("k", "min", "max", "value") else value
            )
            if np.size(attribute_value):
                older.attribute.append(helper.make_attribute(places[place], attribute_value))
    return older, other_inputs
