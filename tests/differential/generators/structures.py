"""Nodes that take or give sequences and optional values, and nodes with inner graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TypeProto, helper

from tests.differential.draft import Draft, generator


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


def _graph(name: str, nodes: list[NodeProto], ins: list[Any], outs: list[Any]) -> GraphProto:
    def infos(ends: list[Any]) -> list[Any]:
        return [helper.make_tensor_value_info(n, kind, sizes) for n, kind, sizes in ends]

    return helper.make_graph(nodes, name, infos(ins), infos(outs))


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


def _texts(d: Draft, shape: list[int], words: tuple[str, ...]) -> np.ndarray:
    return np.array(d.rng.choice(list(words), tuple(shape)), object).reshape(shape)


_WORDS = ("", "a", "Ab", "monday", "the cat", "x,y,", " é ", "a1", "b@c.org")


@generator("StringSplit")
def string_split(d: Draft) -> None:
    d.add(_texts(d, d.shape(0, 2, 0), ("a b", "a,b,,c", " a  b ", "abc", "", "a--b")))
    d.maybe(delimiter=d.pick([",", "--", ""]), maxsplit=d.integer(1, 3))
    d.outputs = 2


@generator("StringNormalizer")
def string_normalise(d: Draft) -> None:
    d.add(_texts(d, [d.integer(1, 5)] if d.chance() else [1, d.integer(1, 5)], _WORDS[1:]))
    d.maybe(case_change_action=d.pick(["LOWER", "UPPER", "NONE"]))
    d.maybe(0.8, locale="C")
    d.maybe(is_case_sensitive=d.integer(0, 1), stopwords=["monday", "ab"])


@generator("RandomNormal", "RandomUniform")
def random(d: Draft) -> None:
    d.set(shape=d.shape(1, 3, 0))
    d.maybe(dtype=d.pick([1, 11]), seed=d.real(0, 9))


@generator("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_like(d: Draft) -> None:
    d.tensor(d.shape(1, 3, 0), "T1", 0, 1, kinds="f")
    d.maybe(dtype=d.pick([1, 11]), seed=d.real(0, 9))
