"""The table of files that the tests build: every kind of file that ONNX Runtime opens.

Each module of this folder has builders of one subject. A builder writes one file into an empty
folder, without the internet, and returns its path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, parser

node = helper.make_node
Build = Callable[[Path], Path]
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
MICROSOFT, LEARNED = "com.microsoft", "ai.onnx.ml"


@dataclass(frozen=True, slots=True)
class Kind:
    """One file: the group of the table that it stands in, its name, and who builds it.

    `axes` are sizes that have to be given, as `NAME=SIZE`.
    """

    group: str
    name: str
    build: Build
    axes: tuple[str, ...] = ()


def value(name: str, element: int, shape: Sequence[int | str | None] | None) -> ValueInfoProto:
    """An input or output that is one tensor."""
    return helper.make_tensor_value_info(name, element, shape)


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Float32 numbers, the same for the same arguments."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def constant(name: str, array: np.ndarray) -> TensorProto:
    """An initializer."""
    return numpy_helper.from_array(array, name)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: Sequence[TensorProto] = (),
    opset: int = 17,
    ir: int = 8,
    domains: Sequence[tuple[str, int]] = (),
) -> ModelProto:
    """A model of these nodes."""
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    opsets = [helper.make_opsetid(*pair) for pair in (("", opset), *domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir)


def written(
    text: str,
    opset: int = 17,
    ir: int = 8,
    domains: Sequence[tuple[str, int]] = (),
    /,
    **constants: Any,
) -> ModelProto:
    """A model by ONNX's text of its graph: `(inputs) => (outputs) { nodes }`."""
    graph = parser.parse_graph(f"graph {text}")
    graph.initializer.extend(constant(name, array) for name, array in constants.items())
    opsets = [helper.make_opsetid(*pair) for pair in (("", opset), *domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir)


def saved(proto: ModelProto, folder: Path, name: str) -> Path:
    """The model as a file of its own."""
    path = folder / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def one(group: str, name: str, make: Callable[[], ModelProto], axes: Sequence[str] = ()) -> Kind:
    """A file that holds this model."""
    return Kind(group, name, lambda folder: saved(make(), folder, name), tuple(axes))


def dense(opset: int = 17, ir: int = 8) -> ModelProto:
    """Two matrices with a bias and a Relu between them."""
    text = """(float[batch,64] x) => (float[batch,16] y) {
        a = MatMul(x, w0)
        b = Add(a, b0)
        c = Relu(b)
        y = Gemm(c, w1, b1)
    }"""
    w0, b0 = draw(64, 32, seed=1), draw(32, seed=2)
    return written(text, opset, ir, w0=w0, b0=b0, w1=draw(32, 16, seed=3), b1=draw(16, seed=4))


def convolutions(opset: int = 17, ir: int = 8) -> ModelProto:
    """Convolutions with a norm, a sum and a pool, as picture networks have them."""
    text = """(float[batch,3,16,16] x) => (float[batch,10] y) {
        a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w0, b0)
        b = BatchNormalization(a, s, t, m, v)
        c = Relu(b)
        d = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (c, w1)
        e = Add(d, c)
        f = Relu(e)
        g = GlobalAveragePool(f)
        h = Flatten <axis = 1> (g)
        y = Gemm(h, w2, b2)
    }"""
    constants = {
        "w0": draw(16, 3, 3, 3, seed=1, scale=0.2),
        "b0": draw(16, seed=2),
        "s": np.abs(draw(16, seed=3)) + 0.5,
        "t": draw(16, seed=4),
        "m": draw(16, seed=5),
        "v": np.abs(draw(16, seed=6)) + 0.5,
        "w1": draw(16, 16, 3, 3, seed=7, scale=0.1),
        "w2": draw(16, 10, seed=8),
        "b2": draw(10, seed=9),
    }
    return written(text, opset, ir, **constants)


def normalised(opset: int = 14, ir: int = 7) -> ModelProto:
    """A layer norm and a Gelu written in small operators, as exporters below opset 17 do."""
    text = """(float[batch,8,32] x) => (float[batch,8,32] y) {
        a = MatMul(x, w) b = Add(a, bias)
        mean = ReduceMean <axes = [-1]> (b) d = Sub(b, mean) sq = Pow(d, two)
        var = ReduceMean <axes = [-1]> (sq) ve = Add(var, eps) sd = Sqrt(ve) n = Div(d, sd)
        g = Mul(n, gamma) h = Add(g, beta)
        i = Div(h, root) j = Erf(i) k = Add(j, one) l = Mul(h, k) y = Mul(l, half)
    }"""
    numbers = {"two": 2.0, "eps": 1e-5, "root": 2.0**0.5, "one": 1.0, "half": 0.5}
    scalars = {name: np.array(number, np.float32) for name, number in numbers.items()}
    vectors = {name: draw(32, seed=seed) for seed, name in enumerate(("bias", "gamma", "beta"), 2)}
    return written(text, opset, ir, w=draw(32, 32, seed=1), **vectors, **scalars)


def recurrent(opset: int = 14, ir: int = 7) -> ModelProto:
    """An LSTM over an embedding."""
    text = """(int64[steps,batch] ids) => (float[batch,16] y) {
        e = Gather(table, ids) , h = LSTM <hidden_size = 16> (e, w, r, b) y = Squeeze(h, axes)
    }"""
    w, r = draw(1, 64, 8, seed=2, scale=0.3), draw(1, 64, 16, seed=3, scale=0.3)
    vectors = {"b": draw(1, 128, seed=4), "axes": np.array([0])}
    return written(text, opset, ir, table=draw(50, 8, seed=1), w=w, r=r, **vectors)
