"""The step from a torch module to its float32 graph: exported, checked, run beside it, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exporters.agreement import difference
from exporters.inputs import seeded_inputs
from exporters.made import Made
from exporters.points import Point
from exporters.pyt.run import ModuleEvaluator
from exporters.types import Definition, TensorSpec
from exporters.validate import check_file, check_numbers

MODEL = "model"
WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """What is kept beside the graph; the counts are as `ExportedModel` has them."""

    opset: int
    outputs: tuple[TensorSpec, ...]
    parameters: int
    parameters_with_buffers: int
    macs: int | None


def exported(
    folder: Path, definition: Definition, evaluator: ModuleEvaluator, keep_weights: bool
) -> Made:
    """The graph, with `keep_weights` the module's weights too.

    ExportError if torch cannot export the module, or if the graph is not what it is.
    """
    import torch

    from exporters.pyt.counts import macs, parameter_counts
    from exporters.pyt.to_onnx import OPSET, deterministic_bytes, output_shapes, to_onnx
    from exporters.pyt.weights import save_weights

    module = evaluator.module
    points = checked_points(definition)
    inputs = [seeded_inputs(definition.inputs, point, seed=0) for point in points]
    expected = [
        evaluator.outputs(arrays, point) for arrays, point in zip(inputs, points, strict=True)
    ]
    seen = [[array.shape for array in arrays.values()] for arrays in expected]
    shapes = output_shapes(definition.outputs, points, seen)
    parameters, with_buffers = parameter_counts(module)
    default = seeded_inputs(definition.inputs, definition.axes, seed=0).values()
    facts = GraphFacts(
        opset=OPSET,
        outputs=tuple(
            TensorSpec(name, array.dtype.name, shapes[name]) for name, array in expected[0].items()
        ),
        parameters=parameters,
        parameters_with_buffers=with_buffers,
        macs=macs(module, [torch.from_numpy(array) for array in default]),
    )
    path = folder / "model.onnx"
    path.write_bytes(deterministic_bytes(to_onnx(definition, module, shapes)))
    check_file(path)
    # What draws anew in each run can be compared with nothing, and its rows will say so.
    if evaluator.is_repeatable or _repeats(evaluator, inputs[0], points[0], expected[0]):
        check_numbers(path, definition.name, list(zip(inputs, expected, strict=True)))
    files = {MODEL: path}
    if keep_weights:
        files[WEIGHTS] = folder / "weights.safetensors"
        save_weights(module, files[WEIGHTS])
    return Made(files, facts)


def _repeats(
    evaluator: ModuleEvaluator,
    inputs: Mapping[str, np.ndarray],
    point: Point,
    expected: Mapping[str, np.ndarray],
) -> bool:
    again = evaluator.outputs(inputs, point)
    return all(difference(again[name], array).unequal == 0 for name, array in expected.items())


def checked_points(definition: Definition) -> tuple[Point, Point]:
    """Two points at which a graph is compared with its module, neither of them the traced one.

    Batch 1 and 3, and other axes at half and at a little more than their default. No two
    axes have one size in the second, so that each output dimension tells whose it is.
    """
    smaller = {name: max(1, size // 2) for name, size in definition.axes.items()}
    larger = {name: size + 2 + place for place, (name, size) in enumerate(definition.axes.items())}
    return smaller, larger
