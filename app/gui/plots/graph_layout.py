"""Model graphs as values: nodes of an .onnx file, and their places in layers. Knows no Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from exporters.types import GraphlapError

if TYPE_CHECKING:
    import onnx


COLUMN, LEVEL = 190.0, 96.0
"""The distance of neighbouring nodes, across and down."""

_BEND = 50.0
"""The room that a passing edge takes in a level."""

_SWEEPS = 4
_BENDS_PER_NODE = 4
"""Beyond so many bends, long edges are drawn straight: layout stays linear in the nodes."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres (x, y) of the nodes [n], and for each edge the points between its ends."""

    places: tuple[tuple[float, float], ...]
    bends: tuple[tuple[tuple[float, float], ...], ...]


def lay_out(count: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """Places for `count` nodes in topological order, joined by (from, to) edges."""
    level = _levels(count, edges)
    successors: list[list[int]] = [[] for _ in range(count)]
    predecessors: list[list[int]] = [[] for _ in range(count)]
    chains: list[list[int]] = []
    for source, target in edges:
        chain: list[int] = []
        last = source
        spare = count * (1 + _BENDS_PER_NODE) - len(level)
        span = level[target] - level[source] - 1
        for step in range(span if span <= spare else 0):
            chain.append(len(level))
            level.append(level[source] + 1 + step)
            successors.append([])
            predecessors.append([])
            _join(successors, predecessors, last, chain[-1])
            last = chain[-1]
        _join(successors, predecessors, last, target)
        chains.append(chain)
    layers: list[list[int]] = [[] for _ in range(max(level, default=0) + 1)]
    for item, depth in enumerate(level):
        layers[depth].append(item)
    x = _columns(layers, predecessors, successors, count)
    places = tuple((x[item], level[item] * LEVEL) for item in range(len(level)))
    bends = tuple(tuple(places[item] for item in chain) for chain in chains)
    return Layout(places[:count], bends)


def _join(
    successors: list[list[int]], predecessors: list[list[int]], source: int, target: int
) -> None:
    successors[source].append(target)
    predecessors[target].append(source)


def _levels(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Each node below all that it reads; inputs just above their first reader."""
    level = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        level[target] = max(level[target], level[source] + 1)
    readers: list[list[int]] = [[] for _ in range(count)]
    read = set()
    for source, target in edges:
        readers[source].append(target)
        read.add(target)
    for node in range(count):
        if node not in read and readers[node]:
            level[node] = min(level[reader] for reader in readers[node]) - 1
    return level


def _columns(
    layers: list[list[int]], predecessors: list[list[int]], successors: list[list[int]], count: int
) -> list[float]:
    """The x of every item: ordered by the neighbours' means, then drawn towards them."""
    x = [0.0] * len(predecessors)
    for layer in layers:
        _spread(layer, x, [float(k) for k in range(len(layer))], count)
    for _ in range(_SWEEPS):
        for sweep, neighbours in ((layers, predecessors), (layers[::-1], successors)):
            for layer in sweep:
                targets = [
                    sum(x[n] for n in neighbours[item]) / len(neighbours[item])
                    if neighbours[item]
                    else x[item]
                    for item in layer
                ]
                _spread(layer, x, targets, count)
    return x


def _spread(layer: list[int], x: list[float], values: list[float], count: int) -> None:
    """Order the layer as wanted; place each as near as its neighbours' widths allow.

    Packed once from the left and once from the right, the mean of both keeps the distances.
    """
    order = sorted(range(len(layer)), key=lambda k: (values[k], k))
    items = [layer[k] for k in order]
    goals = [values[k] for k in order]
    half = [COLUMN / 2 if item < count else _BEND / 2 for item in items]
    left, right = goals[:], goals[:]
    for k in range(1, len(items)):
        left[k] = max(left[k], left[k - 1] + half[k - 1] + half[k])
    for k in range(len(items) - 2, -1, -1):
        right[k] = min(right[k], right[k + 1] - half[k + 1] - half[k])
    for item, a, b in zip(items, left, right, strict=True):
        x[item] = (a + b) / 2.0
    layer[:] = items


_INFER_BELOW_BYTES = 64 << 20
"""Shape inference copies the whole file; beyond this size shapes are only read, not inferred."""


class NoModel(GraphlapError):
    """The file can't be read as an ONNX model."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An operator, or an input or output of the graph. `shapes` tell its results."""

    name: str
    op: str
    kind: Literal["input", "node", "output"]
    shapes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """`edges` are (from, to, shape), indices into `nodes`, which are in topological order."""

    name: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int, str], ...]


def load_graph(path: Path) -> ModelGraph:
    """Read a model without its external weights; NoModel names what is wrong with it."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path), load_external_data=False)
        shapes = _shapes(model)
    except OSError as error:
        raise NoModel(f"{path} can't be read ({error.strerror})", "check the path") from error
    except (DecodeError, ValueError, RuntimeError) as error:
        raise NoModel(f"{path.name} is no ONNX model", "export it again") from error
    if not model.graph.node:
        raise NoModel(f"{path.name} has no nodes", "export it again")
    return _graph(path.stem, model, shapes)


def _shapes(model: onnx.ModelProto) -> Mapping[str, str]:
    import onnx

    if not model.graph.value_info and model.ByteSize() < _INFER_BELOW_BYTES:
        try:
            model = onnx.shape_inference.infer_shapes(model)
        except onnx.shape_inference.InferenceError:
            return {}
    value_infos = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    return {value.name: _shape_text(value) for value in value_infos}


def _shape_text(value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return ""
    sizes = [dim.dim_param or str(dim.dim_value) for dim in tensor.shape.dim]
    return " x ".join(sizes) or "scalar"


def _graph(name: str, model: onnx.ModelProto, shapes: Mapping[str, str]) -> ModelGraph:
    constants = {tensor.name for tensor in model.graph.initializer}
    nodes: list[GraphNode] = []
    edges: list[tuple[int, int, str]] = []
    maker: dict[str, int] = {}
    for value in model.graph.input:
        if value.name not in constants:
            maker[value.name] = len(nodes)
            nodes.append(GraphNode(value.name, "input", "input", (shapes.get(value.name, ""),)))
    for node in model.graph.node:
        if node.op_type == "Constant":
            continue
        place = len(nodes)
        output_shapes = tuple(shapes.get(output, "") for output in node.output if output)
        nodes.append(GraphNode(node.name or node.op_type, node.op_type, "node", output_shapes))
        for source in dict.fromkeys(node.input):
            if source in maker:
                edges.append((maker[source], place, shapes.get(source, "")))
        maker.update({output: place for output in node.output if output})
    for value in model.graph.output:
        if value.name in maker:
            shape = shapes.get(value.name, "")
            edges.append((maker[value.name], len(nodes), shape))
            nodes.append(GraphNode(value.name, "output", "output", (shape,)))
    return ModelGraph(name, tuple(nodes), tuple(edges))
