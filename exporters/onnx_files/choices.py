"""Outputs that are indices of the largest or smallest values: what they were chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto

from exporters.onnx_files.unsettled import Run

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


def candidates(
    model: ModelProto, inputs: Mapping[str, np.ndarray], run: Run
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """`candidates` and `axes` as a `Leeway` has them; inner graphs and functions are not looked at.

    Raises what `run` raises.
    """
    maker = {name: node for node in model.graph.node for name in node.output if name}
    found = {
        value.name: choice
        for value in model.graph.output
        if value.type.tensor_type.elem_type in _INTEGERS
        and (choice := _choice(value.name, maker)) is not None
    }
    names = dict.fromkeys(c.values for c in found.values())
    values = run(model, [name for name in names if name not in inputs], inputs)
    values = {**inputs, **values}
    arrays = {
        name: np.moveaxis(values[choice.values], choice.axis, -1).reshape(
            -1, values[choice.values].shape[choice.axis]
        )
        for name, choice in found.items()
    }
    return arrays, {name: choice.axis for name, choice in found.items() if choice.several}


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
