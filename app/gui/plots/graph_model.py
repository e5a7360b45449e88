"""An .onnx file -> its nodes, their connections and shapes; no weights are kept, no Qt known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from exporters.types import GraphlapError

if TYPE_CHECKING:
    import onnx

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
    known = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    return {value.name: _shape_text(value) for value in known}


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
        given = tuple(shapes.get(output, "") for output in node.output if output)
        nodes.append(GraphNode(node.name or node.op_type, node.op_type, "node", given))
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
