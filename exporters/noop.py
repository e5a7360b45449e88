"""Null twin of an exported model: its inputs and outputs with next to nothing in between, as a
graph and as the recipe of a torch module.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from exporters.cache import Done, Store, done
from exporters.codec import to_json
from exporters.diagnostics import diagnostic
from exporters.model_names import null_of
from exporters.onnx_evaluator.evaluator import Evaluator
from exporters.plain_arrays import has_only_arrays
from exporters.source import Point
from exporters.types import (
    Dimension,
    ExportedModel,
    Factory,
    FixedGraph,
    Made,
    NotBenchmarkable,
    Reference,
    StatePair,
    TensorSpec,
    axes_key,
    load_reference,
    save_reference,
)
from exporters.validation import check_file


@dataclass(frozen=True, slots=True)
class Part:
    """One output and the inputs that it reads, by name.

    `is_copy`: it is its one input as it is. Else it is filled with the largest of the inputs'
    first elements, with zero if there are none. Of its first input it takes an element for each
    step of the sizes `along`, where that saves asking for these sizes; `view` is how they lie
    along the output, -1 where they do and 1 elsewhere, None where they lie so already.
    """

    output: TensorSpec
    reads: tuple[str, ...]
    is_copy: bool
    along: tuple[str, ...] = ()
    view: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts in the order of the outputs. `unread` are inputs that no output could read,
    because each output has to be an input as it is."""

    inputs: tuple[TensorSpec, ...]
    parts: tuple[Part, ...]
    unread: tuple[str, ...] = ()


def recipe(
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    states: Sequence[StatePair] = (),
    empty: Collection[str] = (),
) -> Recipe:
    """States are copied; so is an input of an output's own type and shape, once; else it is filled.

    `empty` are the inputs that have no elements, of which there is nothing to read.
    """
    readable = {spec.name: spec for spec in inputs if spec.name not in empty}
    passed_on = {spec.name: spec.name for spec in inputs}
    bound = passed_on | {pair.output: pair.input for pair in states}
    copies = {o.name: bound[o.name] for o in outputs if o.name in bound}
    waiting = {name: spec for name, spec in readable.items() if name not in copies.values()}
    candidate_copies: dict[str, str] = {}
    for output in outputs:
        matching_inputs = [spec.name for spec in waiting.values() if _kind(spec) == _kind(output)]
        if output.name not in copies and matching_inputs:
            candidate_copies[output.name] = matching_inputs[0]
            del waiting[matching_inputs[0]]
    if waiting and candidate_copies and len(copies) + len(candidate_copies) == len(outputs):
        # A copy reads one input only, so one output is filled for the sake of the others.
        _, freed_input = candidate_copies.popitem()
        waiting[freed_input] = readable[freed_input]
    copies |= candidate_copies
    fill_outputs = [output for output in outputs if output.name not in copies]
    reads = _shared_out(fill_outputs, waiting, readable) if fill_outputs else {}
    inputs_by_name = {spec.name: spec for spec in inputs}
    parts = (
        Part(output, (copies[output.name],), is_copy=True)
        if output.name in copies
        else _filled(output, [inputs_by_name[name] for name in reads[output.name]])
        for output in outputs
    )
    return Recipe(tuple(inputs), tuple(parts), () if fill_outputs else tuple(waiting))


def _shared_out(
    fill_outputs: Sequence[TensorSpec],
    waiting: Mapping[str, TensorSpec],
    readable: Mapping[str, TensorSpec],
) -> Mapping[str, tuple[str, ...]]:
    """Which inputs each output reads: one of its own type if it can, and all of them somewhere."""
    left = dict(waiting)
    inputs_by_output: dict[str, tuple[str, ...]] = {}
    for output in fill_outputs:
        same_type = [spec.name for spec in left.values() if spec.dtype == output.dtype]
        inputs_by_output[output.name] = tuple(same_type[:1])
        for name in same_type[:1]:
            del left[name]
    for place, name in enumerate(left):
        inputs_by_output[fill_outputs[place % len(fill_outputs)].name] += (name,)
    for output in fill_outputs:
        same_type = [spec.name for spec in readable.values() if spec.dtype == output.dtype]
        inputs_by_output[output.name] = inputs_by_output[output.name] or tuple(
            [*same_type, *readable][:1]
        )
    return inputs_by_output


def _filled(output: TensorSpec, read: Sequence[TensorSpec]) -> Part:
    """Along its open sizes where the first input has them in the same places, counted from the
    end, or where there is one at most, which a view can put there."""
    part = Part(output, tuple(spec.name for spec in read), is_copy=False)
    if not read:
        return part
    input_shape, output_shape = read[0].shape, output.shape
    more = len(output_shape) - len(input_shape)

    def is_once(size: str) -> bool:
        return input_shape.count(size) == output_shape.count(size) == 1

    open_sizes = [size for size in output_shape if isinstance(size, str)]
    shared_axes = tuple(open_sizes) if all(map(is_once, open_sizes)) else ()
    in_place = more >= 0 and all(
        input_shape.index(s) + more == output_shape.index(s) for s in shared_axes
    )
    if not in_place and len(shared_axes) > 1:
        shared_axes, in_place = (), more >= 0
    view = None if in_place else tuple(-1 if size in shared_axes else 1 for size in output_shape)
    return replace(part, along=shared_axes, view=view)


def _kind(spec: TensorSpec) -> tuple[object, ...]:
    return spec.dtype, spec.shape


TARGET = "exporters.pytorch.noop_module:NullModule"


def null_factory(twin_recipe: Recipe) -> Factory:
    """The factory of a recipe's module; inputs go by their place."""
    places = {spec.name: place for place, spec in enumerate(twin_recipe.inputs)}

    def size(dimension: Dimension) -> int | list[int]:
        if isinstance(dimension, int):
            return dimension
        holder = next(spec for spec in twin_recipe.inputs if dimension in spec.shape)
        return [places[holder.name], holder.shape.index(dimension)]

    parts = [
        {
            "reads": [places[name] for name in part.reads],
            "is_copy": part.is_copy,
            "cut": [
                place
                for name in part.reads[:1]
                for place, size in enumerate(twin_recipe.inputs[places[name]].shape)
                if size not in part.along
            ],
            "view": part.view,
            "dtype": part.output.dtype,
            "shape": [size(dimension) for dimension in part.output.shape],
        }
        for part in twin_recipe.parts
    ]
    return Factory(TARGET, {"parts": parts})


OPSET, IR_VERSION = 17, 8
"""What every engine here takes, with the shapes of single dimensions (`Shape-15`)."""
WIDE = ("float32", "float64")
"""Types that take every number of another type, near enough; the others go by true and false."""


def null_graph(name: str, twin_recipe: Recipe) -> ModelProto:
    """The graph: `Identity` for a copy, else `Slice` of one element and `Expand`.

    Open sizes stay open: each is that of the input which has it.
    """
    writer = _Writer(twin_recipe)
    for part in twin_recipe.parts:
        writer.add(part)
    graph = helper.make_graph(
        writer.nodes,
        name,
        [_info(spec) for spec in twin_recipe.inputs],
        [_info(part.output) for part in twin_recipe.parts],
        list(writer.constants.values()),
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


@dataclass(slots=True)
class _Writer:
    """Nodes and constants in the making; names of its own begin with what no tensor's does."""

    recipe: Recipe
    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, TensorProto] = field(default_factory=dict)
    _prefix: str = "null"

    def __post_init__(self) -> None:
        outputs = (part.output for part in self.recipe.parts)
        names = [spec.name for spec in (*self.recipe.inputs, *outputs)]
        while any(name.startswith(self._prefix) for name in names):
            self._prefix += "_"

    def add(self, part: Part) -> None:
        output = part.output
        if part.is_copy:
            if part.reads[0] != output.name:  # else the input is an output by itself
                self._node("Identity", [part.reads[0]], output.name)
            return
        # Expand leaves a size where it is told 1.
        shape = tuple(1 if size in part.along else size for size in output.shape)
        self._node("Expand", [self._element(part), self._shape(shape)], output.name)

    def _element(self, part: Part) -> str:
        """What Expand is to spread, in the output's type."""
        output_dtype = part.output.dtype
        if not part.reads:
            return self._constant("zero", np.zeros((), output_dtype))
        types = [self._spec(name).dtype for name in part.reads]
        elements = [self._cut(part), *map(self._first, part.reads[1:])]
        if len(elements) == 1:
            return self._cast(elements[0], types[0], output_dtype)
        common = output_dtype if output_dtype in WIDE else "float32"
        cast = [self._cast(e, dtype, common) for e, dtype in zip(elements, types, strict=True)]
        return self._cast(self._node("Max", cast), common, output_dtype)

    def _cut(self, part: Part) -> str:
        """Of the first input one element, or one for each step of the sizes that it is along."""
        name = part.reads[0]
        input_shape = self._spec(name).shape
        axes = [place for place, size in enumerate(input_shape) if size not in part.along]
        if axes:
            count, axes_label = len(axes), "_".join(map(str, axes))
            zeros = self._constant(f"zeros_{count}", np.zeros(count, np.int64))
            ones_name = self._constant(f"ones_{count}", np.ones(count, np.int64))
            where = self._constant(f"axes_{axes_label}", np.array(axes, np.int64))
            name = self._node("Slice", [name, zeros, ones_name, where])
        if part.view is not None:
            name = self._node("Reshape", [name, self._shape(part.view)])
        return name

    def _first(self, name: str) -> str:
        """The first element of an input, without its dimensions."""
        rank = len(self._spec(name).shape)
        if not rank:
            return name
        zeros = self._constant(f"zeros_{rank}", np.zeros(rank, np.int64))
        return self._node("GatherND", [name, zeros])

    def _spec(self, name: str) -> TensorSpec:
        return next(spec for spec in self.recipe.inputs if spec.name == name)

    def _cast(self, name: str, source_dtype: str, target_dtype: str) -> str:
        """Engines agree on what is not 0, and not on numbers that do not fit their type."""
        for dtype in _cast_steps(source_dtype, target_dtype):
            name = self._node("Cast", [name], to=_element_type(dtype))
        return name

    def _shape(self, shape: Sequence[Dimension]) -> str:
        """The name of a tensor that holds it: a constant, unless a size is open."""
        if all(isinstance(size, int) for size in shape):
            text = "x".join(map(str, shape))
            return self._constant(f"shape_{text}", np.array(shape, np.int64))
        return self._node("Concat", [self._size(size) for size in shape], axis=0)

    def _size(self, size: Dimension) -> str:
        if isinstance(size, int):
            return self._constant(f"size_{size}", np.array([size], np.int64))
        holder = next(spec for spec in self.recipe.inputs if size in spec.shape)
        place = holder.shape.index(size)
        return self._node("Shape", [holder.name], start=place, end=place + 1)

    def _node(self, op: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        name = f"{self._prefix}_{len(self.nodes)}"
        output = output or f"{name}_{op}"
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def _constant(self, label: str, array: np.ndarray) -> str:
        name = f"{self._prefix}_{label}_{array.dtype}"
        self.constants[name] = numpy_helper.from_array(array, name)
        return name


def _cast_steps(given: str, wanted: str) -> tuple[str, ...]:
    if given == wanted:
        return ()
    return (wanted,) if wanted in (*WIDE, "bool") or given == "bool" else ("bool", wanted)


def _info(spec: TensorSpec) -> ValueInfoProto:
    return helper.make_tensor_value_info(spec.name, _element_type(spec.dtype), spec.shape)


def _element_type(dtype: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


GRAPH, REFERENCE = "graph", "reference"


def null_twin(
    store: Store, model: ExportedModel, points: Sequence[Point]
) -> tuple[ExportedModel, bool]:
    """The twin with a reference for each of the points that the model takes, and whether all of it
    was stored.

    One graph for all points where every open size is one of an input's; else one for each.
    NotBenchmarkable for an output whose sizes only its computation tells, if it was not computed,
    and for a model that takes or returns other values than arrays of numbers.
    """
    if not has_only_arrays(model):
        raise NotBenchmarkable(
            f"{model.name} takes or returns texts, sequences, maps or types that numpy lacks, of "
            "which a no-op copy can't be made",
            "measure it without --overhead",
        )
    fitting_points = [point for point in points or ({},) if not model.at(point).unfit_at]
    sized_models = [_size_model(model, point) for point in fitting_points]
    is_open = all(s.follows for s in sized_models) and not model.fixed
    if is_open:
        never_read = frozenset().union(*(s.empty for s in sized_models))
        twin_recipe = recipe(model.inputs, model.outputs, model.states, never_read)
        recipes = [twin_recipe] * len(sized_models)
    else:
        recipes = [recipe(s.inputs, s.outputs, model.states, s.empty) for s in sized_models]
    graphs = [_graph(store, model, twin_recipe) for twin_recipe in recipes]
    pairs = zip(sized_models, graphs, strict=True)
    reference_steps = [_reference(store, sized_model, graph) for sized_model, graph in pairs]
    paths = [graph.entry.files[GRAPH] for graph in graphs]
    unread = recipes[0].unread
    # One module stands behind all points; a recipe of fixed sizes is for one of them.
    has_module = model.factory is not None and (is_open or len(sized_models) == 1)
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
            axes_key(sized_model.axes): str(reference.entry.files[REFERENCE])
            for sized_model, reference in zip(sized_models, reference_steps, strict=True)
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
            axes_key(sized_model.axes): FixedGraph(str(path), sized_model.outputs)
            for sized_model, path in zip(sized_models, paths, strict=True)
        },
        rotation=model.rotation,
        unfit=model.unfit,
    )
    return twin, all(step.stored for step in (*graphs, *reference_steps))


@dataclass(frozen=True, slots=True)
class _SizedModel:
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


def _size_model(model: ExportedModel, point: Point) -> _SizedModel:
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
    return _SizedModel(at.axes, inputs, tuple(outputs), empty, follows, file)


def _graph(store: Store, model: ExportedModel, twin_recipe: Recipe) -> Done:
    return done(
        store,
        write_graph,
        model.name,
        twin_recipe,
        key_facts={"null twin": to_json(twin_recipe), "of": model.name},
        packages=("onnx",),
    )


def write_graph(folder: Path, name: str, twin_recipe: Recipe) -> Made:
    """The step: the checked graph of a recipe."""
    path = folder / "null.onnx"
    onnx.save(null_graph(null_of(name), twin_recipe), path)
    check_file(path, null_of(name))
    return Made({GRAPH: path})


def _reference(store: Store, sized_model: _SizedModel, graph: Done) -> Done:
    path = graph.entry.files[GRAPH]
    return done(
        store,
        write_reference,
        path,
        sized_model.reference,
        key_facts={"null reference": path.stem, "inputs": Path(sized_model.reference).stem},
        packages=("onnx", "numpy"),
    )


def write_reference(folder: Path, graph: Path, input_precision: str) -> Made:
    """The step: what the twin is fed, which is what the model is, and what ONNX makes of it."""
    inputs = load_reference(input_precision).inputs
    evaluator = Evaluator(str(graph))
    names = list(evaluator.output_names)
    outputs = [np.asarray(value) for value in evaluator.run(names, dict(inputs))]
    path = folder / "reference.npz"
    save_reference(str(path), Reference(inputs, dict(zip(names, outputs, strict=True))))
    return Made({REFERENCE: path})
