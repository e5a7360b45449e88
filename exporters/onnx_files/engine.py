"""Engines that run a user's file as it is written: ONNX Runtime, also asked for inputs and outputs,
and where it is installed OpenVINO, in a process of its own.

Engines are imported in child processes alone, where all of this runs. OpenVINO is asked where ONNX
Runtime and ONNX's evaluator leave a graph without two that agree.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto, helper

from exporters.agreement import Arrays
from exporters.install_layout import command, run_child
from exporters.types import ExportError, MissingPackage, TensorSpec, first_line
from exporters.validation import EVALUATOR_LIMIT_S, TooSlow

if TYPE_CHECKING:
    import onnxruntime


WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_LOG_FATAL = 4


def opened(
    model: Path | bytes,
    custom_ops: Sequence[str],
    entries: Mapping[str, str] | None = None,
    recording: Path | None = None,
) -> onnxruntime.InferenceSession:
    """A session that runs the graph as it is written; `entries` are session settings by key.

    Each kernel that it runs is recorded in a file whose name begins with `recording`.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _LOG_FATAL
    options.intra_op_num_threads = os.cpu_count() or 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if recording is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(recording)
    for key, value in (entries or {}).items():
        options.add_session_config_entry(key, value)
    register_operators(options, custom_ops)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def register_operators(options: onnxruntime.SessionOptions, libraries: Sequence[str]) -> None:
    """Make the operators of these libraries known to a session; ExportError if one is none."""
    for library in libraries:
        try:
            options.register_custom_ops_library(library)
        except Exception as error:
            raise ExportError(
                f"ONNX Runtime cannot take the operators of {Path(library).name} ({plain(error)})",
                "give --custom-ops a library built for this ONNX Runtime",
            ) from error


_OF_NUMPY = (ValueError, TypeError, AttributeError, AssertionError, ArithmeticError)


def plain(error: Exception) -> str:
    """What an engine complains of; of ONNX's evaluator no text of numpy, which it is written in."""
    if isinstance(error, IndexError):
        return "an index is out of range"
    if isinstance(error, _OF_NUMPY):
        return "its inputs are of sizes or values that it does not take"
    return first_line(error).rstrip(".")


def give(graph: GraphProto, names: Iterable[str]) -> None:
    """Make these values outputs too; ONNX Runtime infers the types."""
    known = {value.name for value in graph.output}
    for name in (name for name in dict.fromkeys(names) if name not in known):
        graph.output.add(name=name)


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


def _values(arguments: Iterable[onnxruntime.NodeArg]) -> Iterable[ValueInfoProto]:
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


_MODULE = "runtimes.openvino.reference"


def is_installed() -> bool:
    """Whether this environment has OpenVINO; it is not imported."""
    return find_spec("openvino") is not None


def by_openvino(path: Path, inputs: Arrays, outputs: Sequence[TensorSpec]) -> Arrays:
    """The outputs by name; NotImplementedError for what it refuses, TooSlow after the limit."""
    if any(spec.element or spec.owner or np.dtype(spec.dtype).kind in "UO" for spec in outputs):
        raise NotImplementedError("its outputs are not of a type that is asked of it")
    if any(array.dtype.kind in "UO" for array in inputs.values()):
        raise NotImplementedError("texts are not given to it")
    names = {"inputs": list(inputs), "outputs": {spec.name: spec.dtype for spec in outputs}}
    with tempfile.TemporaryDirectory() as folder:
        given_file, computed_file = Path(folder, "inputs.npz"), Path(folder, "outputs.npz")
        np.savez(given_file, *inputs.values())
        try:
            process = run_child(
                command(_MODULE, str(path), str(given_file), str(computed_file)),
                f"{json.dumps(names)}\n",
                time_limit_s=EVALUATOR_LIMIT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise TooSlow(f"it took longer than {EVALUATOR_LIMIT_S:g} s") from error
        if process.returncode:
            last_lines = process.stderr.strip().splitlines()[-1:]
            raise NotImplementedError(last_lines[0] if last_lines else "its process ended")
        with np.load(computed_file) as stored:
            return {spec.name: stored[f"arr_{n}"] for n, spec in enumerate(outputs)}
