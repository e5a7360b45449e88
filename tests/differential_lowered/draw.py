"""A random graph with its inputs, and the source of randomness that it is drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Item = TypeVar("Item")

NEWEST_OPSET = 26
"""The newest opset that the card takes; ONNX Runtime reads it too."""
OLDEST_OPSET = 7
"""The oldest that ONNX Runtime supports."""

LOWEST = float(np.finfo(np.float32).min)
SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-6], np.float32)
LARGE = np.array([LOWEST, -LOWEST, 1e30, -1e30, 65504, 70000], np.float32)
"""Finite values at the ends of the number formats; of their sums the order decides."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A graph and the arrays that it is fed; `kind` is the operator or the kind of graph, and
    `roundings` how often in a row its values are rounded to bf16."""

    kind: str
    proto: onnx.ModelProto
    feeds: Mapping[str, np.ndarray]
    roundings: int = 1


class Dice:
    """Random choices from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.special = self.chance(0.15)
        self.large = True
        self.ties = not self.special and self.chance(0.2)

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.integer(0, len(items) - 1)]

    def shape(self, least: int = 0, most: int = 4, largest: int = 5) -> tuple[int, ...]:
        """Sizes of 1 to `largest`; now and then one of them is 0."""
        sizes = [self.integer(1, largest) for _ in range(self.integer(least, most))]
        if sizes and self.chance(0.04):
            sizes[self.integer(0, len(sizes) - 1)] = 0
        return tuple(sizes)

    def floats(self, *shape: int) -> np.ndarray:
        """Normal numbers; small whole numbers where the draw is about ties, and values at the
        ends of the formats where it is about those."""
        values: np.ndarray = np.asarray(self.rng.standard_normal(shape), np.float32)
        if self.ties:
            values = np.asarray(self.rng.integers(-3, 4, shape), np.float32) / 2
        if self.special and values.size:
            extreme_mask = self.rng.random(shape) < 0.2
            ends = np.concatenate([SPECIAL, LARGE]) if self.large else SPECIAL
            values = np.where(extreme_mask, self.rng.choice(ends, shape), values)
        return np.asarray(values, np.float32)

    def axis(self, rank: int) -> int:
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Different axes in any order, some of them counted from the end."""
        count = self.integer(min(least, rank), rank)
        chosen_axes = self.rng.permutation(rank)[:count].tolist()
        return [a - rank if self.chance(0.4) else a for a in chosen_axes]

    def broadcast(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts to `shape`."""
        sizes = tuple(1 if self.chance(0.3) else size for size in shape)
        return sizes[self.integer(0, len(sizes)) :] if self.chance(0.4) else sizes

    def opset(self, op: str) -> int:
        """An opset in which the operator exists; each of its versions is as likely."""
        versions = _versions(op)
        start = self.pick(versions)
        later = [version for version in versions if version > start]
        end = later[0] - 1 if later else NEWEST_OPSET
        return self.integer(max(start, OLDEST_OPSET), max(end, OLDEST_OPSET))


@cache
def _versions(op: str) -> list[int]:
    versions = {
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.name == op and not schema.domain and schema.since_version <= NEWEST_OPSET
    }
    old = [version for version in versions if version <= OLDEST_OPSET]
    return sorted({version for version in versions if version > OLDEST_OPSET} | {*old[-1:]})


def node_draw(
    dice: Dice,
    op: str,
    opset: int,
    inputs: Sequence[np.ndarray | np.generic | None],
    attributes: Mapping[str, Any] | None = None,
    outputs: Sequence[int] = (TensorProto.FLOAT,),
    parameters: Sequence[int] = (),
    kind: str = "",
) -> Draw:
    """One node. Inputs at the positions `parameters` are mostly constants, others mostly not;
    `outputs` are element types, 0 for an output that is left out."""
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    held_arrays: dict[str, np.ndarray] = {}
    feeds: dict[str, np.ndarray] = {}
    for place, (name, array) in enumerate(zip(names, inputs, strict=False)):
        if array is not None:
            is_constant = dice.chance(0.9 if place in parameters else 0.25)
            (held_arrays if is_constant else feeds)[name] = np.asarray(array)
    output_names = [f"y{i}" if kind else "" for i, kind in enumerate(outputs)]
    set_attributes = {key: value for key, value in (attributes or {}).items() if value is not None}
    node = helper.make_node(op, names, output_names, "node", **set_attributes)
    ends = {name: kind for name, kind in zip(output_names, outputs, strict=True) if name}
    return Draw(kind or op, model([node], feeds, ends, held_arrays, opset), feeds)


def model(
    nodes: Sequence[onnx.NodeProto],
    feeds: Mapping[str, np.ndarray],
    outputs: Mapping[str, int],
    constants: Mapping[str, np.ndarray],
    opset: int,
) -> onnx.ModelProto:
    """A model that takes arrays like `feeds`."""
    graph = helper.make_graph(
        nodes,
        "drawn",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in feeds.items()
        ],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
