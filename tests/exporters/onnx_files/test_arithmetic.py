"""The narrowest type that a graph multiplies in is found, wherever it lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper

from exporters.onnx_files.counts import Arithmetic, arithmetic
from tests.exporters.graphs import graph, tensor

X, Y = tensor("x", ["batch", 8]), tensor("y", ["batch", 8])
FULL = np.ones((8, 8), np.float32)
_node = helper.make_node


def _arithmetic_of(nodes: Sequence[NodeProto], **weights: np.ndarray) -> Arithmetic:
    return arithmetic(graph(nodes, [X], [Y], weights, vendor="com.microsoft"))


def test_a_float_graph_is_one_and_its_products_are_counted_along_its_longest_path() -> None:
    nodes = [
        _node("MatMul", ["x", "w"], ["a"]),
        _node("MatMul", ["a", "w"], ["b"]),
        _node("MatMul", ["x", "w"], ["c"]),
        _node("Add", ["b", "c"], ["y"]),
    ]
    assert _arithmetic_of(nodes, w=FULL) == Arithmetic("fp32", 2)


def test_a_half_graph_with_float_ends_is_a_half_graph() -> None:
    """What `keep_io_types` makes: its 5e-4 is no fault of the runtime."""
    nodes = [
        _node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        _node("MatMul", ["h", "w"], ["m"]),
        _node("Cast", ["m"], ["y"], to=TensorProto.FLOAT),
    ]
    assert _arithmetic_of(nodes, w=FULL.astype(np.float16)).narrowest == "fp16"


def test_products_in_a_narrow_type_count_where_weights_are_wide() -> None:
    nodes = [
        _node("Cast", ["x"], ["h"], to=TensorProto.BFLOAT16),
        _node("Cast", ["w"], ["v"], to=TensorProto.BFLOAT16),
        _node("MatMul", ["h", "v"], ["m"]),
        _node("Cast", ["m"], ["y"], to=TensorProto.FLOAT),
    ]
    assert _arithmetic_of(nodes, w=FULL).narrowest == "bf16"


def test_weights_that_are_stored_narrow_count_where_products_are_wide() -> None:
    nodes = [
        _node("Cast", ["w"], ["v"], to=TensorProto.FLOAT),
        _node("Transpose", ["v"], ["t"]),
        _node("MatMul", ["x", "t"], ["y"]),
    ]
    assert _arithmetic_of(nodes, w=FULL.astype(np.float16)).narrowest == "fp16"


@pytest.mark.parametrize("form", ["qdq", "integer", "vendor"])
def test_quantised_graphs_are_found_in_each_of_their_forms(form: str) -> None:
    eight, scale = np.ones((8, 8), np.uint8), np.array(0.1, np.float32)
    if form == "qdq":
        nodes = [
            _node("DequantizeLinear", ["w", "scale"], ["v"]),
            _node("MatMul", ["x", "v"], ["y"]),
        ]
    elif form == "integer":
        nodes = [
            _node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
            _node("MatMulInteger", ["q", "w", "z"], ["i"]),
            _node("Cast", ["i"], ["y"], to=TensorProto.FLOAT),
        ]
    else:
        nodes = [_node("MatMulNBits", ["x", "w", "scale"], ["y"], domain="com.microsoft")]
    assert _arithmetic_of(nodes, w=eight, scale=scale).narrowest == "int8"


def test_narrow_types_beside_the_products_of_a_float_graph_do_not_count() -> None:
    nodes = [
        _node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        _node("Cast", ["h"], ["f"], to=TensorProto.FLOAT),
        _node("Relu", ["f"], ["r"]),
        _node("MatMul", ["r", "w"], ["y"]),
    ]
    assert _arithmetic_of(nodes, w=FULL).narrowest == "fp32"
    nodes = [nodes[0], _node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)]
    assert _arithmetic_of(nodes) == Arithmetic("fp16", 0)
