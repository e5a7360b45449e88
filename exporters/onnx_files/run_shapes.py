"""Multiply-accumulates from the shapes that one run has, where inference knows too few."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import NodeProto
from onnx.inliner import inline_local_functions

from exporters.engine_values import input_values
from exporters.inputs import cast_inputs
from exporters.onnx_files.counts import total_macs
from exporters.onnx_files.evaluator import WEIGHTS_FOLDER, opened
from exporters.onnx_files.graph import ShapeConflict, inferred, known_shapes
from exporters.onnx_files.products import node_macs
from exporters.types import Made, TensorSpec, load_reference

_AT_ONCE = 64
"""Values that one run gives beside its outputs, so that they need not all be held together."""
MACS = "macs"


def counted(
    folder: Path,
    graph: Path,
    reference: str,
    inputs: tuple[TensorSpec, ...],
    custom_ops: tuple[str, ...],
) -> Made:
    """The step: the multiply-accumulates of a run on the inputs of a reference's file; None if the
    run fails, or some product has no formula."""
    try:
        return Made({}, {MACS: _macs(graph, reference, inputs, custom_ops)})
    except Exception:  # of the engine, which may refuse what another one runs
        return Made({}, {MACS: None})


def _macs(
    path: Path, reference: str, inputs: tuple[TensorSpec, ...], custom_ops: tuple[str, ...]
) -> int | None:
    model = onnx.load(path, load_external_data=False)
    if model.functions:
        model = inline_local_functions(model)
    arrays = load_reference(reference).inputs
    point = {
        size: arrays[spec.name].shape[place]
        for spec in inputs
        for place, size in enumerate(spec.shape)
        if isinstance(size, str) and spec.name in arrays
    }
    try:
        values = inferred(model, point)
    except ShapeConflict:
        values = {}
    shapes = dict(known_shapes(values))
    shapes |= {name: array.shape for name, array in arrays.items()}
    unknown = dict.fromkeys(
        name
        for node in model.graph.node
        if node_macs(node, shapes) is None
        for name in _tensors(node)
        if name not in shapes
    )
    given = {value.name for value in model.graph.output}
    feeds = input_values(inputs, cast_inputs(arrays, inputs))
    entries = {WEIGHTS_FOLDER: str(path.parent)}
    wanted = list(unknown)
    for start in range(0, len(wanted), _AT_ONCE):
        names = wanted[start : start + _AT_ONCE]
        part = onnx.ModelProto()
        part.CopyFrom(model)
        for name in names:
            if name not in given:
                part.graph.output.add(name=name)
        session = opened(part.SerializeToString(), custom_ops, entries)
        for name, value in zip(names, session.run_with_ort_values(names, feeds), strict=True):
            if value.is_tensor():
                shapes[name] = tuple(value.shape())
    return total_macs(model, values, shapes)


def _tensors(node: NodeProto) -> list[str]:
    return [name for name in (*node.input, *node.output) if name]
