"""Sizes that a graph was found to take: by shape inference and, where that cannot tell, by runs of
ONNX Runtime. What fails says which size it would take.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from math import isqrt, prod
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from onnx import ModelProto
from onnx.helper import tensor_dtype_to_np_dtype

from exporters.engine_values import has_narrow
from exporters.inputs import seeded_inputs
from exporters.messages import with_sums
from exporters.onnx_files.graph import ShapeConflict, inferred, known_shapes
from exporters.onnx_files.input_roles import meant
from exporters.plain_arrays import values_of
from exporters.types import TensorSpec

if TYPE_CHECKING:
    import onnxruntime

SEARCH_S = 5.0
"""So long other sizes are tried where the usual ones do not fit together."""
MOST_RUNS = 6
_LARGEST_CANDIDATE = 4096
_MOST_WEIGHTS = 1 << 28
"""Of a graph that is run; as float32 they take 1 GB."""
_LARGEST_BYTES = 256 << 20
"""Of an output, and of what a node makes as large as it is told to."""
_GROWING = ("ConstantOfShape", "Expand", "Resize")

Sizes = dict[str, int]


@dataclass
class Trial:
    """A graph at sizes that are tried: `model`, its inputs, and the axes that are sums.

    Without a `path`, the file that holds all of it, it is not run.
    """

    model: ModelProto
    path: Path | None
    inputs: Sequence[TensorSpec]
    totals: Mapping[str, tuple[str, ...]]
    _deadline: float = field(default_factory=lambda: time.monotonic() + SEARCH_S)
    _is_sure: bool = False
    _largest_bytes: int = 0
    _runs: int = 0

    def fitting(self, sizes: Sizes, movable: Sequence[str]) -> Sizes:
        """The sizes if they fit together, else others of the `movable` axes that do; the same
        where none are found."""
        conflict = self._conflict(sizes)
        while self._largest_bytes > _LARGEST_BYTES and any(sizes[axis] > 1 for axis in movable):
            sizes = {a: n // 2 if a in movable and n > 1 else n for a, n in sizes.items()}
            conflict = self._conflict(sizes)
        waiting, tried, failed = [sizes], list[Sizes](), set[str]()
        while waiting and self._runs < MOST_RUNS and time.monotonic() < self._deadline:
            candidate = waiting.pop(0)
            if candidate in tried:
                continue
            complaint = self._conflict(candidate) if tried else conflict
            is_told = bool(complaint) and (tried or proposals(complaint, sizes, movable))
            if not (self._is_sure or is_told):
                complaint = self._complaint(candidate)
            if not complaint:
                return candidate
            tried.append(candidate)
            if len(tried) == 1:
                waiting += _scaled(sizes, movable)
            node, _, reason = complaint.rpartition("Status Message:")
            if node not in failed:  # else it got no further
                waiting[:0] = proposals(reason, candidate, movable)
            failed.add(node)
        return sizes

    def _conflict(self, sizes: Sizes) -> str:
        """What inference says against the sizes; notes whether it can tell, and how much they make
        of the largest result."""
        self._is_sure, self._largest_bytes = False, 0
        try:
            values = inferred(self.model, with_sums(sizes, self.totals))
        except ShapeConflict as error:
            return error.reason or "unknown"
        shapes, graph = known_shapes(values), self.model.graph
        made = {name for node in graph.node if node.input for name in node.output if name}
        results = {value.name for value in graph.output}
        for node in graph.node:
            results.update(node.output[:1] if node.op_type in _GROWING else ())
            if node.op_type == "Reshape" and {node.input[0], node.output[0]} <= shapes.keys():
                given, wanted = shapes[node.input[0]], shapes[node.output[0]]
                if prod(given) != prod(wanted):
                    return f"{_text(given)}, requested shape:{_text(wanted)}"
        sizes_bytes = (
            prod(shapes[name]) * tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type).itemsize
            for name, v in values.items()
            if name in results and name in shapes
        )
        self._largest_bytes = max(sizes_bytes, default=0)
        self._is_sure = (
            bool(made)
            and made <= shapes.keys()
            and not any(
                node.op_type.startswith("Gather") and node.input[1] in made for node in graph.node
            )
        )
        return ""

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession | None:
        """None for a graph that is not run: too large, not whole, or not for this engine."""
        weights = sum(prod(tensor.dims) for tensor in self.model.graph.initializer)
        if self.path is None or weights > _MOST_WEIGHTS or has_narrow(self.inputs):
            return None
        if find_spec("onnxruntime") is None:
            return None
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            return onnxruntime.InferenceSession(self.path, options, ["CPUExecutionProvider"])
        except Exception:  # its export says why
            return None

    def _complaint(self, sizes: Sizes) -> str:
        """What a run at these sizes fails with; "" if it does not within the time that is left, or
        nothing can be run."""
        if self._session is None:
            return ""
        from onnxruntime import RunOptions

        self._runs += 1
        options = RunOptions()
        left_s = max(self._deadline - time.monotonic(), 0.1)
        timer = Timer(left_s, setattr, (options, "terminate", True))
        timer.start()
        try:
            specs = meant(self.inputs, self.model)
            arrays = seeded_inputs(specs, with_sums(sizes, self.totals), seed=0)
            self._session.run(None, values_of(specs, arrays), options)
        except Exception as error:
            return "" if options.terminate else str(error)
        finally:
            timer.cancel()
        return ""


def _text(shape: Sequence[int]) -> str:
    return f"{{{','.join(map(str, shape))}}}"


def _scaled(sizes: Sizes, movable: Sequence[str]) -> Iterator[Sizes]:
    """All axes of one size halved, quartered or doubled, the largest first."""
    for factor in (0.5, 0.25, 2):
        for size in sorted({sizes[axis] for axis in movable}, reverse=True):
            if (scaled := int(size * factor)) > 0:
                yield {a: scaled if a in movable and n == size else n for a, n in sizes.items()}


def proposals(complaint: str, sizes: Sizes, movable: Sequence[str]) -> list[Sizes]:
    """Sizes that would suit what a node or ONNX's inference complains of."""
    changes: list[Sizes] = []
    shapes = [[int(n) for n in text.split(",")] for text in re.findall(r"{([\d,]+)}", complaint)]
    if "requested shape" in complaint and len(shapes) == 2:
        given, wanted = map(prod, shapes)
        for axis in movable if given and wanted else ():
            whole, rest = divmod(sizes[axis] * wanted, given)
            changes += [{axis: whole}] if not rest else []
            pair = [other for other in movable if sizes[other] == sizes[axis]]
            side = isqrt(sizes[axis] ** 2 * wanted // given)
            if len(pair) == 2 and side**2 * given == sizes[axis] ** 2 * wanted:
                changes.append(dict.fromkeys(pair, side))
    rows = re.search(r"range \[-(\d+),", complaint)
    numbers = [int(n) for n in re.findall(r"(?<![\w.:-])\d+", complaint)]
    if rows:
        changes += [{axis: int(rows[1])} for axis in movable if sizes[axis] > int(rows[1])]
    else:
        axes = [axis for axis in movable if sizes[axis] in numbers]
        numbers.sort(reverse=True)  # 1 would suit most nodes
        changes += [{axis: n} for axis in axes for n in numbers if n != sizes[axis]]
    return [{**sizes, **c} for c in changes if all(0 < n <= _LARGEST_CANDIDATE for n in c.values())]
