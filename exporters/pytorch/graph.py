"""The step from a torch module to its graph: exported, checked, run beside it, counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exporters.agreement import difference, tolerance_of
from exporters.inputs import NO_EXAMPLES, Arrays, seeded_inputs
from exporters.onnx_files.counts import arithmetic
from exporters.pytorch.module import ModuleEvaluator
from exporters.source import Counts, Point
from exporters.types import Definition, ExportError, Made, TensorSpec
from exporters.validation import Numbers, check_file, check_numbers

if TYPE_CHECKING:
    from exporters.pytorch.to_onnx import Exporter

MODEL = "model"
WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """What is kept beside the graph.

    `runs` is False where ONNX Runtime's CPU provider lacks a kernel, so that the graph could
    not be run beside its module. `is_disputed` says that ONNX Runtime gave other outputs than
    the module and ONNX's evaluator, which agree. `written_inputs` are those that the module
    writes to.
    """

    opset: int
    outputs: tuple[TensorSpec, ...]
    counts: Counts
    runs: bool
    written_inputs: tuple[str, ...] = ()
    is_disputed: bool = False


def exported(
    folder: Path,
    definition: Definition,
    evaluator: ModuleEvaluator,
    keep_weights: bool,
    examples: Arrays,
    exporter: Exporter,
) -> Made:
    """The graph, with `keep_weights` the module's weights too.

    ExportError if torch cannot export the module, or if the graph is not what it is.
    """
    import torch

    from exporters.pytorch.counts import macs, parameter_counts
    from exporters.pytorch.module import save_weights
    from exporters.pytorch.to_onnx import (
        OPSET,
        output_shapes,
        to_onnx,
        traced_axes,
    )

    def feeds_at(point: Point) -> dict[str, np.ndarray]:
        return seeded_inputs(definition.inputs, point, 0, examples)

    points, expected = _trace_outputs(definition, evaluator, feeds_at)
    example_shapes = [[array.shape for array in arrays.values()] for arrays in expected]
    shapes = output_shapes(definition.outputs, points, example_shapes)
    default = feeds_at(definition.axes).values()
    outputs = tuple(
        TensorSpec(name, array.dtype.name, shapes[name]) for name, array in expected[0].items()
    )
    path = folder / "model.onnx"
    example = feeds_at(traced_axes(definition)) if examples else NO_EXAMPLES
    proto = to_onnx(definition, evaluator.flat, shapes, example, exporter)
    path.write_bytes(proto.SerializeToString(deterministic=True))
    check_file(path)
    inputs = [feeds_at(point) for point in points]
    # What draws anew in each run can be compared with nothing, and its rows will say so.
    repeats = evaluator.is_repeatable
    if not repeats:
        again = evaluator.outputs(inputs[0], points[0])
        repeats = all(not difference(again[n], a).unequal for n, a in expected[0].items())
    types = arithmetic(proto)
    tolerance = tolerance_of([types.narrowest], types.depth, outputs)
    numbers = Numbers(runs=True)
    if repeats:
        seen_at = list(zip(inputs, expected, strict=True))
        numbers = check_numbers(path, definition.name, seen_at, tolerance)
    facts = GraphFacts(
        opset=OPSET,
        outputs=outputs,
        counts=Counts(
            *parameter_counts(evaluator.module),
            macs(evaluator.flat, [torch.from_numpy(array) for array in default]),
        ),
        runs=numbers.runs,
        is_disputed=numbers.is_disputed,
        written_inputs=tuple(sorted(evaluator.written_inputs)),
    )
    files = {MODEL: path}
    if keep_weights:
        files[WEIGHTS] = folder / "weights.safetensors"
        save_weights(evaluator.module, files[WEIGHTS])
    return Made(files, facts)


def checked_points(definition: Definition) -> tuple[Point, ...]:
    """Points at which a graph is compared with its module, none of them the traced one.

    First batch 1 and 3, and other axes at half and at a little more than their default; then
    some for modules that take no fewer or no more. No two axes have one size in any but the
    first, so that each output dimension tells whose it is.
    """
    axes = definition.axes
    return (
        {name: max(1, size // 2) for name, size in axes.items()},
        {name: size + 2 + place for place, (name, size) in enumerate(axes.items())},
        {name: 2 * size + 3 + place for place, (name, size) in enumerate(axes.items())},
        {name: max(1, size - 1 - place) for place, (name, size) in enumerate(axes.items())},
    )


def _trace_outputs(
    definition: Definition,
    evaluator: ModuleEvaluator,
    fed: Callable[[Point], Mapping[str, np.ndarray]],
) -> tuple[tuple[Point, Point], list[dict[str, np.ndarray]]]:
    """The first two points that the module takes, and its outputs there.

    Without axes there is one point, told twice. ExportError if it takes only one.
    """
    if not definition.axes:
        return ({}, {}), [evaluator.outputs(fed({}), {})] * 2
    taken: list[tuple[Point, dict[str, np.ndarray]]] = []
    fault: ExportError | None = None
    for point in checked_points(definition):
        try:
            taken.append((point, evaluator.outputs(fed(point), point)))
        except ExportError as error:
            fault = fault or error
        if len(taken) == 2:
            (first, at_first), (second, at_second) = taken
            return (first, second), [at_first, at_second]
    assert fault is not None
    raise fault
