"""Elements of outputs that depend on a decision between floats that lie within a tolerance.

An index, a class, a rounded number or a mask may come out otherwise where the floats that decide
are off by what is allowed, and so may what follows from it. Where the decisions stand behind all
products of a graph, the nodes from them on are run again with the floats moved by the tolerance up
or down: elements that change can't be compared at that tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.inliner import inline_local_functions

from exporters.agreement import RUNGS
from exporters.onnx_files.graph import attributes, mark, reads
from exporters.onnx_files.products import node_macs
from exporters.types import NEVER

Run = Callable[[ModelProto, Sequence[str], Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""The named values of a model that is fed these inputs."""

_DECIDERS: Mapping[str, int] = {
    **dict.fromkeys(("ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Floor", "Hardmax"), 1),
    **dict.fromkeys(("NonZero", "QuantizeLinear", "Round", "Sign", "TopK", "Unique"), 1),
    **dict.fromkeys(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), 2),
    "NonMaxSuppression": 2,
}
"""How many of an operator's inputs decide."""
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
_MOVED = "moved:"
_DRAWS = 12
"""Of directions at each tolerance; all up and all down are two of them."""
_LIMIT_S = 10.0


def unsettled(
    model: ModelProto, inputs: Mapping[str, np.ndarray], run: Run
) -> dict[str, np.ndarray]:
    """By output, for each element the number of the first of `RUNGS` at which it may change, or
    `NEVER`; a single number where the shape may. Outputs of which nothing changes are left out.

    Raises what `run` raises.
    """
    if model.functions:
        model = inline_local_functions(model)
    deciders = _last_deciders(model)
    if not deciders:
        return {}
    tail = _descendants(model, deciders)
    made = {name for node in tail for name in node.output if name}
    outputs = [value.name for value in model.graph.output if value.name in made]
    constants = {tensor.name for tensor in model.graph.initializer}
    before = dict.fromkeys(
        name for node in tail for name in reads(node) if name not in made | constants
    )
    values = {name: inputs[name] for name in before if name in inputs}
    values |= run(model, [name for name in before if name not in values], inputs)
    moved = {
        name: values[name]
        for node in tail
        if mark(node) in deciders
        for name in node.input[: _DECIDERS[node.op_type]]
        if name in values and values[name].dtype.kind == "f" and values[name].size
    }
    if not moved or not outputs:
        return {}
    part = _model_of(model, tail, deciders, values, moved)
    settled = run(part, outputs, {**values, **_at(moved, 0.0, None)})
    found: dict[str, np.ndarray] = {}
    for rung, directions in _moves(moved):
        given = run(part, outputs, {**values, **_at(moved, RUNGS[rung], directions)})
        for name in outputs:
            _note(found, name, settled[name], given[name], rung)
    return {name: least for name, least in found.items() if (least != NEVER).any()}


def _last_deciders(model: ModelProto) -> set[str]:
    """The marks of the nodes that decide and behind which nothing is multiplied and added up."""
    readers: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        for name in reads(node):
            readers.setdefault(name, []).append(node)
    precede: set[str] = set()
    found: set[str] = set()
    for node in reversed(model.graph.node):
        behind = [reader for name in node.output for reader in readers.get(name, ())]
        if any(mark(reader) in precede or node_macs(reader, {}) is None for reader in behind):
            precede.add(mark(node))
        elif _decides(node) and not any(n.op_type == "DequantizeLinear" for n in behind):
            found.add(mark(node))
    return found


def _decides(node: NodeProto) -> bool:
    if node.domain not in ("", "ai.onnx") or node.op_type not in _DECIDERS:
        return False
    targets = [attribute.i for attribute in node.attribute if attribute.name == "to"]
    return not any(target in _FLOATS for target in targets)


def _descendants(model: ModelProto, deciders: set[str]) -> list[NodeProto]:
    """The nodes that decide and all that depend on them, in the graph's order."""
    names: set[str] = set()
    found = []
    for node in model.graph.node:
        if mark(node) in deciders or not names.isdisjoint(reads(node)):
            names.update(filter(None, node.output))
            found.append(node)
    return found


def _model_of(
    model: ModelProto,
    tail: Sequence[NodeProto],
    deciders: set[str],
    values: Mapping[str, np.ndarray],
    moved: Mapping[str, np.ndarray],
) -> ModelProto:
    """The nodes from the decisions on, which alone read the values that are moved."""
    part = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    graph = part.graph
    graph.name = "tail"
    for node in tail:
        own = graph.node.add()
        own.CopyFrom(node)
        for place in range(_DECIDERS[node.op_type] if mark(node) in deciders else 0):
            if node.input[place] in moved:
                own.input[place] = f"{_MOVED}{node.input[place]}"
    needed = {name for node in tail for name in reads(node)}
    graph.initializer.extend(t for t in model.graph.initializer if t.name in needed)
    made = {name for node in tail for name in node.output}
    graph.output.extend(value for value in model.graph.output if value.name in made)
    for name, array in {**values, **_at(moved, 0.0, None)}.items():
        number = helper.np_dtype_to_tensor_dtype(array.dtype)
        graph.input.append(helper.make_tensor_value_info(name, number, None))
    return part


def _moves(moved: Mapping[str, np.ndarray]) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
    """Each rung with directions for every element, while there is time."""
    generator, began = np.random.default_rng(0), time.monotonic()
    for rung in range(len(RUNGS)):
        for draw in range(_DRAWS):
            if time.monotonic() - began > _LIMIT_S:
                return
            yield (
                rung,
                {
                    name: np.full(array.shape, 1 - 2 * draw)
                    if draw < 2
                    else generator.choice((-1, 1), array.shape)
                    for name, array in moved.items()
                },
            )


def _at(
    moved: Mapping[str, np.ndarray], tolerance: float, directions: Mapping[str, np.ndarray] | None
) -> dict[str, np.ndarray]:
    """The moved values by the names that the tail has for them."""
    found = {}
    for name, array in moved.items():
        scale = np.max(np.abs(array), initial=0.0, where=np.isfinite(array))
        step = 0.0 if directions is None else tolerance * float(scale) * directions[name]
        found[f"{_MOVED}{name}"] = (array + step).astype(array.dtype)
    return found


def _note(
    found: dict[str, np.ndarray], name: str, settled: np.ndarray, given: np.ndarray, rung: int
) -> None:
    """Remember the elements that have changed by more than their values were moved."""
    least = found.setdefault(name, np.full(settled.shape, NEVER, np.uint8))
    if given.shape != settled.shape:
        found[name] = np.minimum(least.min(initial=NEVER), np.uint8(rung))
        return
    if settled.dtype.kind == "f":
        scale = np.max(np.abs(settled), initial=0.0, where=np.isfinite(settled))
        with np.errstate(invalid="ignore"):
            changed = ~(np.abs(given - settled) <= 2 * RUNGS[rung] * scale)
        changed &= ~(np.isnan(given) & np.isnan(settled)) & ~(given == settled)
    else:
        changed = given != settled
    found[name] = np.minimum(least, np.where(changed, np.uint8(rung), np.uint8(NEVER)))


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
    return Choice(node.input[0], attributes(node).get("axis", -1 if several else 0), several)
