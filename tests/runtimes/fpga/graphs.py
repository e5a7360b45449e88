"""Small ONNX models made node by node: the step and sequence forms that the tests time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.graph.importer import import_model

FLOAT = TensorProto.FLOAT


class ModelBuilder:
    """Collects nodes and random weights of one model."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.states: list[tuple[str, str]] = []
        self._rng = np.random.default_rng(7)

    def input(self, name: str, shape: Sequence[int | str], kind: int = FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: Sequence[int | str] | None = None, kind: int = FLOAT) -> str:
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def weights(self, *shape: int) -> str:
        array = self._rng.standard_normal(shape, dtype=np.float32) * 0.1
        return self.constant(array)

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes)
        )
        return names[0]

    def last_outputs(self) -> list[str]:
        return list(self.nodes[-1].output)

    def model(self, opset: int = 20) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "graph", self.inputs, self.outputs, self.initializers)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10
        )
        helper.set_model_props(model, {"graphlap.states": json.dumps(self.states)})
        return onnx.shape_inference.infer_shapes(model)

    def graph(self, **axes: int) -> Graph:
        return import_model(self.model(), axes)


def cnn_step(layers: int, channels: int, taps: int = 8, batch: int = 1) -> ModelBuilder:
    """Causal convolutions with ReLU and a residual, one time step, state explicit."""
    builder = ModelBuilder()
    x = builder.input("x", [batch, channels, 1])
    following: list[tuple[str, str]] = []
    for layer in range(layers):
        state = builder.input(f"s{layer}", [batch, channels, taps - 1])
        window = builder.add("Concat", state, x, axis=2)
        ends = (builder.constant(np.array([bound])) for bound in (1, 2**62, 2))
        following.append((state, builder.add("Slice", window, *ends)))
        made_by = builder.add(
            "Conv", window, builder.weights(channels, channels, taps), builder.weights(channels)
        )
        x = builder.add("Add", builder.add("Relu", made_by), x)
    builder.output(x)
    for state, output in following:
        builder.output(output)
        builder.states.append((state, output))
    return builder


def lstm_step(layers: int, hidden_size: int, outputs: int = 32, batch: int = 1) -> ModelBuilder:
    """LSTM layers and a linear one, one time step, state explicit, batch first as torch has it."""
    builder = ModelBuilder()
    x = builder.input("x", [batch, 1, hidden_size])
    following: list[tuple[str, str]] = []
    for layer in range(layers):
        states = [builder.input(f"{part}{layer}", [1, batch, hidden_size]) for part in "hc"]
        time_first = builder.add("Transpose", x, perm=[1, 0, 2])
        builder.add(
            "LSTM",
            time_first,
            builder.weights(1, 4 * hidden_size, hidden_size),
            builder.weights(1, 4 * hidden_size, hidden_size),
            builder.weights(1, 8 * hidden_size),
            "",
            *states,
            outputs=3,
            hidden_size=hidden_size,
        )
        every, *last = builder.last_outputs()
        last_output = builder.add("Squeeze", every, builder.constant(np.array([1])))
        x = builder.add("Transpose", last_output, perm=[1, 0, 2])
        following.extend(zip(states, last, strict=True))
    product = builder.add("MatMul", x, builder.weights(hidden_size, outputs))
    builder.output(builder.add("Add", product, builder.weights(outputs)))
    for state, output in following:
        builder.output(output)
        builder.states.append((state, output))
    return builder


def mlp(*widths: int, batch: int = 1) -> ModelBuilder:
    """Dense layers with ReLU between them."""
    builder = ModelBuilder()
    x = builder.input("x", [batch, widths[0]])
    for layer, (width, next_width) in enumerate(pairwise(widths)):
        x = builder.add(
            "Gemm", x, builder.weights(next_width, width), builder.weights(next_width), transB=1
        )
        if layer + 2 < len(widths):
            x = builder.add("Relu", x)
    builder.output(x)
    return builder
