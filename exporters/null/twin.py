"""The null twin of an exported model, as an exported model: graphs, references, facts.

It is fed what the model is fed, and ONNX's evaluator says what it has to give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from exporters.cache import Store
from exporters.codec import to_json
from exporters.diagnostics.catalogue import diagnostic
from exporters.made import Made
from exporters.null.factory import null_factory
from exporters.null.graph import OPSET, null_graph
from exporters.null.recipe import Recipe, recipe
from exporters.points import Point
from exporters.semantics.evaluator import Evaluator
from exporters.steps import Done, done
from exporters.twins import null_of
from exporters.types import (
    ExportedModel,
    FixedGraph,
    NotBenchmarkable,
    Reference,
    TensorSpec,
    axes_key,
    load_reference,
    save_reference,
)
from exporters.validate import check_file

GRAPH, REFERENCE = "graph", "reference"


def null_twin(
    store: Store, model: ExportedModel, points: Sequence[Point]
) -> tuple[ExportedModel, bool]:
    """The twin with a reference for each of the points that the model takes, and whether all of it
    was stored.

    One graph for all points where every open size is one of an input's; else one for each.
    NotBenchmarkable for an output whose sizes only its computation tells, if it was not computed.
    """
    sized = [_sized(model, point) for point in points or ({},) if not model.at(point).unfit_at]
    is_open = all(one.follows for one in sized) and not model.fixed
    if is_open:
        never_read = frozenset().union(*(one.empty for one in sized))
        recipes = [recipe(model.inputs, model.outputs, model.states, never_read)] * len(sized)
    else:
        recipes = [recipe(one.inputs, one.outputs, model.states, one.empty) for one in sized]
    graphs = [_graph(store, model, of) for of in recipes]
    made = [_reference(store, one, graph) for one, graph in zip(sized, graphs, strict=True)]
    paths = [graph.entry.files[GRAPH] for graph in graphs]
    unread = recipes[0].unread
    # One module stands behind all points; a recipe of fixed sizes is for one of them.
    has_module = model.factory is not None and (is_open or len(sized) == 1)
    twin = ExportedModel(
        name=null_of(model.name),
        suite=model.suite,
        family="",
        path=str(paths[0]),
        sha256=paths[0].stem,
        opset=OPSET,
        # There is nothing in it to be narrowed: what goes in and out of such a graph is float32.
        precision=model.precision if model.precision == "fp16" else "fp32",
        inputs=model.inputs,
        outputs=model.outputs,
        axes=model.axes,
        references={
            axes_key(one.axes): str(reference.entry.files[REFERENCE])
            for one, reference in zip(sized, made, strict=True)
        },
        reference="onnx",
        states=model.states,
        batch=model.batch,
        sequence=model.sequence,
        factory=null_factory(recipes[0]) if has_module else None,
        parameters=0,
        parameters_with_buffers=0,
        macs=0,
        inputs_drawn=model.inputs_drawn,
        warnings=(diagnostic("null_inputs_unread", inputs=tuple(unread)),) if unread else (),
        fixed={}
        if is_open
        else {
            axes_key(one.axes): FixedGraph(str(path), one.outputs)
            for one, path in zip(sized, paths, strict=True)
        },
        rotation=model.rotation,
        unfit=model.unfit,
    )
    return twin, all(step.stored for step in (*graphs, *made))


@dataclass(frozen=True, slots=True)
class _Sized:
    """The model's tensors at one point, all sizes fixed.

    `empty` are inputs without elements; `follows` says that the sizes of the outputs are those
    that the model names.
    """

    axes: Point
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    empty: frozenset[str]
    follows: bool
    reference: str


def _sized(model: ExportedModel, point: Point) -> _Sized:
    at = model.at(point)
    file = at.references[axes_key(at.axes)]
    computed = load_reference(file).outputs
    inputs = tuple(replace(spec, shape=spec.shape_at(at.axes)) for spec in at.inputs)
    outputs, follows = [], True
    for spec in at.outputs:
        names = {size for size in spec.shape if isinstance(size, str)}
        shape = spec.shape_at(at.axes) if names <= at.axes.keys() else None
        follows &= names <= at.open_axes
        if spec.name in computed:
            follows &= shape == computed[spec.name].shape
            shape = computed[spec.name].shape
        if shape is None:
            raise NotBenchmarkable(
                f"the sizes of the output {spec.name!r} of {model.name} are known only when it "
                "is computed, so it has no null twin",
                "remove --no-verify-outputs, or --overhead",
            )
        outputs.append(replace(spec, shape=shape))
    empty = frozenset(spec.name for spec in inputs if 0 in spec.shape)
    return _Sized(at.axes, inputs, tuple(outputs), empty, follows, file)


def _graph(store: Store, model: ExportedModel, of: Recipe) -> Done:
    return done(
        store,
        write_graph,
        model.name,
        of,
        about={"null twin": to_json(of), "of": model.name},
        packages=("onnx",),
    )


def write_graph(folder: Path, name: str, of: Recipe) -> Made:
    """The step: the checked graph of a recipe."""
    path = folder / "null.onnx"
    onnx.save(null_graph(null_of(name), of), path)
    check_file(path, null_of(name))
    return Made({GRAPH: path})


def _reference(store: Store, one: _Sized, graph: Done) -> Done:
    path = graph.entry.files[GRAPH]
    return done(
        store,
        write_reference,
        path,
        one.reference,
        about={"null reference": path.stem, "inputs": Path(one.reference).stem},
        packages=("onnx", "numpy"),
    )


def write_reference(folder: Path, graph: Path, fed: str) -> Made:
    """The step: what the twin is fed, which is what the model is, and what ONNX makes of it."""
    inputs = load_reference(fed).inputs
    evaluator = Evaluator(str(graph))
    names = list(evaluator.output_names)
    outputs = [np.asarray(value) for value in evaluator.run(names, dict(inputs))]
    path = folder / "reference.npz"
    save_reference(str(path), Reference(inputs, dict(zip(names, outputs, strict=True))))
    return Made({REFERENCE: path})
