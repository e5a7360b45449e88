"""Nodes of a graph, the shapes of its tensors by ONNX's shape inference without the weights, and
subgraphs between named nodes.
"""

from __future__ import annotations

import re
import traceback
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from heapq import heappop, heappush
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
)
from onnx.external_data_helper import uses_external_data
from onnx.numpy_helper import from_array, to_array

from exporters.types import ExportError, nearest


def node_name(node: NodeProto) -> str:
    """A node's name; one without goes by its first output."""
    return node.name or next(filter(None, node.output), "")


def inner_graphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs that a node holds."""
    for attribute in node.attribute:
        yield from attribute.graphs
        if attribute.HasField("g"):
            yield attribute.g


def reads(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, those that its inner graphs take from outside included."""
    yield from filter(None, node.input)
    for inner in inner_graphs(node):
        for inner_node in inner.node:
            yield from reads(inner_node)
        yield from (value.name for value in inner.output)


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph, and every graph that a node of it holds, at any depth."""
    yield graph
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from graphs_of(inner)


def all_graphs(model: ModelProto) -> Iterator[GraphProto]:
    """The same of a model, with what the nodes of its functions hold."""
    yield from graphs_of(model.graph)
    for function in model.functions:
        for node in function.node:
            for inner in inner_graphs(node):
                yield from graphs_of(inner)


def all_nodes(model: ModelProto) -> Iterator[NodeProto]:
    """The nodes of all of these graphs, and of the functions."""
    for holder in (*all_graphs(model), *model.functions):
        yield from holder.node


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """All nodes of a graph, those of inner graphs before the node that holds them."""
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from nodes_of(inner)
        yield node


def attributes(node: NodeProto) -> dict[str, Any]:
    """The values of a node's attributes."""
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def constant_tensors(holders: Iterable[GraphProto | FunctionProto]) -> dict[str, TensorProto]:
    """The constants of these graphs, by name: initializers, and what Constant nodes give."""
    tensors: dict[str, TensorProto] = {}
    for holder in holders:
        tensors |= {tensor.name: tensor for tensor in getattr(holder, "initializer", ())}
        for node in (node for node in holder.node if node.op_type == "Constant"):
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    tensors[node.output[0]] = attribute.t
                elif attribute.name.startswith(("value_int", "value_float")):
                    value = np.array(helper.get_attribute_value(attribute))
                    tensors[node.output[0]] = from_array(value)
    return tensors


def small_arrays(tensors: Mapping[str, TensorProto], most: int) -> dict[str, np.ndarray]:
    """The values of those that have up to so many, but not what is damaged or lies elsewhere; what
    numpy has no type for, such as bfloat16, as float32."""
    arrays = {}
    for name, tensor in tensors.items():
        if prod(tensor.dims) <= most and not uses_external_data(tensor):
            with suppress(ValueError, TypeError, KeyError):
                values = to_array(tensor)
                arrays[name] = values.astype(np.float32) if values.dtype.kind == "V" else values
    return arrays


def put_in_order(graph: GraphProto) -> bool:
    """Put each node after those that it reads; False where they stand so, or cannot.

    ONNX Runtime's own converter to fp16 writes them in another order, and ONNX Runtime sorts them.
    """
    maker = {name: place for place, node in enumerate(graph.node) for name in node.output if name}
    predecessors = [{maker[name] for name in reads(node) if name in maker} for node in graph.node]
    if all(place < index for index, places in enumerate(predecessors) for place in places):
        return False
    order = _first_to_last(predecessors)
    if len(order) < len(predecessors):
        return False
    nodes = [deepcopy(graph.node[place]) for place in order]
    del graph.node[:]
    graph.node.extend(nodes)
    return True


def _first_to_last(predecessors: Sequence[Collection[int]]) -> list[int]:
    """Places in an order in which each follows those it needs; those in a circle are left out."""
    readers: list[list[int]] = [[] for _ in predecessors]
    for index, places in enumerate(predecessors):
        for place in places:
            readers[place].append(index)
    left = [len(places) for places in predecessors]
    ready = [index for index, count in enumerate(left) if not count]
    order = []
    while ready:
        order.append(heappop(ready))
        for reader in readers[order[-1]]:
            left[reader] -= 1
            if not left[reader]:
                heappush(ready, reader)
    return order


Shape = tuple[int, ...]

_KEPT_ELEMENTS = 1024
"""Constants up to this size keep their values: a Reshape's target is needed, a weight is not."""
_FAILED_NODE = re.compile(
    r"\(op_type:(?P<op>[^,)]*)(, node name: (?P<node>[^)]*))?\): (?P<reason>[^\n]*)"
)


class ShapeConflict(Exception):
    """The sizes do not fit together at `node`, for `reason`."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def inferred(
    model: ModelProto, point: Mapping[str, int] | None = None
) -> dict[str, ValueInfoProto]:
    """Every tensor whose type is known, by name; with `point`, the axes have those sizes.

    ShapeConflict if the graph cannot take them, as far as inference sees.
    """
    skeleton = _without_weights(model)
    if point:
        for value in skeleton.graph.input:
            for dimension in value.type.tensor_type.shape.dim:
                if dimension.dim_param in point:
                    dimension.dim_value = point[dimension.dim_param]
    try:
        graph = onnx.shape_inference.infer_shapes(
            skeleton, strict_mode=bool(point), data_prop=True
        ).graph
    except Exception as error:
        match = _FAILED_NODE.search(str(error))
        if match is None:
            raise ShapeConflict("", str(error).strip().partition("\n")[0]) from error
        reason = re.sub(r"^\[\w+\] ", "", match["reason"])
        raise ShapeConflict(match["node"] or match["op"], reason) from error
    values = {value.name: value for value in (*graph.value_info, *graph.output, *graph.input)}
    for tensor in graph.initializer:
        values[tensor.name] = onnx.helper.make_tensor_value_info(
            tensor.name, tensor.data_type, tensor.dims
        )
    return values


def known_shapes(values: Mapping[str, ValueInfoProto]) -> dict[str, Shape]:
    """The tensors all of whose sizes are numbers."""
    return {
        name: tuple(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)
        for name, value in values.items()
        if value.type.tensor_type.HasField("shape")
        and all(d.HasField("dim_value") for d in value.type.tensor_type.shape.dim)
    }


def _without_weights(model: ModelProto) -> ModelProto:
    skeleton = ModelProto(ir_version=max(model.ir_version, 4))
    skeleton.opset_import.extend(model.opset_import)
    skeleton.functions.extend(model.functions)
    graph: GraphProto = skeleton.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    weights = {tensor.name for tensor in model.graph.initializer}
    graph.input.extend(value for value in model.graph.input if value.name not in weights)
    for tensor in model.graph.initializer:
        if prod(tensor.dims) <= _KEPT_ELEMENTS and not uses_external_data(tensor):
            graph.initializer.append(tensor)
        else:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    return skeleton


def part(
    file: str, model: ModelProto, from_nodes: Sequence[str], to_nodes: Sequence[str]
) -> ModelProto:
    """The nodes on the way from `from_nodes` (none: the inputs) to `to_nodes` (none: the
    outputs), as a model of its own.

    ExportError for a name that is not there, for nodes that nothing connects, and for a
    tensor at the cut whose shape cannot be told.
    """
    graph = model.graph
    nodes = {node_name(node): node for node in graph.node}
    first = [_find(file, nodes, name) for name in from_nodes]
    last = [_find(file, nodes, name) for name in to_nodes]
    constants = _constants(graph)
    cut = dict.fromkeys(
        name for node in first for name in node.input if name and name not in constants
    )
    results = dict.fromkeys(
        [name for node in last for name in node.output if name]
        or [value.name for value in graph.output]
    )
    maker = {name: node for node in graph.node for name in node.output if name}
    node_keys = _leading_to(results, cut, maker)
    _refuse_unconnected(file, first, last, node_keys, maker)
    required_names = {
        name for node in graph.node if mark(node) in node_keys for name in reads(node)
    }
    try:
        values = inferred(model)
    except ShapeConflict as error:
        raise ExportError(
            f"the sizes in {file} do not fit together at node {error.node!r} ({error.reason})",
            "export the file again",
        ) from error
    input_names = [v.name for v in graph.input if v.name not in cut and v.name not in constants]
    cut_model = _without_graph(model)
    target = cut_model.graph
    target.name = graph.name
    target.node.extend(node for node in graph.node if mark(node) in node_keys)
    target.initializer.extend(t for t in graph.initializer if t.name in required_names)
    target.sparse_initializer.extend(
        t for t in graph.sparse_initializer if t.values.name in required_names
    )
    target.input.extend(
        _value(file, values, name) for name in (*input_names, *cut) if name in required_names
    )
    target.output.extend(_value(file, values, name) for name in results)
    return cut_model


def _find(file: str, nodes: Mapping[str, NodeProto], name: str) -> NodeProto:
    if name in nodes:
        return nodes[name]
    remedy = nearest(name, nodes, "see its nodes in a viewer of ONNX files")
    raise ExportError(f"{file} has no node called {name!r}", remedy)


def training_nodes(model: ModelProto) -> tuple[str, ...]:
    """Nodes that compute as in training: by statistics of the batch, or with values left out."""
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    flags = small_arrays(constant_tensors((*all_graphs(model), *model.functions)), 1)

    def trains(node: NodeProto) -> bool:
        numbers = {attribute.name: attribute.i for attribute in node.attribute}
        if opset < 7:
            return not numbers.get("is_test")
        if node.op_type == "BatchNormalization":
            is_told = opset < 14 and len([*filter(None, node.output)]) > 1
            return is_told or bool(numbers.get("training_mode"))
        return len(node.input) > 2 and bool(flags.get(node.input[2]))

    kinds = ("BatchNormalization", "Dropout")
    nodes = (node for node in all_nodes(model) if node.op_type in kinds and not node.domain)
    return tuple(node_name(node) for node in nodes if trains(node))


def _constants(graph: GraphProto) -> set[str]:
    """Initialisers, and all that follows from them and from Constant nodes alone."""
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        names = list(reads(node))
        if node.op_type == "Constant" or (names and all(name in constants for name in names)):
            constants.update(node.output)
    return constants


def mark(node: NodeProto) -> str:
    """What tells a node from all others: names need not be unique, what a node gives is."""
    return next(filter(None, node.output), "")


def _leading_to(
    results: Iterable[str], cut: Collection[str], maker: Mapping[str, NodeProto]
) -> set[str]:
    """The marks of the nodes that the results need, none beyond the cut."""
    keys: set[str] = set()
    waiting = deque(maker[name] for name in results if name in maker)
    while waiting:
        node = waiting.popleft()
        if mark(node) in keys:
            continue
        keys.add(mark(node))
        waiting.extend(maker[n] for n in reads(node) if n in maker and n not in cut)
    return keys


def _refuse_unconnected(
    file: str,
    first: Sequence[NodeProto],
    last: Sequence[NodeProto],
    node_keys: set[str],
    maker: Mapping[str, NodeProto],
) -> None:
    ends = " or ".join(repr(node_name(node)) for node in last) or "an output"
    for node in first:
        if mark(node) not in node_keys:
            raise ExportError(
                f"no path leads from node {node_name(node)!r} of {file} to {ends}",
                "name nodes that lie on one path, the first of them in --from-node",
            )
    starts = {mark(node) for node in first}
    for node in last if first else ():
        if not starts & _leading_to(node.output, (), maker):
            begins = " or ".join(repr(node_name(start)) for start in first)
            raise ExportError(
                f"no path leads from node {begins} of {file} to {node_name(node)!r}",
                "name nodes that lie on one path, the first of them in --from-node",
            )


def _value(file: str, values: Mapping[str, ValueInfoProto], name: str) -> ValueInfoProto:
    value = values.get(name)
    if value is None or not value.type.tensor_type.HasField("shape"):
        raise ExportError(
            f"the shape of {name!r}, where {file} would be cut, is unknown",
            "cut at another node, or save the file with its shapes inferred",
        )
    return value


def _without_graph(model: ModelProto) -> ModelProto:
    """The model's versions and functions; from IR 4 on, weights need not be inputs."""
    bare = ModelProto(ir_version=max(model.ir_version, 4), producer_name=model.producer_name)
    bare.opset_import.extend(model.opset_import)
    bare.functions.extend(model.functions)
    return bare


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
