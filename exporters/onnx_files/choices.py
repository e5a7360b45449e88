"""Outputs that are indices of the largest or smallest values: what they were chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import ModelProto, NodeProto, TensorProto

_CHOOSE = frozenset({"ArgMax", "ArgMin", "TopK"})
_KEEP_ORDER = frozenset({"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators after which the elements still stand in the order in which they were chosen."""
_KEEP_SHAPE = frozenset({"Cast", "Identity"})
_INTEGERS = (TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8)


@dataclass(frozen=True, slots=True)
class Choice:
    """The tensor that an output chooses from along `axis`; with `several`, along its own axis of
    the same number, else one for each place."""

    values: str
    axis: int
    several: bool


def choices(model: ModelProto) -> Mapping[str, Choice]:
    """By the name of the output; those of inner graphs and functions are not looked for."""
    maker = {name: node for node in model.graph.node for name in node.output if name}
    found = {
        value.name: _choice(value.name, maker)
        for value in model.graph.output
        if value.type.tensor_type.elem_type in _INTEGERS
    }
    return {name: choice for name, choice in found.items() if choice is not None}


def _choice(name: str, maker: Mapping[str, NodeProto]) -> Choice | None:
    passed: set[str] = set()
    while (node := maker.get(name)) is not None and node.op_type in _KEEP_ORDER:
        passed.add(node.op_type)
        name = node.input[0]
    if node is None or node.domain not in ("", "ai.onnx") or node.op_type not in _CHOOSE:
        return None
    several = node.op_type == "TopK"
    if several and (name != node.output[1] or not passed <= _KEEP_SHAPE):
        return None
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    return Choice(node.input[0], attributes.get("axis", -1 if several else 0), several)
