"""Expected outputs of a user's graph: ONNX's own evaluator, else ONNX Runtime without rewriting.

Where neither can compute them, the message blames what failed: an operator that nobody knows,
the sizes asked for, or the graph.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import onnx
from onnx import ModelProto
from onnx.defs import has

from exporters.complaint import deepest, first_line
from exporters.digest import file_sha256
from exporters.evaluation import Expected
from exporters.files.nodes import all_nodes, node_name
from exporters.files.unoptimised import Unoptimised, plain
from exporters.semantics.evaluator import RANDOM, Evaluator
from exporters.types import (
    UNOPTIMISED,
    ExportError,
    NotBenchmarkable,
    TensorSpec,
    axes_key,
)

_ONNX_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")


class FileEvaluator:
    """One file for both evaluators, each of which reads it when it is first run."""

    name: ClassVar[str] = "onnx"
    packages: ClassVar[tuple[str, ...]] = ("onnx", "onnxruntime")

    def __init__(
        self,
        called: str,
        path: Path,
        outputs: Sequence[TensorSpec],
        *,
        is_repeatable: bool = True,
        custom_ops: Sequence[str] = (),
    ) -> None:
        self._called = called
        self._path = path
        self._outputs = [spec.name for spec in outputs]
        self._custom_ops = tuple(custom_ops)
        self._unoptimised = Unoptimised(path, self._outputs, custom_ops)
        self.is_repeatable = is_repeatable

    def expected(self, inputs: Mapping[str, np.ndarray], point: Mapping[str, int]) -> Expected:
        """The outputs, and which of the two gave them.

        NotBenchmarkable where neither knows an operator; ExportError, with the node's name, if
        the graph cannot take these inputs.
        """
        try:
            return Expected(self._by_onnx(inputs), self.name)
        except Exception as error:
            refused = error
        try:
            return Expected(self._unoptimised.outputs(inputs), UNOPTIMISED)
        except ExportError:
            raise
        except Exception as error:
            raise self._fault(refused, error, point) from refused

    @property
    def modules(self) -> tuple[str, ...]:
        """This one."""
        return (__name__,)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(file_sha256(Path(library)) for library in self._custom_ops)

    def _by_onnx(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with np.errstate(all="ignore"):
            values = self._evaluator.run(self._outputs, dict(inputs))
        return {name: np.asarray(v) for name, v in zip(self._outputs, values, strict=True)}

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(str(self._path))

    def _fault(
        self, refused: Exception, runtime: Exception, point: Mapping[str, int]
    ) -> ExportError | MemoryError:
        """What is to blame where both have failed."""
        if isinstance(refused, MemoryError):
            return refused
        unknown = "_evaluator" not in self.__dict__ or isinstance(refused, NotImplementedError)
        if unknown and not self._unoptimised.is_open:
            foreign = _has_foreign_operators(self._path)
            if not foreign and type(runtime).__name__ != "NotImplemented":
                return ExportError(
                    f"{self._called} cannot be loaded ({plain(runtime)})",
                    "check the file, or export it again",
                )
            library = "give --custom-ops the library of its operators, " if foreign else ""
            return NotBenchmarkable(
                f"neither ONNX's evaluator ({first_line(refused)}) nor ONNX Runtime "
                f"({plain(runtime)}) can tell what {self._called} should give",
                f"{library}lay expected outputs beside it "
                "(test_data_set_0/output_0.pb), or measure it --unchecked",
            )
        node = "" if unknown else _failing_node(refused)
        at = f" in node {node!r}" if node else ""
        reason = plain(runtime) if unknown else first_line(deepest(refused))
        if point:
            return ExportError(
                f"{self._called} cannot run at {axes_key(point)}: it fails{at} ({reason})",
                "set its axes to sizes that the graph takes",
            )
        return ExportError(
            f"{self._called} cannot run on its inputs: it fails{at} ({reason})",
            "give --inputs that it takes, or export the file again",
        )


def _has_foreign_operators(path: Path) -> bool:
    """Whether a node is neither one of ONNX's operators nor a function of the file."""
    try:
        model = onnx.load(path, format="protobuf", load_external_data=False)
    except Exception:
        return False
    functions = {(function.domain, function.name) for function in model.functions}
    return any(
        (node.domain, node.op_type) not in functions
        and not has(node.op_type, "" if node.domain == "ai.onnx" else node.domain)
        for node in all_nodes(model)
    )


def is_repeatable(model: ModelProto) -> bool:
    """Whether all that the graph computes is known to give the same each time."""
    known = {*_ONNX_DOMAINS, *(function.domain for function in model.functions)}
    return not any(
        node.domain not in known
        or node.op_type in RANDOM
        or (node.op_type == "Dropout" and len(node.input) > 2)
        for node in all_nodes(model)
    )


def _failing_node(error: Exception) -> str:
    """The node that the evaluator was at; its error says no name, its frame has the node."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is Evaluator.run.__code__:
            node = frame.f_locals.get("node")
            if node is not None:
                return node_name(node.onnx_node)
    return ""
