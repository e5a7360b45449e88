"""Export of a torch module to an ONNX file: opset 20, IR 10, every declared axis symbolic, the
strategies in order, and the user's line that failed.
"""

from __future__ import annotations

import json
import linecache
import logging
import re
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import onnx
from onnx import ModelProto

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.inputs import NO_EXAMPLES, Arrays
from exporters.onnx_files.graph import graphs_of
from exporters.source import Point
from exporters.types import (
    Definition,
    ExportError,
    TensorSpec,
    axes_key,
    causes,
    deepest,
    first_line,
)

if TYPE_CHECKING:
    import torch
    from torch import nn


_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PACKAGE_FOLDER = Path(__file__).parents[1]
_EXPORTING = ("torch", "onnxscript", "onnx", "onnx_ir")
"""Packages whose own lines tell a user nothing."""


def where_of_user(error: BaseException) -> str:
    """` at FILE:LINE, SOURCE` of the innermost line that is neither torch's nor ours, or ''."""
    user_places = [place for place in _places(error) if _is_users(place[0])]
    if not user_places:
        return ""
    file, line = user_places[-1]
    source = linecache.getline(file, line).strip()
    return f" at {Path(file).name}:{line}{f', {source}' if source else ''}"


def _places(error: BaseException) -> Iterator[tuple[str, int]]:
    """Frames of the error and of those that led to it, and those that their texts quote."""
    for current in causes(error):
        for frame in traceback.extract_tb(current.__traceback__):
            yield frame.filename, frame.lineno or 0
        for match in _FRAME.finditer(str(current)):
            yield match["file"], int(match["line"])


def _is_users(file: str) -> bool:
    path = Path(file)
    if not path.is_file() or path.is_relative_to(_PACKAGE_FOLDER):
        return False
    if path.is_relative_to(sysconfig.get_paths()["stdlib"]) and "site-packages" not in path.parts:
        return False
    return not any(package in path.parts for package in _EXPORTING)


Exporter = Literal["new", "old"]
"""Which of torch's two: torch.export with a translation, or the older tracing one."""

OPSET = 20
IR_VERSION = 10

_NO_SIZE_LIMIT = 2**62


def traced_axes(definition: Definition) -> dict[str, int]:
    """The axes' defaults, but 2 in place of 1: torch specialises on 0 and 1."""
    return {name: max(2, size) for name, size in definition.axes.items()}


def to_onnx(
    definition: Definition,
    module: nn.Module,
    output_shapes: Mapping[str, tuple[int | str, ...]],
    example: Arrays = NO_EXAMPLES,
    exporter: Exporter = "new",
) -> ModelProto:
    """Export the module; ExportError if it cannot be, or if a declared axis came out fixed.

    `output_shapes` are the shapes that the module's own outputs were seen to have: torch
    writes the size it traced with into some of them. `example` are inputs that mean something
    to the module, at `traced_axes`; zeros where there is none.
    """
    import torch

    axes = traced_axes(definition)
    tensors = tuple(
        torch.from_numpy(example[spec.name])
        if spec.name in example
        else torch.zeros(spec.shape_at(axes), dtype=getattr(torch, spec.dtype))
        for spec in definition.inputs
    )
    with _torch_quiet():
        try:
            model = _EXPORTERS[exporter](definition, module, tensors)
        except Exception as error:
            raise ExportError(
                f"torch cannot export {definition.name} ({first_line(deepest(error))}"
                f"{where_of_user(error)})",
                "write that part so that torch.onnx.export takes it",
            ) from error
    _name_axes(model, definition)
    _set_output_shapes(model, output_shapes)
    _keep_only_our_metadata(model, definition)
    return model


def _by_the_new(
    definition: Definition, module: nn.Module, example: tuple[torch.Tensor, ...]
) -> ModelProto:
    """torch.export's program, translated; torch's own errors."""
    import torch
    from onnxscript.optimizer import optimize

    from exporters.pytorch.translations import translations

    dynamic = [
        dict.fromkeys(_open_dimensions(spec), torch.export.Dim.AUTO) for spec in definition.inputs
    ]
    program = torch.onnx.export(
        module,
        example,
        dynamo=True,
        opset_version=OPSET,
        dynamic_shapes=_like_signature(module, dynamic),
        input_names=[spec.name for spec in definition.inputs],
        output_names=list(definition.outputs),
        custom_translation_table=dict(translations(module)),
        verbose=False,
    )
    assert program is not None
    # Weights that the translation reorders are reordered here, not on every run.
    optimize(
        program.model,
        input_size_limit=_NO_SIZE_LIMIT,
        output_size_limit=_NO_SIZE_LIMIT,
    )
    model: ModelProto = program.model_proto
    return model


def _by_the_old(
    definition: Definition, module: nn.Module, example: tuple[torch.Tensor, ...]
) -> ModelProto:
    """What torch's tracing exporter makes; it takes some modules that the new one does not."""
    import torch

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        torch.onnx.export(
            module,
            example,
            path,
            dynamo=False,
            opset_version=OPSET,
            dynamic_axes={
                spec.name: {place: str(spec.shape[place]) for place in _open_dimensions(spec)}
                for spec in definition.inputs
            },
            input_names=[spec.name for spec in definition.inputs],
            output_names=list(definition.outputs),
        )
        return onnx.load(path)


_EXPORTERS: Mapping[Exporter, Callable[..., ModelProto]] = {
    "new": _by_the_new,
    "old": _by_the_old,
}


def _open_dimensions(spec: TensorSpec) -> list[int]:
    return [place for place, size in enumerate(spec.shape) if isinstance(size, str)]


def output_shapes(
    names: Sequence[str],
    points: tuple[Mapping[str, int], Mapping[str, int]],
    example_shapes: Sequence[Sequence[tuple[int, ...]]],
) -> dict[str, tuple[int | str, ...]]:
    """Which axis each output dimension follows, from the shapes seen at two points.

    Every axis must differ between the points, and from the other axes in the second;
    ExportError for a dimension that changes without being any axis.
    """
    smaller, larger = points
    shapes: dict[str, tuple[int | str, ...]] = {}
    for name, first, second in zip(names, *example_shapes, strict=True):
        dimensions: list[int | str] = []
        for position, sizes in enumerate(zip(first, second, strict=True)):
            matching_axes = [axis for axis in larger if sizes == (smaller[axis], larger[axis])]
            if sizes[0] != sizes[1] and not matching_axes:
                sizes_seen = f"{sizes[0]} at {axes_key(smaller)}, {sizes[1]} at {axes_key(larger)}"
                raise ExportError(
                    f"dimension {position} of output {name!r} changes with the axes but is not one "
                    f"of them ({sizes_seen})",
                    "return outputs whose sizes are fixed or equal to an axis",
                )
            dimensions.append(matching_axes[0] if matching_axes else sizes[0])
        shapes[name] = tuple(dimensions)
    return shapes


def _like_signature(module: nn.Module, dynamic: list[dict[int, Any]]) -> tuple[Any, ...]:
    """The axes per tensor, nested as forward's parameters are: *args is one of them."""
    import inspect

    parameters = inspect.signature(module.forward).parameters.values()
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return (*dynamic[: len(positional)], tuple(dynamic[len(positional) :]))
    return tuple(dynamic)


def _name_axes(model: ModelProto, definition: Definition) -> None:
    """Give torch's symbols the declared names; ExportError where an axis came out fixed.

    A symbol is needed but proves nothing: torch keeps it where a branch has fixed the size,
    and holds an LSTM's free length to be fixed. Running the file at other sizes is the proof.
    """
    axis_of: dict[str, str] = {}
    for value, spec in zip(model.graph.input, definition.inputs, strict=True):
        dimensions = value.type.tensor_type.shape.dim
        for position, size in enumerate(spec.shape):
            if not isinstance(size, str):
                continue
            symbol = dimensions[position].dim_param
            if not symbol:
                raise ExportError(
                    f"axis {size!r} of {definition.name} came out fixed in input {spec.name!r}",
                    "remove what makes the module depend on that size",
                )
            if axis_of.setdefault(symbol, size) != size:
                raise ExportError(
                    f"torch holds the axes {axis_of[symbol]!r} and {size!r} of "
                    f"{definition.name} to be one",
                    "declare them as one axis",
                )
            dimensions[position].dim_param = size


def _set_output_shapes(model: ModelProto, shapes: Mapping[str, tuple[int | str, ...]]) -> None:
    for value in model.graph.output:
        dimensions = value.type.tensor_type.shape
        dimensions.Clear()
        for size in shapes[value.name]:
            if isinstance(size, str):
                dimensions.dim.add().dim_param = size
            else:
                dimensions.dim.add().dim_value = size


def _keep_only_our_metadata(model: ModelProto, definition: Definition) -> None:
    """Source paths, pass records and guessed inner shapes go; what a reader needs comes."""
    for graph in graphs_of(model.graph):
        graph.ClearField("metadata_props")
        graph.ClearField("doc_string")
        graph.ClearField("value_info")
        for part in (*graph.node, *graph.input, *graph.output, *graph.initializer):
            part.ClearField("metadata_props")
            part.ClearField("doc_string")
    model.graph.name = definition.name
    model.ClearField("doc_string")
    model.ir_version = IR_VERSION
    model.producer_name = "graphlap"
    model.ClearField("producer_version")
    model.ClearField("metadata_props")
    metadata = {
        "graphlap.name": definition.name,
        "graphlap.definition": json.dumps(
            {
                "target": definition.factory.target.rpartition("/")[2],
                "arguments": definition.factory.arguments,
                "seed": definition.factory.seed,
            },
            sort_keys=True,
        ),
        "graphlap.axes": json.dumps(dict(definition.axes)),
        "graphlap.states": json.dumps([[pair.input, pair.output] for pair in definition.states]),
    }
    onnx.helper.set_model_props(model, metadata)


@contextmanager
def _torch_quiet() -> Iterator[None]:
    """Hide torch's warnings about its own inner workings while it exports."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@dataclass(frozen=True, slots=True)
class Way:
    """Which of torch's exporters, and whether the graph has its sizes `fixed`."""

    exporter: Exporter
    fixed: bool


WAYS = (Way("new", False), Way("new", True), Way("old", False), Way("old", True))


def at_point(definition: Definition, point: Point) -> Definition:
    """The definition with its sizes baked in, no axis left."""
    sizes = {**definition.axes, **point}
    inputs = tuple(replace(spec, shape=spec.shape_at(sizes)) for spec in definition.inputs)
    return replace(definition, inputs=inputs, axes={})


def told(way: Way, faults: Mapping[Way, ExportError]) -> tuple[Diagnostic, ...]:
    """What the rows should say of the way that worked, after those that did not."""
    warnings = []
    if way.fixed:
        warnings.append(diagnostic("sizes_fixed", error=faults[Way("new", False)].cause))
    if way.exporter == "old":
        warnings.append(diagnostic("old_exporter", error=faults[Way("new", way.fixed)].cause))
    return tuple(warnings)


def nearest(faults: Mapping[Way, ExportError]) -> ExportError:
    """Of a module that no way takes: what is in the way of the new exporter at one size."""
    return faults.get(Way("new", True)) or faults[Way("new", False)]
