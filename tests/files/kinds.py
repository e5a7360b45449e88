"""The table of files that the tests build: every kind of file that ONNX Runtime opens.

Each module of this folder has builders of one subject. A builder writes one file into an empty
folder, without the internet, and returns its path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

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


def saved(proto: ModelProto, folder: Path, name: str) -> Path:
    """The model as a file of its own."""
    path = folder / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def one(group: str, name: str, make: Callable[[], ModelProto], axes: Sequence[str] = ()) -> Kind:
    """A file that holds this model."""
    return Kind(group, name, lambda folder: saved(make(), folder, name), tuple(axes))
