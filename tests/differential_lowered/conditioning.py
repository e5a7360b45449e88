"""How much rounding a graph's products to a precision moves its outputs, apart from any conversion.

A converter may be right and its outputs far away: a Relu that keeps only a small remainder of its
input leaves the rounding error as it was and removes the values that made it small. Such a graph
is ill-conditioned, and no comparison of its outputs says anything about the converter.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, TensorProto, helper

from exporters.agreement import difference
from exporters.types import Precision
from tests.differential_lowered.card import quiet_options

PRODUCTS = ("Conv", "Gemm", "MatMul")
"""The operators whose first two operands every precision rounds."""
_UNIT: Mapping[Precision, float] = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp8": 2.0**-4}
"""Half a unit in the last place as a part of the value, at most."""
_LEVELS = 127
"""Steps of int8 from 0 to the largest value of a tensor."""
_RUNS = 8


def sensitivity(
    proto: ModelProto, feeds: Mapping[str, np.ndarray], precision: Precision
) -> dict[str, float]:
    """The largest relative difference of each output, by its name, in runs whose products have
    operands that are off by a random part of a rounding step."""
    noisy_proto, operands = _with_disturbances(proto)
    options = quiet_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        noisy_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    none = {_disturbance(name): np.zeros(1, np.float32) for name in operands}
    names = [value.name for value in proto.graph.output]
    arrays = [np.asarray(a) for a in session.run([*names, *operands], {**feeds, **none})]
    exact = dict(zip(names, arrays[: len(names)], strict=True))
    values = dict(zip(operands, arrays[len(names) :], strict=True))
    rng = np.random.default_rng(0)
    largest = dict.fromkeys(names, 0.0)
    for _ in range(_RUNS):
        noise = {_disturbance(n): _rounding(array, precision, rng) for n, array in values.items()}
        for name, array in zip(names, session.run(names, {**feeds, **noise}), strict=True):
            off = difference(np.asarray(array), exact[name]).relative
            largest[name] = max(largest[name], off)
    return largest


def _rounding(array: np.ndarray, precision: Precision, rng: np.random.Generator) -> np.ndarray:
    """An error that rounding may make; zero stays exact, as in each of the formats."""
    if precision in _UNIT:
        step = 2 * _UNIT[precision] * np.abs(array)
    else:
        step = np.abs(array).max(initial=0) / _LEVELS * (array != 0)
    return np.asarray(step * rng.uniform(-0.5, 0.5, array.shape), np.float32)


def _with_disturbances(proto: ModelProto) -> tuple[ModelProto, list[str]]:
    """The graph with an input for each operand of a product that is added to it there, and the
    operands, which are outputs too."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    graph = copy.graph
    ends = {value.name for value in graph.output}
    operands: dict[str, None] = {}
    nodes = []
    for node in graph.node:
        if node.op_type in PRODUCTS:
            for place, name in enumerate(node.input[:2]):
                if name not in operands:
                    operands[name] = None
                    sum_ = helper.make_node("Add", [name, _disturbance(name)], [_noisy_name(name)])
                    nodes.append(sum_)
                node.input[place] = _noisy_name(name)
        nodes.append(node)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    for name in operands:
        kind = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        graph.input.append(helper.make_value_info(_disturbance(name), kind))
        if name not in ends:
            graph.output.append(helper.make_value_info(name, kind))
    return copy, list(operands)


def _disturbance(name: str) -> str:
    return f"{name}_disturbance"


def _noisy_name(name: str) -> str:
    return f"{name}_disturbed"
