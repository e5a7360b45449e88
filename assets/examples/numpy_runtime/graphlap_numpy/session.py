"""A graph as steps in turn, each a numpy function over arrays that are there beforehand."""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import partial

import numpy as np
import onnx
from graphlap.runtime import (
    CompileFault,
    Execution,
    HostLane,
    NodePlacement,
    Request,
    Session,
    Unsupported,
    aligned_empty,
    input_buffers,
)
from onnx import helper, numpy_helper

from graphlap_numpy.operators import OPERATORS


class NumpyLane(HostLane):
    """`run` takes the steps in turn; binding, feeding, states and outputs are the base's."""

    def __init__(self, request: Request, graph: onnx.GraphProto) -> None:
        inputs = input_buffers(request)
        arrays: dict[str, np.ndarray] = dict(inputs)
        arrays |= {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        steps = [_step(node, arrays) for node in graph.node]
        outputs = {spec.name: arrays[spec.name] for spec in request.model.outputs}
        super().__init__(inputs, outputs, request.model.states)
        self.placement = tuple(
            NodePlacement(
                node.name or node.output[0], node.op_type, "numpy", _type(arrays[node.output[0]])
            )
            for node in graph.node
        )

        def run() -> None:
            for step in steps:
                step()

        self.run = run


class NumpySession(Session):
    def __init__(self, request: Request) -> None:
        try:
            graph = onnx.load(request.model.path).graph
        except Exception as error:
            raise CompileFault(
                f"{request.model.path} can't be read ({type(error).__name__})", "export it again"
            ) from error
        self._lane = NumpyLane(request, graph)
        self.lanes = (self._lane,)
        self.execution = Execution(
            provider="numpy",
            precision="fp32",
            device_name=platform.processor() or platform.machine(),
            call_path="numpy functions, one for each node, from Python",
            placement=self._lane.placement,
        )

    def close(self) -> None:
        self._lane.close()


def _type(array: np.ndarray) -> str:
    return "fp32" if array.dtype == np.float32 else array.dtype.name


def _step(node: onnx.NodeProto, arrays: dict[str, np.ndarray]) -> Callable[[], None]:
    """What computes the node in place; its output is added to `arrays`.

    The operator runs once here, over inputs of zeros, which tells the shape and type of its output.
    """
    operator = OPERATORS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if operator is None or len(node.output) > 1:
        known = ", ".join(OPERATORS)
        raise Unsupported(
            f"numpy does not compute {node.op_type}", f"it computes {known}", node=node.name
        )
    attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    inputs = [arrays[name] if name else None for name in node.input]
    try:
        told = operator(inputs, attributes, None)
    except (TypeError, ValueError) as error:
        raise CompileFault(
            f"{node.op_type} {node.name!r} can't be computed ({error})", "mend the graph"
        ) from error
    if told.dtype.kind == "f" and told.dtype != np.float32:
        raise Unsupported(
            f"{node.op_type} computes in {told.dtype}", "use a graph of float32", node=node.name
        )
    out = arrays[node.output[0]] = aligned_empty(told.shape, told.dtype)
    return partial(operator, inputs, attributes, out)
