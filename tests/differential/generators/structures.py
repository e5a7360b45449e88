"""Nodes that take or give sequences and optional values, and nodes with inner graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TypeProto, helper

from tests.differential.draft import Draft
from tests.differential.generators.table import generator

_FIRST_WITH_TENSORS = 18
"""Since this opset a plain tensor is an optional value too."""


def _sequence_type(dtype: np.dtype) -> TypeProto:
    element = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(dtype), None)
    return helper.make_sequence_type_proto(element)


def _sequence(d: Draft, least: int = 1, shape: list[int] | None = None) -> list[np.ndarray]:
    """Add a sequence of tensors."""
    dtype = np.dtype(d.pick([np.float32, np.float32, np.int64, np.float64]))
    parts = [
        d.values(d.shape(0, 3, 0) if shape is None else shape, dtype)
        for _ in range(d.integer(least, 4))
    ]
    d.add_typed(parts, _sequence_type(dtype))
    return parts


def _place(d: Draft, low: int, high: int) -> None:
    d.add(np.array(d.integer(low, high), d.pick([np.int32, np.int64])))


@generator("SequenceConstruct")
def construct(d: Draft) -> None:
    for _ in range(d.integer(1, 4)):
        d.tensor(d.shape(0, 3))


@generator("SequenceEmpty")
def empty(d: Draft) -> None:
    d.maybe(dtype=d.pick([1, 7, 11]))


@generator("SequenceLength")
def length(d: Draft) -> None:
    _sequence(d, 1)


@generator("SequenceAt")
def at(d: Draft) -> None:
    parts = _sequence(d)
    _place(d, -len(parts), len(parts) - 1)


@generator("SequenceErase")
def erase(d: Draft) -> None:
    parts = _sequence(d, 2)
    if d.chance(0.8):
        _place(d, -len(parts), len(parts) - 1)


@generator("SequenceInsert")
def insert(d: Draft) -> None:
    parts = _sequence(d)
    d.add(d.values(d.shape(0, 3, 0), parts[0].dtype))
    if d.chance(0.8):
        _place(d, -len(parts), len(parts))


@generator("SplitToSequence")
def split_to_sequence(d: Draft) -> None:
    x = d.tensor(d.shape(1, 3, 0))
    axis = d.axis(x.ndim)
    size = x.shape[axis]
    if d.chance(0.7):
        if d.chance():
            d.add(np.array(d.integer(1, size), np.int64), constant=0.5)
        else:
            first = d.integer(0, size)
            d.add(np.array([first, size - first], np.int64), constant=0.5)
    d.maybe(keepdims=d.integer(0, 1))
    if axis or d.chance():
        d.set(axis=axis)


@generator("ConcatFromSequence")
def concat_from_sequence(d: Draft) -> None:
    shape = d.shape(1, 3, 0)
    _sequence(d, 1, shape)
    new = d.integer(0, 1)
    d.set(axis=d.axis(len(shape) + new), new_axis=new)


@generator("Optional")
def optional(d: Draft) -> None:
    d.tensor(d.shape(0, 2), "V")


@generator("OptionalHasElement", "OptionalGetElement")
def optional_element(d: Draft) -> None:
    x = d.values(d.shape(0, 2), d.pick([np.float32, np.int64, np.float64]))
    if d.version >= _FIRST_WITH_TENSORS and d.chance():
        d.add(x)
        return
    element = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(x.dtype), None)
    d.add_typed(x, helper.make_optional_type_proto(element))


def _graph(name: str, nodes: list[NodeProto], ins: list[Any], outs: list[Any]) -> GraphProto:
    def infos(ends: list[Any]) -> list[Any]:
        return [helper.make_tensor_value_info(n, kind, sizes) for n, kind, sizes in ends]

    return helper.make_graph(nodes, name, infos(ins), infos(outs))


@generator("SequenceMap")
def sequence_map(d: Draft) -> None:
    parts = _sequence(d)
    kind = helper.np_dtype_to_tensor_dtype(parts[0].dtype)
    nodes = [helper.make_node("Add", ["part", "part"], ["twice"])]
    body = _graph("body", nodes, [("part", kind, None)], [("twice", kind, None)])
    d.set(body=body)


@generator("If")
def branch(d: Draft) -> None:
    branches = {}
    for name in ("then_branch", "else_branch"):
        value = helper.make_tensor("v", 1, [2], [d.real(-2, 2), d.real(-2, 2)])
        nodes = [helper.make_node("Constant", [], [name], value=value)]
        branches[name] = _graph(name, nodes, [], [(name, 1, [2])])
    d.add(np.array(d.chance()).reshape(d.pick([[], [1]])))
    d.set(**branches)


@generator("Loop")
def loop(d: Draft) -> None:
    sizes = d.shape(0, 2, 0)
    limit, d.outputs = d.integer(0, 4), d.integer(1, 2)
    nodes = [
        helper.make_node("Identity", ["go"], ["on"]),
        helper.make_node(d.pick(["Add", "Mul"]), ["state", "state"], ["next"]),
        helper.make_node("Identity", ["state"], ["scanned"]),
    ]
    if d.chance():
        step = helper.make_tensor("bound", 7, [], [d.integer(0, 3)])
        nodes[0] = helper.make_node("Constant", [], ["bound"], value=step)
        nodes.insert(1, helper.make_node("Less", ["turn", "bound"], ["on"]))
    body = _graph(
        "body",
        nodes,
        [("turn", 7, []), ("go", 9, []), ("state", 1, sizes)],
        [("on", 9, []), ("next", 1, sizes), ("scanned", 1, sizes)][: d.outputs + 1],
    )
    scalar = d.pick([[], [1]])
    d.add(np.full(scalar, limit, np.int64))
    d.add(np.full(scalar, d.chance(0.8)) if d.chance() else None)
    d.add(d.values(sizes, np.float32))
    d.set(body=body)


@generator("Scan")
def scan(d: Draft) -> None:
    steps, width = d.integer(1, 4), d.integer(1, 3)
    has_batch = d.version < 9
    nodes = [
        helper.make_node("Add", ["state", "item"], ["next"]),
        helper.make_node("Mul", ["state", "item"], ["out"]),
    ]
    sizes = [width]
    body = _graph(
        "body",
        nodes,
        [("state", 1, sizes), ("item", 1, sizes)],
        [("next", 1, sizes), ("out", 1, sizes)],
    )
    if has_batch:
        d.add(None)
        d.add(d.values([2, width], np.float32))
        d.add(d.values([2, steps, width], np.float32))
        d.maybe(directions=[d.integer(0, 1)])
    else:
        axis, out = d.integer(0, 1), d.integer(0, 1)
        negative = d.takes_negative and d.chance()
        d.add(d.values(sizes, np.float32))
        d.add(d.values([width, steps] if axis else [steps, width], np.float32))
        if axis:
            d.set(scan_input_axes=[axis - 2 * negative])
        if out:
            d.set(scan_output_axes=[out - 2 * negative])
        d.maybe(scan_input_directions=[d.integer(0, 1)], scan_output_directions=[d.integer(0, 1)])
    d.set(num_scan_inputs=1, body=body)
    d.outputs = 2
