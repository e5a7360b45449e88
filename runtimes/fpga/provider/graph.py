"""Graphs that ONNX Runtime shows a provider: read into our own form, nodes that the card supports,
convex claims of them.
"""

from __future__ import annotations

import ctypes as c
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from runtimes.errors import Unsupported
from runtimes.fpga.graph.graph import AttributeValue, Graph, Node, Value
from runtimes.fpga.graph.importer import STATES_KEY
from runtimes.fpga.lower import lower
from runtimes.fpga.numerics.emulation import refusal
from runtimes.fpga.provider import abi
from runtimes.onnxruntime.c_api import ELEMENT_TYPES, Get, GetList, OrtApi, OrtError, text

_WRITABLE = 0x200
_memory = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_ssize_t, c.c_int)(
    ("PyMemoryView_FromMemory", c.pythonapi)
)


@dataclass(frozen=True, slots=True)
class OrtGraph:
    """`graph`, with the OrtNode of each of its nodes.

    `depends_on` holds per node the names it reads, those its subgraphs read included.
    `unfixed` says of each tensor that is missing in `graph.values` why it has no fixed shape.
    """

    graph: Graph
    nodes: tuple[int, ...]
    depends_on: tuple[tuple[str, ...], ...]
    unfixed: Mapping[str, str]


def read_graph(api: OrtApi, handle: int) -> OrtGraph:
    """The OrtGraph at `handle`; nodes come in topological order, as ONNX Runtime lists them."""
    return _Reader(api).read(handle)


def claimed_graph(api: OrtApi, graph: int, fused_node: int) -> Graph:
    """The graph of a claim; its fused node gives the order of inputs and outputs."""
    inputs = value_names(api, abi.handles(api.Node_GetNumInputs, api.Node_GetInputs, fused_node))
    outputs = value_names(api, abi.handles(api.Node_GetNumOutputs, api.Node_GetOutputs, fused_node))
    pairs = json.loads(read_metadata(api, graph, STATES_KEY) or "[]")
    states = tuple((i, o) for i, o in pairs if i in inputs and o in outputs)
    return replace(read_graph(api, graph).graph, inputs=inputs, outputs=outputs, states=states)


def read_tensor(api: OrtApi, value: int) -> np.ndarray:
    """An OrtValue's tensor as a view of its own memory; TypeError for a type numpy lacks."""
    info = c.c_void_p()
    api.GetTensorTypeAndShape(value, c.byref(info))
    try:
        dtype, shape = _type_and_shape(api, info)
    finally:
        api.ReleaseTensorTypeAndShapeInfo(info)
    try:
        kind = np.dtype(ELEMENT_TYPES[dtype])
    except (KeyError, TypeError):
        raise TypeError(f"tensor element type {dtype} has no numpy type") from None
    size = int(np.prod(shape, dtype=np.int64))
    if not size:
        return np.empty(shape, kind)
    data = c.c_void_p()
    api.GetTensorMutableData(value, c.byref(data))
    return np.ndarray(shape, kind, _memory(data, size * kind.itemsize, _WRITABLE))


def read_metadata(api: OrtApi, graph: int, key: str) -> str | None:
    """What the model that holds an OrtGraph says under `key`; None if it says nothing."""
    metadata, allocator, text_pointer = c.c_void_p(), c.c_void_p(), c.c_void_p()
    api.GetAllocatorWithDefaultOptions(c.byref(allocator))
    api.Graph_GetModelMetadata(graph, c.byref(metadata))
    try:
        api.ModelMetadataLookupCustomMetadataMap(
            metadata, allocator, key.encode(), c.byref(text_pointer)
        )
        if not text_pointer.value:
            return None
        value = c.string_at(text_pointer.value).decode()
        api.AllocatorFree(allocator, text_pointer)
        return value
    finally:
        api.ReleaseModelMetadata(metadata)


def value_names(api: OrtApi, values: Iterable[int | None]) -> tuple[str, ...]:
    """The names of OrtValueInfos; "" for an optional one that is not there."""
    return tuple(text(api.GetValueInfoName, value) if value else "" for value in values)


def _type_and_shape(api: OrtApi, info: c.c_void_p) -> tuple[int, tuple[int, ...]]:
    dtype, rank = c.c_int(), c.c_size_t()
    api.GetTensorElementType(info, c.byref(dtype))
    api.GetDimensionsCount(info, c.byref(rank))
    shape = abi.array_of(c.c_int64, rank.value)()
    if rank.value:
        api.GetDimensions(info, shape, rank.value)
    return dtype.value, tuple(shape)


class _Reader:
    def __init__(self, api: OrtApi) -> None:
        self._api = api
        self._constants: dict[str, np.ndarray] = {}
        self._values: dict[str, Value] = {}
        self._open_reasons: dict[str, str] = {}

    def read(self, handle: int) -> OrtGraph:
        api = self._api
        inputs = self._names(api.Graph_GetNumInputs, api.Graph_GetInputs, handle)
        outputs = self._names(api.Graph_GetNumOutputs, api.Graph_GetOutputs, handle)
        node_handles = [
            n for n in abi.handles(api.Graph_GetNumNodes, api.Graph_GetNodes, handle) if n
        ]
        nodes = tuple(self._node(node) for node in node_handles)
        implicit = [
            self._names(api.Node_GetNumImplicitInputs, api.Node_GetImplicitInputs, node)
            for node in node_handles
        ]
        graph = Graph(
            name=text(api.Graph_GetName, handle),
            inputs=inputs,
            outputs=outputs,
            nodes=nodes,
            constants=self._constants,
            values=self._values,
        )
        depends_on = tuple(node.inputs + more for node, more in zip(nodes, implicit, strict=True))
        return OrtGraph(graph, tuple(node_handles), depends_on, self._open_reasons)

    def _names(self, count: Get, get: GetList, owner: int) -> tuple[str, ...]:
        values = abi.handles(count, get, owner)
        names = value_names(self._api, values)
        for name, value in zip(names, values, strict=True):
            if value and name not in self._constants and name not in self._values:
                self._describe(name, value)
        return names

    def _describe(self, name: str, value: int) -> None:
        api = self._api
        constant = c.c_bool()
        api.ValueInfo_IsConstantInitializer(value, c.byref(constant))
        if constant.value:
            initializer = c.c_void_p()
            api.ValueInfo_GetInitializerValue(value, c.byref(initializer))
            if not initializer.value:
                self._open_reasons[name] = f"the constant '{name}' is not in memory"
                return
            try:
                self._constants[name] = read_tensor(api, initializer.value)
            except TypeError as error:
                self._open_reasons[name] = str(error)
            return
        info, tensor = c.c_void_p(), c.c_void_p()
        api.GetValueInfoTypeInfo(value, c.byref(info))
        if info.value:
            api.CastTypeInfoToTensorInfo(info, c.byref(tensor))
        if not tensor.value:
            self._open_reasons[name] = f"'{name}' is no tensor"
            return
        dtype, shape = _type_and_shape(api, tensor)
        if any(size < 0 for size in shape):
            self._open_reasons[name] = self._open_dimension(name, tensor, shape)
        else:
            self._values[name] = Value(
                name, ELEMENT_TYPES.get(dtype, f"element type {dtype}"), shape
            )

    def _open_dimension(self, name: str, tensor: c.c_void_p, shape: tuple[int, ...]) -> str:
        symbols = abi.array_of(c.c_char_p, len(shape))()
        self._api.GetSymbolicDimensions(tensor, symbols, len(shape))
        axis = next(i for i, size in enumerate(shape) if size < 0)
        symbol = (symbols[axis] or b"").decode()
        symbol_text = f" ({symbol})" if symbol else ""
        return f"dimension {axis}{symbol_text} of '{name}' is open"

    def _node(self, node: int) -> Node:
        api = self._api
        version = c.c_int()
        api.Node_GetSinceVersion(node, c.byref(version))
        return Node(
            name=text(api.Node_GetName, node),
            op=text(api.Node_GetOperatorType, node),
            domain=text(api.Node_GetDomain, node),
            since_version=version.value,
            inputs=self._names(api.Node_GetNumInputs, api.Node_GetInputs, node),
            outputs=self._names(api.Node_GetNumOutputs, api.Node_GetOutputs, node),
            attributes=self._attributes(node),
        )

    def _attributes(self, node: int) -> dict[str, AttributeValue]:
        """Numbers and texts; tensors and subgraphs are of no operator that the card takes."""
        api = self._api
        read: dict[str, AttributeValue] = {}
        for attribute in abi.handles(api.Node_GetNumAttributes, api.Node_GetAttributes, node):
            kind = c.c_int()
            api.OpAttr_GetType(attribute, c.byref(kind))
            data = self._attribute_bytes(attribute or 0, kind.value)
            if data is not None:
                name = text(api.OpAttr_GetName, attribute or 0)
                read[name] = _decode(kind.value, data)
        return read

    def _attribute_bytes(self, attribute: int, kind: int) -> bytes | None:
        if not abi.ATTRIBUTE_INT <= kind <= abi.ATTRIBUTE_STRINGS:
            return None
        size, room = c.c_size_t(), 64
        while True:
            buffer = c.create_string_buffer(room)
            try:
                self._api.ReadOpAttr(attribute, kind, buffer, room, c.byref(size))
            except OrtError:
                # Too little room is a failure that tells how much is needed.
                if size.value <= room:
                    raise
                room = size.value
            else:
                return buffer.raw[: size.value]


def _decode(kind: int, data: bytes) -> AttributeValue:
    if kind == abi.ATTRIBUTE_STRING:
        return data.rstrip(b"\0").decode()
    if kind == abi.ATTRIBUTE_STRINGS:
        return tuple(part.decode() for part in data.split(b"\0") if part)
    if kind in (abi.ATTRIBUTE_INT, abi.ATTRIBUTE_INTS):
        integers = tuple(np.frombuffer(data, np.int64).tolist())
        return integers[0] if kind == abi.ATTRIBUTE_INT else integers
    floats = tuple(np.frombuffer(data, np.float32).tolist())
    return floats[0] if kind == abi.ATTRIBUTE_FLOAT else floats


def why_not(node: Node, graph: Graph) -> str | None:
    """Why `node` of `graph` can't be on the card, in a few words; None if it can."""
    reason = refusal(node, graph)
    if reason is not None:
        return reason
    arriving = dict.fromkeys(i for i in node.inputs if i and i not in graph.constants)
    alone = replace(
        graph,
        inputs=tuple(arriving),
        outputs=tuple(filter(None, node.outputs)),
        nodes=(node,),
        states=(),
    )
    try:
        lower(alone)
    except Unsupported as error:
        return error.cause
    return None


_NODES_TOLD = 10
"""How many of them a log line names."""


def why_left_out(ort_graph: OrtGraph, index: int) -> str | None:
    """Why node `index` can't be on the card; None if it can."""
    node = ort_graph.graph.nodes[index]
    names = (*node.inputs, *node.outputs)
    reason = next((ort_graph.unfixed[name] for name in names if name in ort_graph.unfixed), None)
    return reason or why_not(node, ort_graph.graph)


def left_out(ort_graph: OrtGraph, reasons: Mapping[int, str | None]) -> str:
    """A line for ONNX Runtime's own log; "" where all nodes can be on the card."""
    left = [
        f"{node.op} '{node.name}': {reasons[i]}"
        for i, node in enumerate(ort_graph.graph.nodes)
        if reasons[i]
    ]
    if not left:
        return ""
    message = f"{len(left)} nodes are left to other providers: {'; '.join(left[:_NODES_TOLD])}"
    if len(left) > _NODES_TOLD:
        message += f"; and {len(left) - _NODES_TOLD} more"
    if ort_graph.unfixed:
        message += "; fix open dimensions with add_free_dimension_override_by_name"
    return message


def predecessors(
    inputs: Sequence[Sequence[str]], outputs: Sequence[Sequence[str]]
) -> tuple[tuple[int, ...], ...]:
    """Per node, the nodes that make what it reads, given the names read and made by each."""
    maker = {name: index for index, names in enumerate(outputs) for name in names if name}
    return tuple(
        tuple(sorted({maker[name] for name in names if name in maker})) for names in inputs
    )


def claims(
    node_predecessors: Sequence[Sequence[int]], supported_nodes: Collection[int]
) -> tuple[tuple[int, ...], ...]:
    """The fewest convex claims that hold every supported node.

    `before[i]` are the predecessors of node i, all less than i. A node's level counts how
    often the worst path that leads to it has left the supported nodes. Levels never fall
    along a path and rise on leaving, so what a path meets between two supported nodes of
    one level is supported and of that level: a level is convex, and a claim waits only for
    lower ones. A path with n returns needs n + 1 claims, so there can't be fewer.
    """
    node_set = frozenset(supported_nodes)
    level: list[int] = []
    for node, nodes_before in enumerate(node_predecessors):
        level.append(
            max(
                (level[p] + (p in node_set and node not in node_set) for p in nodes_before),
                default=0,
            )
        )
    nodes_by_level: dict[int, list[int]] = {}
    for node in sorted(node_set):
        nodes_by_level.setdefault(level[node], []).append(node)
    return tuple(tuple(nodes) for _, nodes in sorted(nodes_by_level.items()))
