"""A definition of the catalogue, or what a user's factory returns, as a source with its
references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from exporters import user_module
from exporters.agreement import NO_OUTPUTS, Arrays, Bound, Computed, Node, Outputs
from exporters.cache import Store, done
from exporters.codec import from_json, to_json
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.file_access import user_path
from exporters.inputs import NO_EXAMPLES, in_ranges, paired
from exporters.messages import ExportRequest
from exporters.model_names import is_factory_file, is_hugging_face, locate
from exporters.models.catalogue import find
from exporters.onnx_files.evaluator import FileEvaluator
from exporters.pytorch.definition import definition_of, examples_of, title_of
from exporters.pytorch.graph import MODEL, WEIGHTS, GraphFacts, exported
from exporters.pytorch.module import ModuleEvaluator
from exporters.pytorch.to_onnx import WAYS, Way, at_point, nearest, told
from exporters.source import Graph, Packaged, Point, Subject
from exporters.types import Definition, ExportError, Factory, Leeway
from exporters.user_arrays import digest_of
from exporters.user_module import bring


class ModuleReferences:
    """Torch on the module, ONNX Runtime and ONNX's evaluator on its graph."""

    name: ClassVar[str] = ModuleEvaluator.name
    packages: ClassVar[tuple[str, ...]] = (*ModuleEvaluator.packages, *FileEvaluator.packages)

    def __init__(self, module: ModuleEvaluator, graph: Graph) -> None:
        self._module = module
        self._graph = FileEvaluator(graph.path.name, graph.path, graph.outputs)

    @property
    def modules(self) -> tuple[str, ...]:
        """This one, the module's and the graph's."""
        return (__name__, *self._module.modules, *self._graph.modules)

    @property
    def needs(self) -> tuple[str, ...]:
        return self._module.needs

    @property
    def is_repeatable(self) -> bool:
        """Whether the module is: a graph that draws differs from it."""
        return self._module.is_repeatable

    def computed(
        self, inputs: Arrays, point: Point, bound: Bound, known_outputs: Outputs = NO_OUTPUTS
    ) -> Computed:
        """The outputs of each; ExportError if the module raises."""
        expected = self._module.expected(inputs, point)
        return self._graph.computed(inputs, point, bound, {**known_outputs, **expected})

    def leeway(self, inputs: Arrays, others: Arrays | None) -> Leeway:
        """Of the graph."""
        return self._graph.leeway(inputs, others)

    def first_difference(self, inputs: Arrays, bound: Bound) -> Node | None:
        """Of the graph."""
        return self._graph.first_difference(inputs, bound)


_PACKAGES = ("numpy", "onnx", "onnx-ir", "onnxruntime", "onnxscript", "torch")


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A definition, its module, and the user's weights for it; `of_user`: by his own factory.

    `examples` are arrays that a user's factory gave, by input.
    """

    definition: Definition
    module: ModuleEvaluator
    weights: Path | None
    of_user: bool
    examples: Mapping[str, np.ndarray]

    @property
    def subject(self) -> Subject:
        """As the definition says; in those of the catalogue, rows are independent by test."""
        definition = self.definition
        steps_at_once = 1 if definition.states else None
        return Subject(
            name=definition.name,
            called=definition.name,
            inputs=definition.inputs,
            axes=tuple(definition.axes),
            default=definition.axes,
            batch="batch" if "batch" in definition.axes else None,
            sequence="sequence" if "sequence" in definition.axes else steps_at_once,
            suite=definition.suite,
            family=definition.family,
            states=definition.states,
            layers=definition.layers,
            width=definition.width,
            independent_rows=not self.of_user,
            examples=self.examples,
        )

    def graphs(self, store: Store, points: Sequence[Point]) -> tuple[Graph, ...]:
        """The graph that torch exports; ExportError where it cannot, or weights do not fit.

        A user's module that cannot be had with open sizes gives a graph for each point, and
        one that the new exporter does not take is asked of the old one.
        """
        faults: dict[Way, ExportError] = {}
        for way in WAYS if self.of_user else WAYS[:1]:
            if way.fixed and not self.definition.axes:
                continue
            try:
                graphs = self._export_graphs(store, way, points)
            except ExportError as fault:
                faults[way] = fault
            else:
                warnings = told(way, faults)
                return tuple(replace(g, warnings=(*warnings, *g.warnings)) for g in graphs)
        raise nearest(faults)

    def evaluator(self, graph: Graph) -> ModuleReferences:
        """Torch, on the module that the graph was exported from, and who runs the graph."""
        return ModuleReferences(self.module, graph)

    def packaged(self, points: Sequence[Point]) -> Packaged:
        """No data comes with a definition."""
        return Packaged(None)

    def _export_graphs(self, store: Store, way: Way, points: Sequence[Point]) -> list[Graph]:
        if not way.fixed:
            return [self._graph(store, way, self.definition)]
        return [
            replace(self._graph(store, way, at_point(self.definition, point)), point=point)
            for point in points
        ]

    def _graph(self, store: Store, way: Way, definition: Definition) -> Graph:
        export = done(
            store,
            exported,
            definition,
            self.module,
            self.weights is not None,
            self.examples,
            way.exporter,
            key_facts=self._facts(),
            packages=_PACKAGES,
            extra_modules=self.module.modules,
        )
        facts = from_json(GraphFacts, export.entry.facts)
        factory: Factory = definition.factory
        if self.weights is not None:
            factory = replace(factory, weights=str(export.entry.files[WEIGHTS]))
        return Graph(
            path=export.entry.files[MODEL],
            opset=facts.opset,
            outputs=facts.outputs,
            counts=facts.counts,
            stored=export.stored,
            factory=factory,
            warnings=_doubts(facts),
            written_inputs=facts.written_inputs,
        )

    def _facts(self) -> dict[str, object] | None:
        """What a user's file imports is not known, so its graph is made anew each time."""
        if self.of_user:
            return None
        weights = digest_of(self.weights) if self.weights else ""
        return {"definition": to_json(self.definition), "weights": weights}


def _doubts(facts: GraphFacts) -> tuple[Diagnostic, ...]:
    if not facts.runs:
        return (diagnostic("graph_not_run"),)
    return (diagnostic("engine_disputes_graph"),) if facts.is_disputed else ()


def module_source(request: ExportRequest) -> ModuleSource:
    """What the request names; GraphlapError or ExportError if it cannot be had."""
    if request.from_nodes or request.to_nodes:
        raise ExportError(
            f"{request.model} is no .onnx file, and parts are cut out of those only",
            "leave --from-node and --to-node out",
        )
    weights = user_path(request.weights) if request.weights else None
    target = _users_target(request.model)
    if not target:
        definition = _as_asked(find(request.model), request)
        module = ModuleEvaluator(definition, weights)
        return ModuleSource(definition, module, weights, False, NO_EXAMPLES)
    user_model = bring(target, request.seed)
    title = title_of(target, request.model)
    definition, is_flat = definition_of(target, title, user_model, request.seed)
    definition = _as_asked(definition, request)
    module = ModuleEvaluator(definition, weights, user_model, is_flat)
    examples = {n: a for n, a in examples_of(user_model).items() if n not in request.input_range}
    return ModuleSource(definition, module, weights, True, examples)


def _users_target(model: str) -> str:
    """What a process needs to build a user's module; "" for a model of the catalogue."""
    if is_hugging_face(model):
        return user_module.resolved(model)
    if is_factory_file(model):
        file = locate(model)
        return f"{file.path}:{file.function}"
    return ""


def _as_asked(definition: Definition, request: ExportRequest) -> Definition:
    """With the ranges and the states that the user gives to it."""
    inputs = in_ranges(definition.inputs, request.input_range, definition.name)
    states = paired(inputs, definition.outputs, request.states, definition.name)
    return replace(definition, inputs=inputs, states=states or definition.states)
