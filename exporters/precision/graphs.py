"""What both conversions do with a graph before and after: load, tidy, save, check."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.inliner import inline_local_functions

from exporters.onnx_files.graph import all_nodes, node_name, put_in_order, reads
from exporters.types import ExportError, Made, NotBenchmarkable, Precision, first_line
from exporters.validation import check_file

MODEL = "model"
RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_FIRST_IR_WITH_CONSTANTS = 4
_LARGEST_BYTES = 2**31 - 2**20


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is kept of a conversion beside the graph: the nodes that run in a wider type."""

    opset: int
    exceptions: tuple[str, ...]


_CASTS = 22
"""The opset of what conversions put into a graph that has none of ONNX's own operators."""


def loaded(name: str, graph: Path) -> ModelProto:
    """The whole graph, external weights included."""
    proto = onnx.load(graph)
    if not any(opset.domain in ("", "ai.onnx") for opset in proto.opset_import):
        proto.opset_import.add(domain="", version=_CASTS)  # those of fitted trees have none
    if proto.ByteSize() > _LARGEST_BYTES:
        raise NotBenchmarkable(
            f"{name} has more than 2 GiB of weights, too many to be converted here",
            "convert it yourself and give that file",
        )
    return proto


def saved(proto: ModelProto, folder: Path) -> Path:
    """The graph as a file in the folder, with the same bytes in every process."""
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString(deterministic=True))
    return path


def checked(name: str, path: Path, precision: Precision, exceptions: list[str]) -> Made:
    """What a conversion made; NotBenchmarkable if it is no valid graph."""
    try:
        check_file(path)
    except ExportError as error:
        raise NotBenchmarkable(
            f"{name} has no valid graph in {precision} ({error.cause})", "measure it in fp32"
        ) from error
    opset = opset_of(onnx.load(path, load_external_data=False))
    return Made({MODEL: path}, Conversion(opset, tuple(exceptions)))


def tidy_weights(proto: ModelProto) -> None:
    """Take weights off the inputs, where IR 3 lists them, and those away that no node reads."""
    graph = proto.graph
    weights = {tensor.name for tensor in graph.initializer}
    graph_inputs = [value for value in graph.input if value.name not in weights]
    graph.ClearField("input")
    graph.input.extend(graph_inputs)
    read = {name for node in graph.node for name in reads(node)}
    read |= {value.name for value in graph.output}
    for place in reversed(range(len(graph.initializer))):
        if graph.initializer[place].name not in read:
            del graph.initializer[place]
    proto.ir_version = max(proto.ir_version, _FIRST_IR_WITH_CONSTANTS)


def constants_as_weights(proto: ModelProto) -> None:
    """Make weights of the graph's own Constant nodes that hold float32: a weight is converted as it
    is stored, what a node gives would need a node more."""
    graph = proto.graph
    for place in reversed(range(len(graph.node))):
        node = graph.node[place]
        tensor = _constant(node) if node.op_type == "Constant" else None
        if tensor is not None:
            graph.initializer.append(tensor)
            del graph.node[place]


def constants_as_tensors(proto: ModelProto) -> None:
    """Write every Constant node of floats, in all graphs, with its one attribute `value`, which
    alone the converter to fp16 knows."""
    for node in all_nodes(proto):
        if node.op_type == "Constant" and node.attribute[0].name in ("value_float", "value_floats"):
            value = helper.get_attribute_value(node.attribute[0])
            tensor = numpy_helper.from_array(np.asarray(value, np.float32))
            node.attribute[0].CopyFrom(helper.make_attribute("value", tensor))


def _constant(node: onnx.NodeProto) -> TensorProto | None:
    """The float32 tensor that a Constant node gives, under the name of its output."""
    (attribute,) = node.attribute
    match attribute.name:
        case "value" if attribute.t.data_type == TensorProto.FLOAT:
            tensor = TensorProto()
            tensor.CopyFrom(attribute.t)
            tensor.name = node.output[0]
            return tensor
        case "value_float" | "value_floats":
            value = helper.get_attribute_value(attribute)
            return numpy_helper.from_array(np.asarray(value, np.float32), node.output[0])
    return None


def in_opset(name: str, proto: ModelProto, opset: int, kind: str) -> ModelProto:
    """The graph in this opset, the first that has `kind`, or a later one; its nodes in order, no
    functions."""
    original = proto
    try:
        if proto.functions:
            proto = inline_local_functions(proto)
        if opset_of(proto) < opset:
            proto = onnx.version_converter.convert_version(proto, opset)
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be written in opset {opset}, the first that has {kind} "
            f"({first_line(error)})",
            "measure it in fp32",
        ) from error
    if proto is not original:
        restore_head(proto, original)
    put_in_order(proto.graph)
    return proto


def restore_head(target: ModelProto, proto: ModelProto) -> None:
    """The original's metadata, names and versions in place of the tools' own."""
    target.ClearField("metadata_props")
    target.metadata_props.extend(proto.metadata_props)
    target.ir_version = proto.ir_version
    target.producer_name = proto.producer_name
    target.producer_version = proto.producer_version
    used_domains = {node.domain for node in target.graph.node} | {""}
    opsets = [opset for opset in target.opset_import if opset.domain in used_domains]
    target.ClearField("opset_import")
    target.opset_import.extend(opsets)


def is_half_already(proto: ModelProto) -> bool:
    """Whether the graph holds float16 and no float32."""
    graph = proto.graph
    data_types = {tensor.data_type for tensor in graph.initializer}
    data_types |= {v.type.tensor_type.elem_type for v in (*graph.input, *graph.output)}
    data_types |= {a.t.data_type for node in graph.node for a in node.attribute if a.HasField("t")}
    return TensorProto.FLOAT16 in data_types and TensorProto.FLOAT not in data_types


def opset_of(proto: ModelProto) -> int:
    """The version of ONNX's own operators that the graph is written in."""
    return next(o.version for o in proto.opset_import if o.domain in ("", "ai.onnx"))


def titled(node: onnx.NodeProto) -> str:
    """A node as messages name it: `Conv 'conv1'`."""
    return f"{node.op_type} {node_name(node)!r}"


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the converters' advice: they warn of rounding, and log what else one could do."""
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
