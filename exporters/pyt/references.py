"""The references of a torch module: its own outputs, and those of the graph exported from it."""

from __future__ import annotations

from typing import ClassVar

from exporters.agreement import Bound, scale_of
from exporters.complaint import deepest
from exporters.consensus import Arrays, Computed, Node, disagreement
from exporters.files.evaluator import FileEvaluator
from exporters.files.unoptimised import plain
from exporters.points import Point
from exporters.pyt.run import ModuleEvaluator
from exporters.source import Graph
from exporters.types import EVALUATED, UNOPTIMISED


class ModuleReferences:
    """Torch, and ONNX Runtime on the graph; ONNX's evaluator only where these two disagree.

    Two that know nothing of each other vouch for a graph that we have made ourselves, and the
    evaluator takes long for some of the catalogue's.
    """

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
        self, inputs: Arrays, point: Point, bound: Bound, is_alone: bool = True
    ) -> Computed:
        """The outputs of each; ExportError if the module raises."""
        expected = self._module.expected(inputs, point)
        by: dict[str, Arrays] = {expected.by: expected.outputs}
        missing: dict[str, str] = {}
        of_runtime = self._of_graph(UNOPTIMISED, missing, inputs)
        if of_runtime:
            compared = {**by, **of_runtime}
            scale = scale_of(inputs)
            if disagreement(UNOPTIMISED, expected.by, compared, bound, scale) is not None:
                by |= self._of_graph(EVALUATED, missing, inputs)
        return Computed({**by, **of_runtime}, missing)

    def first_difference(self, inputs: Arrays, bound: Bound) -> Node | None:
        """Of the graph."""
        return self._graph.first_difference(inputs, bound)

    def _of_graph(self, name: str, missing: dict[str, str], inputs: Arrays) -> dict[str, Arrays]:
        """The outputs of the graph by the reference's name; nothing, and why, if it fails."""
        graph = self._graph
        run = graph.by_runtime if name == UNOPTIMISED else graph.within_limit
        try:
            return {name: run(inputs)}
        except Exception as error:
            missing[name] = plain(deepest(error))
            return {}
