"""Expected outputs of a user's graph, from ONNX's own reference evaluator.

Where the graph cannot run at the sizes asked for, the node that fails is named.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from exporters.complaint import first_line
from exporters.files.nodes import node_name
from exporters.semantics.evaluator import Evaluator
from exporters.types import ExportError, NotBenchmarkable, TensorSpec, axes_key

_REMEDY = "lay inputs and expected outputs beside it, as in test_data_set_0/output_0.pb"


class FileEvaluator:
    """One file for the evaluator, which reads it when it is first run."""

    name: ClassVar[str] = "onnx"
    packages: ClassVar[tuple[str, ...]] = ("onnx",)

    def __init__(self, called: str, path: Path, outputs: Sequence[TensorSpec]) -> None:
        self._called = called
        self._path = path
        self._outputs = [spec.name for spec in outputs]

    def outputs(
        self, inputs: Mapping[str, np.ndarray], point: Mapping[str, int]
    ) -> dict[str, np.ndarray]:
        """The outputs by name.

        ExportError, with the node's name, if the graph cannot take these inputs;
        NotBenchmarkable if the evaluator does not know an operator.
        """
        evaluator = self._evaluator
        try:
            with np.errstate(all="ignore"):
                values = evaluator.run(self._outputs, dict(inputs))
        except NotImplementedError as error:
            raise self._not_vouched_for(error) from error
        except Exception as error:
            node = _failing_node(error)
            at = f" in node {node!r}" if node else ""
            raise ExportError(
                f"{self._called} cannot run at {axes_key(point)}: it fails{at} "
                f"({first_line(error)})",
                "set its axes to sizes that the graph takes",
            ) from error
        return {name: np.asarray(v) for name, v in zip(self._outputs, values, strict=True)}

    @property
    def modules(self) -> tuple[str, ...]:
        """This one."""
        return (__name__,)

    @cached_property
    def _evaluator(self) -> Evaluator:
        try:
            return Evaluator(str(self._path))
        except Exception as error:
            raise self._not_vouched_for(error) from error

    def _not_vouched_for(self, error: Exception) -> NotBenchmarkable:
        cause = f"ONNX's reference evaluator cannot check {self._called} ({first_line(error)})"
        return NotBenchmarkable(cause, _REMEDY)


def _failing_node(error: Exception) -> str:
    """The node that the evaluator was at; its error says no name, its frame has the node."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is Evaluator.run.__code__:
            node = frame.f_locals.get("node")
            if node is not None:
                return node_name(node.onnx_node)
    return ""
