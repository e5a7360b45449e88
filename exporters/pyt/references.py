"""The references of a torch module: its own outputs, and those of the graph exported from it."""

from __future__ import annotations

from typing import ClassVar

from exporters.agreement import Bound
from exporters.consensus import NO_OUTPUTS, Arrays, Computed, Node, Outputs
from exporters.files.evaluator import FileEvaluator
from exporters.points import Point
from exporters.pyt.run import ModuleEvaluator
from exporters.source import Graph


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
        self, inputs: Arrays, point: Point, bound: Bound, known: Outputs = NO_OUTPUTS
    ) -> Computed:
        """The outputs of each; ExportError if the module raises."""
        expected = self._module.expected(inputs, point)
        return self._graph.computed(inputs, point, bound, {**known, expected.by: expected.outputs})

    def first_difference(self, inputs: Arrays, bound: Bound) -> Node | None:
        """Of the graph."""
        return self._graph.first_difference(inputs, bound)
