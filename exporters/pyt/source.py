"""A definition of the catalogue, or what a user's factory returns, as something to export.

Built and exported only when the store lacks it; the module itself is built when somebody
asks for it, since its outputs are the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from exporters.cache import Store
from exporters.codec import from_json, to_json
from exporters.factory_file import is_factory_file, locate
from exporters.models.catalogue import find
from exporters.points import Point
from exporters.pyt.build import build_from_file
from exporters.pyt.graph import MODEL, WEIGHTS, GraphFacts, exported
from exporters.pyt.run import ModuleEvaluator
from exporters.request import ExportRequest
from exporters.source import Graph, Subject
from exporters.steps import done
from exporters.types import Definition, ExportError, Reference
from exporters.user_data import digest_of

_PACKAGES = ("numpy", "onnx", "onnx-ir", "onnxscript", "torch")


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A definition, its module, and the user's weights for it; `of_user`: by his own factory."""

    definition: Definition
    module: ModuleEvaluator
    weights: Path | None
    of_user: bool

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
            batch="batch",
            sequence="sequence" if "sequence" in definition.axes else steps_at_once,
            suite=definition.suite,
            family=definition.family,
            states=definition.states,
            layers=definition.layers,
            width=definition.width,
            independent_rows=not self.of_user,
        )

    def graph(self, store: Store, axes: Point) -> Graph:
        """The graph that torch exports; ExportError where it cannot, or weights do not fit."""
        definition = self.definition
        made = done(
            store,
            exported,
            definition,
            self.module,
            self.weights is not None,
            about=self._about(),
            packages=_PACKAGES,
            beside=self.module.modules,
        )
        facts = from_json(GraphFacts, made.entry.facts)
        factory = definition.factory
        if self.weights is not None:
            factory = replace(factory, weights=str(made.entry.files[WEIGHTS]))
        return Graph(
            path=made.entry.files[MODEL],
            opset=facts.opset,
            outputs=facts.outputs,
            parameters=facts.parameters,
            parameters_with_buffers=facts.parameters_with_buffers,
            macs=facts.macs,
            stored=made.stored,
            factory=factory,
        )

    def evaluator(self, graph: Graph) -> ModuleEvaluator:
        """Torch, on the module that the graph was exported from."""
        return self.module

    def packaged(self, points: Sequence[Point]) -> Reference | None:
        """No data comes with a definition."""
        return None

    def _about(self) -> dict[str, object] | None:
        """What a user's file imports is not known, so its graph is made anew each time."""
        if self.of_user:
            return None
        weights = digest_of(self.weights) if self.weights else ""
        return {"definition": to_json(self.definition), "weights": weights}


def module_source(request: ExportRequest) -> ModuleSource:
    """What the request names; GraphlapError or ExportError if it cannot be had."""
    if request.from_nodes or request.to_nodes:
        raise ExportError(
            f"{request.model} is no .onnx file, and parts are cut out of those only",
            "leave --from-node and --to-node out",
        )
    weights = Path(request.weights).expanduser() if request.weights else None
    if is_factory_file(request.model):
        definition, made = build_from_file(locate(request.model), request.seed)
        return ModuleSource(definition, ModuleEvaluator(definition, weights, made), weights, True)
    definition = find(request.model)
    return ModuleSource(definition, ModuleEvaluator(definition, weights), weights, False)
