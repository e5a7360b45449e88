"""A builder of small graphs with random weights, for models of public shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
BOOL, STRING, UINT8 = TensorProto.BOOL, TensorProto.STRING, TensorProto.UINT8
MICROSOFT, LEARNED = "com.microsoft", "ai.onnx.ml"

Operand = Any
"""The name of a tensor, or a constant: an array, a number, a list of whole numbers."""


class Net:
    """A graph: called with an operator and its operands it adds a node and returns its output."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: list[Any] = []

    def input(self, name: str, *shape: int | str | None, element: int = FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def output(self, tensor: str, name: str, element: int = FLOAT) -> None:
        self("Identity", tensor, names=(name,))
        self._outputs.append(helper.make_tensor_value_info(name, element, None))

    def model(self, opset: int = 17, domains: Sequence[tuple[str, int]] = ()) -> ModelProto:
        graph = helper.make_graph(
            self._nodes, "graph", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid(*pair) for pair in (("", opset), *domains)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def branch(self, *outputs: str, shape: Sequence[int | str] | None = None) -> Any:
        """The nodes so far as an inner graph with these outputs."""
        values = [helper.make_tensor_value_info(name, FLOAT, shape) for name in outputs]
        return helper.make_graph(self._nodes, "inner", [], values, self._constants)

    def __call__(
        self,
        op: str,
        *operands: Operand,
        names: Sequence[str] = (),
        count: int = 1,
        **attributes: Any,
    ) -> Any:
        outputs = list(names) or [f"{op}_{id(self)}_{len(self._nodes)}_{i}" for i in range(count)]
        inputs = [self._named(operand) for operand in operands]
        self._nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def _named(self, operand: Operand) -> str:
        if operand is None or isinstance(operand, str):
            return operand or ""
        if isinstance(operand, float):
            operand = np.array(operand, np.float32)
        array = np.asarray(operand)
        name = f"constant_{id(self)}_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *shape: int, scale: float = 0.0) -> np.ndarray:
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])
        return (self._rng.standard_normal(shape) * scale).astype(np.float32)

    def linear(self, x: str, width: int, out: int) -> str:
        return self(
            "Add", self("MatMul", x, self.weights(width, out)), self.weights(out, scale=0.1)
        )

    def conv(self, x: str, width: int, out: int, kernel: int = 3, stride: int = 1) -> str:
        pads = [kernel // 2] * 4
        weights = self.weights(out, width, kernel, kernel)
        return self("Relu", self("Conv", x, weights, pads=pads, strides=[stride] * 2))

    def conv1d(
        self, x: str, width: int, out: int, kernel: int = 3, stride: int = 1, pad: int = -1
    ) -> str:
        pads = [kernel // 2 if pad < 0 else pad] * 2
        return self(
            "Relu", self("Conv", x, self.weights(out, width, kernel), pads=pads, strides=[stride])
        )

    def embedding(self, ids: str, rows: int, width: int) -> str:
        return self("Gather", self.weights(rows, width, scale=0.5), ids)

    def norm(self, x: str, width: int) -> str:
        return self(
            "LayerNormalization", x, np.ones(width, np.float32), np.zeros(width, np.float32)
        )

    def size(self, x: str, axis: int) -> str:
        """The size of a tensor along an axis, as a vector of one."""
        return self("Gather", self("Shape", x), [axis])

    def flat(self, picture: str, width: int, places: int = -1) -> str:
        """The places of a picture [batch, width, ...] as rows [batch, places, width]."""
        rows = self("Reshape", picture, [0, width, places])
        return self("Transpose", rows, perm=[0, 2, 1])

    def heads(self, x: str, heads: int, width: int) -> str:
        split = self("Reshape", x, [0, 0, heads, width // heads])
        return self("Transpose", split, perm=[0, 2, 1, 3])

    def attend(self, q: str, k: str, v: str, width: int, bias: str = "") -> str:
        """Attention of what `heads` gives."""
        scores = self("Mul", self("MatMul", q, self("Transpose", k, perm=[0, 1, 3, 2])), 0.25)
        scores = self("Add", scores, bias) if bias else scores
        mixed = self("MatMul", self("Softmax", scores, axis=-1), v)
        return self("Reshape", self("Transpose", mixed, perm=[0, 2, 1, 3]), [0, 0, width])

    def block(
        self, x: str, width: int, heads: int, bias: str = "", other: str = "", inner: int = 0
    ) -> str:
        """A layer of a transformer; `other` is what it attends to, of `inner` columns."""
        normed = self.norm(x, width)
        q = self.heads(self.linear(normed, width, width), heads, width)
        k, v = (
            self.heads(self.linear(other or normed, inner or width, width), heads, width)
            for _ in range(2)
        )
        x = self("Add", x, self.linear(self.attend(q, k, v, width, bias), width, width))
        wide = self("Relu", self.linear(self.norm(x, width), width, 2 * width))
        return self("Add", x, self.linear(wide, 2 * width, width))

    def cached(
        self, x: str, past: Sequence[str], width: int, heads: int, bias: str = ""
    ) -> tuple[str, str, str]:
        """A layer whose keys and values are joined to those of `past`; with the joined ones."""
        normed = self.norm(x, width)
        q, k, v = (self.heads(self.linear(normed, width, width), heads, width) for _ in range(3))
        keys, values = (self("Concat", p, n, axis=2) for p, n in zip(past, (k, v), strict=True))
        mixed = self.attend(q, keys, values, width, bias)
        return self("Add", x, self.linear(mixed, width, width)), keys, values

    def hidden(self, mask: str) -> str:
        """What an attention mask [batch, keys] of 0 and 1 adds to scores."""
        seen = self("Cast", self("Unsqueeze", mask, [1, 2]), to=FLOAT)
        return self("Mul", self("Sub", 1.0, seen), -10000.0)

    def until(self, lengths: str, steps: str) -> str:
        """A mask [batch, steps] of floats that ends at the lengths; `steps` is a vector of one."""
        positions = self("Range", 0, self("Squeeze", steps, [0]), 1)
        return self("Cast", self("Less", positions, self("Unsqueeze", lengths, [1])), to=FLOAT)
