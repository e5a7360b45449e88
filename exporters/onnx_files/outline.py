"""Outline process: the inputs and open axes of a user's .onnx with sizes for them, read without
its weights.

`python -m exporters.onnx_files.outline`: `OutlineRequest` lines in, `OutlineReply` lines out.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from google.protobuf.message import DecodeError
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from exporters.child_setup import requests_and_replies
from exporters.codec import from_json, to_json
from exporters.messages import Outline, OutlineReply, OutlineRequest, with_sums
from exporters.onnx_files.ends import has_shape
from exporters.onnx_files.graph import ShapeConflict, inferred, part
from exporters.onnx_files.input_roles import SLIDING_NAME
from exporters.onnx_files.model_io import (
    batch_of,
    check_whole,
    fields,
    input_specs,
    inspect,
    name_open_dimensions,
    open_axes,
    read,
    sequence_of,
)
from exporters.types import ExportError, GraphlapError, TensorSpec, is_engine_format

# Field numbers of onnx.proto: ModelProto, GraphProto, SparseTensorProto, TensorProto.
_IR_VERSION, _GRAPH, _OPSET_IMPORT, _FUNCTIONS = 1, 7, 8, 25
_NODE, _GRAPH_NAME, _INPUT, _OUTPUT, _VALUE_INFO = 1, 2, 11, 12, 13
_INITIALIZER, _SPARSE_INITIALIZER = 5, 15
_VALUES = 1
_TENSOR, _TENSOR_FACTS = range(1, 64), (1, 2, 8)
"""All of a tensor, and its sizes, type and name."""
_WHOLE_TENSOR_BYTES = 16 << 10
"""Constants up to this size keep their values."""
_LARGEST_BYTES = 256 << 20
"""Of a skeleton; a graph with more text than this is refused."""


def read_skeleton(path: Path, inputs_only: bool = False) -> ModelProto:
    """The graph without the values of its large constants; with `inputs_only` no more than its
    inputs and the names of all constants. ExportError if it is damaged."""
    check_whole(path)
    try:
        with path.open("rb") as file:
            return _skeleton(file, path.stat().st_size, inputs_only)
    except (EOFError, DecodeError, ValueError):
        raise ExportError(f"{path.name} is not a readable ONNX file", "export it again") from None


def _skeleton(file: BinaryIO, size: int, inputs_only: bool) -> ModelProto:
    parts = (_INPUT, *(() if inputs_only else (_NODE, _GRAPH_NAME, _OUTPUT, _VALUE_INFO)))
    whole_bytes = 0 if inputs_only else _WHOLE_TENSOR_BYTES
    model = ModelProto.FromString(_kept(file, 0, size, (_IR_VERSION, _OPSET_IMPORT, _FUNCTIONS)))
    left_bytes = _LARGEST_BYTES
    for number, _, begin, end in fields(file, 0, size):
        if number != _GRAPH:
            continue
        model.graph.MergeFromString(_kept(file, begin, end, parts))
        for tensor_begin, tensor_end in _constants(file, begin, end, inputs_only):
            is_whole = tensor_end - tensor_begin <= whole_bytes
            tensor = _kept(file, tensor_begin, tensor_end, _TENSOR if is_whole else _TENSOR_FACTS)
            left_bytes -= len(tensor)
            if left_bytes < 0:
                raise EOFError
            model.graph.initializer.add().MergeFromString(tensor)
    return model


def _constants(file: BinaryIO, begin: int, end: int, has_sparse: bool) -> Iterator[tuple[int, int]]:
    """Where the tensors of a graph's constants lie, those of sparse ones without their indices."""
    for number, _, content, field_end in fields(file, begin, end):
        if number == _INITIALIZER:
            yield content, field_end
        elif number == _SPARSE_INITIALIZER and has_sparse:
            for part, _, values, values_end in fields(file, content, field_end):
                if part == _VALUES:
                    yield values, values_end


def _kept(file: BinaryIO, begin: int, end: int, numbers: Container[int]) -> bytes:
    """The fields of these numbers, as they stand in the file."""
    kept = bytearray()
    for number, field_begin, _, field_end in fields(file, begin, end):
        if number in numbers:
            if len(kept) + field_end - field_begin > _LARGEST_BYTES:
                raise EOFError
            file.seek(field_begin)
            kept += file.read(field_end - field_begin)
    return bytes(kept)


BATCH, SEQUENCE, IMAGE_SIDE = 1, 128, 224
SEARCH_S = 5.0
"""So long other sizes are tried where the usual ones do not fit together."""
_LARGEST_CANDIDATE = 4096
_MOST_CANDIDATES = 24

_BATCH_NAME = re.compile(r"^(n|b|bs|batch.*|.*[_.]batch|.*batch_?size)$", re.IGNORECASE)
_SEQUENCE_NAME = re.compile(
    r"seq|len|time|token|frame|step|past|context|word|text|audio|sample|^[tls]$", re.IGNORECASE
)
_SIDE_NAME = re.compile(r"height|width|^[hw]$|(^|_)[hw]($|_)|side|resolution", re.IGNORECASE)
_TOTAL_NAME = re.compile(r"total", re.IGNORECASE)
_PAST_NAME = re.compile(r"past|cache", re.IGNORECASE)

Dims = tuple[int | str | None, ...]


def sums(axes: Sequence[str], sequence: str) -> dict[str, tuple[str, ...]]:
    """Axes that are sums: each with its addends, which are other axes or numbers.

    A name says so itself (`past + 1`), or is the total of a past and of the `sequence`.
    """
    totals: dict[str, tuple[str, ...]] = {}
    for axis in axes:
        addends = tuple(term.strip() for term in axis.split("+"))
        if len(addends) > 1 and all(term in axes or term.isdecimal() for term in addends):
            totals[axis] = addends
    past_axes = [name for name in axes if _PAST_NAME.search(name) and name not in totals]
    total_axis = min(past_axes, key=_is_secondary_cache, default="")
    for axis in axes:
        if axis in totals or not _TOTAL_NAME.search(axis) or not total_axis:
            continue
        rest = _TOTAL_NAME.sub("", axis).strip("_")
        current = rest if rest in axes else sequence
        if current and current not in (axis, total_axis):
            totals[axis] = (total_axis, current)
    return totals


def _is_secondary_cache(axis: str) -> tuple[bool, bool]:
    """Whether the axis is that of a sliding window, or does not count what is past."""
    return bool(SLIDING_NAME.search(axis)), "past" not in axis.lower()


def assumed_sizes(
    inputs: Sequence[TensorSpec], axes: Sequence[str], batch: str, sequence: str, model: ModelProto
) -> dict[str, int]:
    """A size for each axis that has one, those that are sums among them."""
    totals = sums(axes, sequence)
    free = [axis for axis in axes if axis not in totals]
    usual = {axis: _usual(axis, inputs, batch, sequence) for axis in free}
    inferred_sizes = _infer_sizes(model, {axis for axis in free if usual[axis] == BATCH})
    sizes = {
        axis: size for axis in free if (size := inferred_sizes.get(axis, usual[axis])) is not None
    }
    if len(sizes) < len(free):
        return with_sums(sizes, totals)
    movable = [axis for axis in free if axis not in inferred_sizes]
    return with_sums(_fitting(model, sizes, totals, movable), totals)


def _usual(axis: str, inputs: Sequence[TensorSpec], batch: str, sequence: str) -> int | None:
    """The usual size of what this axis counts: by its name, else by its place in the inputs."""
    if _BATCH_NAME.search(axis):
        return BATCH
    if axis == sequence or _SEQUENCE_NAME.search(axis):
        return SEQUENCE
    if _SIDE_NAME.search(axis):
        return IMAGE_SIDE
    if axis == batch:
        return BATCH
    places = [
        (spec, place) for spec in inputs for place, size in enumerate(spec.shape) if size == axis
    ]
    if places and all(place == 0 and len(spec.shape) > 1 for spec, place in places):
        return BATCH
    return next(filter(None, (_by_place(spec, place) for spec, place in places)), None)


def _by_place(spec: TensorSpec, place: int) -> int | None:
    """What a dimension of such an input usually counts."""
    shape = spec.shape
    if len(shape) == 2 and place == 1:
        return SEQUENCE if np.dtype(spec.dtype).kind in "iub" else None
    if len(shape) == 3:
        if place == 1:
            return SEQUENCE if isinstance(shape[2], int) else None
        return SEQUENCE if place == 2 and isinstance(shape[1], int) else None
    if len(shape) == 4:
        is_last = isinstance(shape[3], int) and shape[3] <= 4 and place in (1, 2)
        if is_last or (place in (2, 3) and isinstance(shape[3], str)):
            return IMAGE_SIDE
        return SEQUENCE if place == 2 else None
    return None


def _infer_sizes(model: ModelProto, batches: Iterable[str]) -> dict[str, int]:
    """The sizes that operators with constants impose; the first one counts for an axis."""
    try:
        values = inferred(model)
    except ShapeConflict:
        return {}
    # Behind operators that ONNX does not define, only what the file declares is known.
    declared = {value.name: value for value in model.graph.value_info}
    dims: dict[str, Dims] = {
        name: tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or None
            for d in value.type.tensor_type.shape.dim
        )
        for name, value in {**declared, **values}.items()
        if value.type.tensor_type.HasField("shape")
    }
    constants = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    targets = _small_integers(model.graph)
    sizes: dict[str, int] = {}
    for node in model.graph.node:
        pairs = _equations(node, dims, constants)
        if node.op_type == "Reshape" and len(node.input) > 1 and node.input[1] in targets:
            pairs = _reshape_equations(
                dims.get(node.input[0], ()), targets[node.input[1]], set(batches)
            )
        for dimension, size in pairs:
            if isinstance(dimension, str):
                sizes.setdefault(dimension, size)
    return sizes


def _equations(
    node: NodeProto, dims: Mapping[str, Dims], constants: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[int | str | None, int]]:
    """Pairs of a dimension of an input and the size that a constant of the node gives it."""
    shapes = [dims.get(name, ()) for name in node.input]
    constant_inputs = [constants.get(name, ()) for name in node.input]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    match node.op_type:
        case "Conv" | "ConvInteger" if len(shapes[0]) > 1 and len(constant_inputs[1]) > 1:
            yield shapes[0][1], constant_inputs[1][1] * attributes.get("group", 1)
        case "ConvTranspose" if len(shapes[0]) > 1 and constant_inputs[1]:
            yield shapes[0][1], constant_inputs[1][0]
        case "MatMul" | "MatMulInteger":
            if shapes[0] and len(constant_inputs[1]) > 1:
                yield shapes[0][-1], constant_inputs[1][-2]
            if len(shapes[1]) > 1 and constant_inputs[0]:
                yield shapes[1][-2], constant_inputs[0][-1]
        case "Gemm" if len(shapes[0]) == 2 and len(constant_inputs[1]) == 2:
            place = 0 if attributes.get("transA", 0) else 1
            yield shapes[0][place], constant_inputs[1][1 if attributes.get("transB", 0) else 0]
        case "LSTM" | "GRU" | "RNN" if len(shapes[0]) == 3 and len(constant_inputs[1]) == 3:
            yield shapes[0][2], constant_inputs[1][2]
        case "BatchNormalization" | "InstanceNormalization" if (
            len(shapes[0]) > 1 and constant_inputs[1]
        ):
            yield shapes[0][1], constant_inputs[1][0]
        case "LayerNormalization" if shapes[0] and constant_inputs[1]:
            yield shapes[0][-1], constant_inputs[1][-1]
        case "GroupQueryAttention" if len(shapes) > 4 and shapes[0] and len(shapes[3]) == 4:
            heads = attributes.get("num_heads", 0)
            if not node.input[1]:  # queries, keys and values are one tensor
                heads += 2 * attributes.get("kv_num_heads", 0)
            if isinstance(width := shapes[0][-1], int) and heads:
                yield shapes[3][3], width // heads
            if attributes.get("sliding_window_cache", 0):
                yield shapes[3][2], attributes.get("local_window_size", 0)
        case "Concat" if len({len(shape) for shape in shapes}) == 1:
            axis = attributes.get("axis", 0) % max(len(shapes[0]), 1)
            for place, sizes in enumerate(zip(*shapes, strict=True)):
                fixed_size = next((size for size in sizes if isinstance(size, int)), None)
                if place != axis and fixed_size is not None:
                    yield from ((size, fixed_size) for size in sizes)
        case "Add" | "Sub" | "Mul" | "Div" if len(shapes) == 2:
            for shape, constant in (
                (shapes[0], constant_inputs[1]),
                (shapes[1], constant_inputs[0]),
            ):
                for dimension, size in zip(reversed(shape), reversed(constant), strict=False):
                    if size > 1:
                        yield dimension, size


def _reshape_equations(
    shape: Dims, target: Sequence[int], batches: set[str]
) -> Iterator[tuple[int | str | None, int]]:
    """The one open dimension of what is reshaped to fixed sizes; a batch beside it counts as 1."""
    names = [d for d in shape if isinstance(d, str)]
    free = [name for name in names if name not in batches] or names
    if len(free) != 1 or None in shape or not all(size > 0 for size in target):
        return
    rest = prod(d for d in shape if isinstance(d, int))
    if rest and prod(target) % rest == 0:
        yield free[0], prod(target) // rest


def _small_integers(graph: GraphProto) -> dict[str, list[int]]:
    """The values of the graph's small integer constants, by name."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                tensors[node.output[0]] = attribute.t
    small = {}
    for name, tensor in tensors.items():
        if prod(tensor.dims) <= 8 and len(tensor.dims) == 1 and tensor.data_type in (6, 7):
            try:
                small[name] = numpy_helper.to_array(tensor).tolist()
            except ValueError:  # its values lie elsewhere
                continue
    return small


def _fitting(
    model: ModelProto,
    sizes: Mapping[str, int],
    totals: Mapping[str, tuple[str, ...]],
    movable: Sequence[str],
) -> dict[str, int]:
    """The sizes if they fit together, else with that one changed with which they do."""
    if _fits(model, with_sums(sizes, totals)):
        return dict(sizes)
    deadline = time.monotonic() + SEARCH_S
    for size in _candidates(model):
        for axis in movable:
            candidate = {**sizes, axis: size}
            if time.monotonic() > deadline:
                return dict(sizes)
            if _fits(model, with_sums(candidate, totals)):
                return candidate
    return dict(sizes)


def _fits(model: ModelProto, point: Mapping[str, int]) -> bool:
    try:
        inferred(model, point)
    except ShapeConflict:
        return False
    return True


def _candidates(model: ModelProto) -> list[int]:
    """Sizes that the graph's constants name, the most frequent first, then powers of two."""
    counts: dict[int, int] = {}
    for tensor in model.graph.initializer:
        for size in tensor.dims:
            counts[size] = counts.get(size, 0) + 1
    for values in _small_integers(model.graph).values():
        for size in values:
            counts[size] = counts.get(size, 0) + 1
    likely = [n for n in sorted(counts, key=lambda n: -counts[n]) if 1 <= n <= _LARGEST_CANDIDATE]
    powers = [2**exponent for exponent in range(13)]
    return list(dict.fromkeys((*likely[:_MOST_CANDIDATES], *powers)))


def outline(request: OutlineRequest) -> Outline:
    """ExportError for a damaged file, for nodes that no part lies between and, looked at closely,
    for missing weights; NotBenchmarkable for inputs that no array can hold.

    What may be wrong elsewhere in the file is found by its export.
    """
    path = Path(request.path)
    is_part = bool(request.from_nodes or request.to_nodes)
    if request.closely or is_part:
        inputs = inspect(path, request.from_nodes, request.to_nodes).inputs
    elif is_engine_format(path):
        model = read(path)
        inputs = input_specs(path, model.graph.input, model)
    else:
        graph_inputs = _inputs(path)
        # The graph itself is read only where an input has to have a shape that it takes.
        is_declared = all(map(has_shape, graph_inputs))
        inputs = input_specs(
            path, graph_inputs, ModelProto() if is_declared else read_skeleton(path)
        )
    axes = open_axes(inputs)
    batch = batch_of(inputs)
    batch = batch if isinstance(batch, str) else ""
    sequence = sequence_of(axes) or ""
    if not axes:
        return Outline(inputs, axes, batch, sequence)
    model = read(path) if is_engine_format(path) else read_skeleton(path)
    if is_part:
        model = part(path.name, model, request.from_nodes, request.to_nodes)
    name_open_dimensions(model, inputs)
    example_sizes = assumed_sizes(inputs, axes, batch, sequence, model)
    return Outline(inputs, axes, batch, sequence, example_sizes, sums(axes, sequence))


def _inputs(path: Path) -> Sequence[ValueInfoProto]:
    graph = read_skeleton(path, inputs_only=True).graph
    # Before IR 4 every initializer is also listed as an input; a constant is none.
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def answer(line: str) -> OutlineReply:
    try:
        return OutlineReply(outline(from_json(OutlineRequest, json.loads(line))))
    except GraphlapError as error:
        return OutlineReply(cause=error.cause, remedy=error.remedy)
    except Exception as error:
        cause = f"the file could not be read ({type(error).__name__}: {error})"
        return OutlineReply(cause=cause, remedy="export it again")


def main() -> None:
    """Serve until standard input ends."""
    requests, reply = requests_and_replies()
    for line in requests:
        reply(to_json(answer(line)))


if __name__ == "__main__":
    main()
