"""What ONNX Runtime knows of a user's file: whether it opens it, and its inputs and outputs.

Engines are imported in child processes alone, where all of this runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto, helper

from exporters.onnx_files.evaluator import opened, plain
from exporters.types import ExportError, MissingPackage

if TYPE_CHECKING:
    from onnxruntime import NodeArg

_ELEMENTS = {"float": "FLOAT", "double": "DOUBLE"}
"""ONNX Runtime's names of element types that are not ONNX's in lower case."""
_TENSOR = re.compile(r"tensor\((\w+)\)")
_SEQUENCE = re.compile(r"seq\((.+)\)")
_OPTIONAL = re.compile(r"optional\((.+)\)")
_MAP = re.compile(r"map\((\w+),(.+)\)")


def ends(path: Path, custom_ops: Sequence[str] = ()) -> ModelProto:
    """A model of the inputs and outputs that ONNX Runtime reports, without any node; ExportError
    where it does not open the file."""
    _need(path.name)
    try:
        session = opened(path, custom_ops)
    except Exception as error:
        raise ExportError(
            f"{path.name} cannot be loaded ({plain(error)})", "check the file, or convert it again"
        ) from error
    graph = GraphProto(name=path.stem)
    graph.input.extend(_values(session.get_inputs()))
    graph.output.extend(_values(session.get_outputs()))
    return ModelProto(ir_version=10, graph=graph)


def declare_outputs(path: Path, model: ModelProto, custom_ops: Sequence[str] = ()) -> None:
    """Give outputs that the file declares no type for those that ONNX Runtime infers."""
    if all(value.type.WhichOneof("value") for value in model.graph.output):
        return
    outputs_by_name = {value.name: value for value in ends(path, custom_ops).graph.output}
    for value in model.graph.output:
        if not value.type.WhichOneof("value") and value.name in outputs_by_name:
            value.type.CopyFrom(outputs_by_name[value.name].type)


def _need(label: str) -> None:
    if find_spec("onnxruntime") is None:
        raise MissingPackage(
            f"{label} is for ONNX Runtime, not installed here", "pip install 'graphlap[cpu]'"
        )


def _values(arguments: Iterable[NodeArg]) -> Iterable[ValueInfoProto]:
    for argument in arguments:
        yield helper.make_value_info(argument.name, _type(argument.type, argument.shape))


def _type(text: str, shape: Sequence[int | str | None]) -> TypeProto:
    """The type that ONNX Runtime writes as `seq(map(int64,tensor(float)))`."""
    if match := _SEQUENCE.fullmatch(text):
        return helper.make_sequence_type_proto(_type(match[1], shape))
    if match := _OPTIONAL.fullmatch(text):
        return helper.make_optional_type_proto(_type(match[1], shape))
    if match := _MAP.fullmatch(text):
        return helper.make_map_type_proto(_element(match[1]), _type(match[2], ()))
    match = _TENSOR.fullmatch(text)
    element = _element(match[1]) if match else TensorProto.UNDEFINED
    return helper.make_tensor_type_proto(element, list(shape))


def _element(name: str) -> int:
    return int(TensorProto.DataType.Value(_ELEMENTS.get(name, name.upper())))
