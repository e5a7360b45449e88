"""Three networks of ten megabytes as .onnx files, one of each common kind, with drawn weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

WIDTH, LAYERS = 512, 10
CHANNELS = (32, 32, 64, 64, 128, 128, 256, 256, 256, 256)
"""Of the convolutions in turn; every other one of the first eight halves the image's side."""
MODEL_WIDTH, HEADS, BLOCKS, SEQUENCE, WORDS = 256, 4, 3, 64, 1000


@dataclass
class _Graph:
    """Nodes and weights in the order in which they are added."""

    nodes: list[NodeProto] = field(default_factory=list)
    weights: list[TensorProto] = field(default_factory=list)
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node; returns the name of its output."""
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def weight(self, *shape: int, inputs: int = 1) -> str:
        """A drawn weight, scaled to the number of a product's inputs."""
        values = self.generator.standard_normal(shape) / np.sqrt(inputs)
        return self.constant(values.astype(np.float32))

    def constant(self, values: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def linear(self, tensor: str, inputs: int, outputs: int) -> str:
        product = self.add("MatMul", tensor, self.weight(inputs, outputs, inputs=inputs))
        return self.add("Add", product, self.weight(outputs, inputs=outputs))

    def normalised(self, tensor: str, width: int) -> str:
        scale, bias = (self.constant(np.full(width, value, np.float32)) for value in (1, 0))
        return self.add("LayerNormalization", tensor, scale, bias)

    def write(
        self, path: Path, input_info: ValueInfoProto, output: str, shape: list[int | str]
    ) -> None:
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, path.stem, [input_info], [result], self.weights)
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def dense(path: Path) -> None:
    graph, tensor = _Graph(), "x"
    for _ in range(LAYERS):
        tensor = graph.add("Relu", graph.linear(tensor, WIDTH, WIDTH))
    input_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH])
    graph.write(path, input_info, tensor, ["batch", WIDTH])


def convolutional(path: Path) -> None:
    graph, tensor, channels = _Graph(), "x", 3
    for number, following in enumerate(CHANNELS):
        weight = graph.weight(following, channels, 3, 3, inputs=9 * channels)
        strides = [2, 2] if number in (0, 2, 4, 6) else [1, 1]
        product = graph.add("Conv", tensor, weight, pads=[1] * 4, strides=strides)
        tensor, channels = graph.add("Relu", product), following
    features = graph.add("Flatten", graph.add("GlobalAveragePool", tensor))
    output = graph.linear(features, channels, 100)
    input_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 224, 224])
    graph.write(path, input_info, output, ["batch", 100])


def transformer(path: Path) -> None:
    graph, width = _Graph(), MODEL_WIDTH
    words = graph.add("Gather", graph.weight(WORDS, width), "ids")
    tensor = graph.add("Add", words, graph.weight(SEQUENCE, width))
    for _ in range(BLOCKS):
        tensor = graph.add("Add", tensor, _attention(graph, graph.normalised(tensor, width)))
        wide = graph.linear(graph.normalised(tensor, width), width, 4 * width)
        wide = graph.add("Mul", wide, graph.add("Erf", wide))
        tensor = graph.add("Add", tensor, graph.linear(wide, 4 * width, width))
    input_info = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", SEQUENCE])
    graph.write(path, input_info, tensor, ["batch", SEQUENCE, width])


def _attention(graph: _Graph, tensor: str) -> str:
    width, head = MODEL_WIDTH, MODEL_WIDTH // HEADS
    split = graph.constant(np.array([0, 0, HEADS, head], np.int64))
    merged_shape = graph.constant(np.array([0, 0, width], np.int64))
    scale = graph.constant(np.array(head**-0.5, np.float32))

    def heads(order: list[int]) -> str:
        parts = graph.add("Reshape", graph.linear(tensor, width, width), split)
        return graph.add("Transpose", parts, perm=order)

    query, key, value = (heads(order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = graph.add("Mul", graph.add("MatMul", query, key), scale)
    context = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    merged_output = graph.add(
        "Reshape", graph.add("Transpose", context, perm=[0, 2, 1, 3]), merged_shape
    )
    return graph.linear(merged_output, width, width)


NETWORKS: Mapping[str, Callable[[Path], None]] = {
    "convolutional": convolutional,
    "dense": dense,
    "transformer": transformer,
}
"""What writes the network of each kind to a path."""
