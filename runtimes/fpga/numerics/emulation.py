"""A graph made ready to run in emulated bf16, and the question whether a node can be.

Operands are rounded to bf16 to nearest even, products are accumulated in float32, and
each operator's output is rounded once. Constants are rounded when the emulation is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from runtimes.fpga.graph.graph import Graph, Node
from runtimes.fpga.numerics import (  # noqa: F401  (each registers its operators)
    elementwise,
    movement,
    recurrence,
    reduction,
    windows,
)
from runtimes.fpga.numerics.operator import (
    NEWEST_OPSET,
    OPERATORS,
    Call,
    Kernel,
    Refused,
    finite_bf16,
    round_bf16,
)

_INDEX_TYPES = ("int32", "int64")


class KernelError(RuntimeError):
    """A kernel failed while running; the message names its node."""


def refusal(node: Node, graph: Graph) -> str | None:
    """Why `node` can't be computed, as the end of a sentence; None if it can."""
    try:
        _make(node, graph, graph.constants)
    except Refused as reason:
        return str(reason)
    return None


@dataclass(frozen=True, slots=True)
class _Step:
    label: str
    kernel: Kernel
    exact: bool
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    last_read: tuple[str, ...]
    """Names that no later step reads: their arrays are let go."""


class Emulation:
    """Kernels in order, with their rounded constants. Any number of threads may run it."""

    def __init__(self, graph: Graph) -> None:
        """Refused if a node of `graph` has no kernel."""
        used_names = {name for node in graph.nodes for name in node.inputs} | set(graph.outputs)
        constants = {
            name: _copy_rounded(array)
            for name, array in graph.constants.items()
            if name in used_names
        }
        self.graph = replace(graph, constants=constants)
        self._steps = tuple(
            _Step(
                label=f"{node.op} node '{node.name or node.outputs[0]}'",
                kernel=_make(node, self.graph, constants),
                exact=OPERATORS[node.op].exact,
                inputs=node.inputs,
                outputs=node.outputs,
                last_read=last_read,
            )
            for node, last_read in zip(graph.nodes, _last_reads(graph), strict=True)
        )

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs, float32 arrays of bf16 values or masks; KernelError names a node."""
        arrays: dict[str, np.ndarray] = {
            name: _copy_rounded(array)
            for name, array in zip(self.graph.inputs, inputs, strict=True)
        }
        # Overflow to infinity and NaN are results here, as they are on a device.
        with np.errstate(all="ignore"):
            for step in self._steps:
                self._run_step(step, arrays)
        constants = self.graph.constants
        return [constants[n] if n in constants else arrays[n] for n in self.graph.outputs]

    def _run_step(self, step: _Step, arrays: dict[str, np.ndarray]) -> None:
        constants = self.graph.constants
        operands = [constants[n] if n in constants else arrays.get(n) for n in step.inputs]
        try:
            kernel_result = step.kernel(*operands)
        except Exception as error:
            raise KernelError(f"{step.label} failed: {type(error).__name__}: {error}") from error
        results = kernel_result if isinstance(kernel_result, tuple) else (kernel_result,)
        for name, result in zip(step.outputs, results, strict=False):
            if name:
                arrays[name] = result if step.exact else round_bf16(result)
        for name in step.last_read:
            arrays.pop(name, None)


def _copy_rounded(array: np.ndarray) -> np.ndarray:
    """An array of our own: rounded if it holds floats, as it is if it holds indices or a mask."""
    return array.copy() if array.dtype.kind != "f" else finite_bf16(array)


def _last_reads(graph: Graph) -> list[tuple[str, ...]]:
    keep = set(graph.outputs)
    lists: list[tuple[str, ...]] = []
    for node in reversed(graph.nodes):
        touched_names = {name for name in (*node.inputs, *node.outputs) if name} - keep
        lists.append(tuple(sorted(touched_names)))
        keep |= touched_names
    return lists[::-1]


def _make(node: Node, graph: Graph, constants: Mapping[str, np.ndarray]) -> Kernel:
    operator = OPERATORS.get(node.op) if node.domain in ("", "ai.onnx") else None
    if operator is None:
        raise Refused("the card has no such operator")
    if not operator.oldest <= node.since_version <= NEWEST_OPSET:
        raise Refused(
            f"its version {node.since_version} is outside of {operator.oldest} to {NEWEST_OPSET}"
        )
    indices = {node.inputs[i] for i in operator.indices if i < len(node.inputs)}
    for name in (*node.inputs, *node.outputs):
        if not name:
            continue
        if name in constants:
            if constants[name].dtype.kind not in "biu" and constants[name].dtype != np.float32:
                raise Refused(f"the card has no path for {constants[name].dtype} ('{name}')")
            continue
        value = graph.values.get(name)
        if value is None:
            raise Refused(f"the shape of '{name}' is not fixed")
        is_supported = (
            value.dtype == "float32"
            or (value.dtype == "bool" and operator.exact)
            or (value.dtype in _INDEX_TYPES and name in indices)
        )
        if not is_supported:
            raise Refused(f"the card has no path for {value.dtype} ('{name}')")
    shapes = tuple(
        None
        if not name
        else (constants[name].shape if name in constants else graph.values[name].shape)
        for name in node.inputs
    )
    call = Call(
        node=node,
        shapes=shapes,
        constants=tuple(constants.get(name) for name in node.inputs),
        output_shapes=tuple(graph.values[name].shape if name else () for name in node.outputs),
    )
    return operator.make(call)
