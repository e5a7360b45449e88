"""An ONNX file becomes a graph of fixed shapes, or one sentence says why it can't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser

from runtimes.errors import CompileFault, Unsupported
from runtimes.fpga.graph.graph import fuse
from runtimes.fpga.graph.importer import import_model, load
from tests.runtimes.fpga.graphs import cnn_step
from tests.runtimes.fpga.ort_sessions import model, of_text


def dynamic() -> onnx.ModelProto:
    """A reshape whose target is computed from the input's own shape."""
    text = """(float[batch,4,6] x) => (float[batch,8] y) {
        shape = Shape(x) batch = Gather(shape, zero) target = Concat <axis = 0> (batch, columns)
        flat = Reshape(x, target) y = MatMul(flat, w)
    }"""
    return of_text(text, zero=[0], columns=[24], w=np.ones((24, 8), np.float32))


@pytest.mark.parametrize(
    ("op", "held", "attributes", "opset"),
    [
        ("MeanVarianceNormalization", 0, {}, 13),
        ("GroupNormalization", 2, {"num_groups": 2}, 18),
        ("GroupNormalization", 2, {"num_groups": 2}, 21),
        ("GreaterOrEqual", 1, {}, 12),
    ],
)
def test_shapes_that_onnx_infers_nothing_of_are_those_of_the_inputs(
    op: str, held: int, attributes: dict[str, Any], opset: int
) -> None:
    count = 2 if opset == 18 else 4
    weights = {f"w{i}": np.ones(count if held > 1 else 1, np.float32) for i in range(held)}
    kind = TensorProto.BOOL if op == "GreaterOrEqual" else TensorProto.FLOAT
    node = helper.make_node(op, ["x", *weights], ["y"], "node", **attributes)
    proto = model([node], {"x": [1, 4, 2, 3]}, {"y": None}, weights, opset, {"y": kind})
    assert import_model(proto, {}).values["y"].shape == (1, 4, 2, 3)


def test_a_constant_node_that_the_evaluator_cannot_compute_remains_a_node() -> None:
    """ONNX's text of the pool and its shape inference disagree, so the evaluator refuses it."""
    text = """(float[1,2,1,1] x) => (float[] y) {
        pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2], auto_pad = "VALID",
            ceil_mode = 1> (w)
        y = Add(x, pooled)
    }"""
    graph = import_model(of_text(text, w=np.ones((1, 2, 3, 3), np.float32)), {})
    assert [node.op for node in graph.nodes] == ["MaxPool", "Add"]


def test_shape_arithmetic_is_folded_once_the_axes_are_fixed() -> None:
    graph = import_model(dynamic(), {"batch": 3})
    assert [node.op for node in graph.nodes] == ["Reshape", "MatMul"]
    assert graph.constants[graph.nodes[0].inputs[1]].tolist() == [3, 24]
    assert graph.values[graph.outputs[0]].shape == (3, 8)


def test_a_long_table_of_positions_is_gathered_beforehand() -> None:
    """As each BERT does with its token types; onnx's own evaluator stops at 64 entries."""
    table, places = np.arange(512.0, dtype=np.float32)[None], np.arange(511, 447, -1)[None]
    text = """(float[1,64] x) => (float[1,64] y) {
        rows = GatherElements <axis = 1> (table, places) y = Add(x, rows)
    }"""
    graph = import_model(of_text(text, table=table, places=places), {})
    assert [node.op for node in graph.nodes] == ["Add"]
    assert np.array_equal(graph.constants["rows"], table[:, 511:447:-1])


def test_an_open_dimension_or_a_wrong_axis_is_named_with_the_flag_that_sets_it() -> None:
    with pytest.raises(Unsupported, match=r"batch.*'x'.*--axis batch=1"):
        import_model(dynamic(), {})
    with pytest.raises(Unsupported, match=r"no axis 'batc'.*: batch$"):
        import_model(dynamic(), {"batch": 1, "batc": 4})
    relu = of_text("(float[?,4] x) => (float[?,4] y) { y = Relu(x) }")
    with pytest.raises(Unsupported, match=r"--axis x_0=1"):
        import_model(relu, {})
    assert import_model(relu, {"x_0": 5}).values["x"].shape == (5, 4)


def test_states_come_from_the_file_and_axes_from_its_usual_sizes(tmp_path: Path) -> None:
    model = cnn_step(2, 32).model()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "batch"
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.helper.set_model_props(
        model, {"graphlap.states": '[["s0", "t0"]]', "graphlap.axes": '{"batch": 2}'}
    )
    path = tmp_path / "step.onnx"
    onnx.save(model, path)
    graph = load(path)
    assert graph.states == (("s0", "t0"),)
    assert graph.values["x"].shape == (2, 32, 1)
    assert load(path, {"batch": 7}).values["x"].shape == (7, 32, 1)
    assert load(path, {}, ()).states == ()


def test_constants_are_computed_and_unused_ones_dropped() -> None:
    text = """(float[2,4] x) => (float[2,4] y) {
        scale = Mul(two, three) unused = Relu(x) y = Mul(x, scale)
    }"""
    graph = import_model(
        of_text(text, two=np.ones(1, np.float32) * 2, three=np.ones(1, np.float32) * 3), {}
    )
    assert [node.op for node in graph.nodes] == ["Mul"]
    assert [array.tolist() for array in graph.constants.values()] == [[6.0]]


def test_a_local_function_is_taken_apart() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 20, "mine": 1]>
        graph (float[2,4] x) => (float[2,4] y) { y = mine.Twice(x) }
        <domain: "mine", opset_import: ["": 20]> Twice (a) => (b) { b = Add(a, a) }
    """)
    assert [node.op for node in import_model(model, {}).nodes] == ["Add"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("y = NonZero(x)", "depends on data"),
        (
            "y = If(flag) <"
            "then_branch = a () => (float[1] k) { k = Constant <value_floats = [1.0]> () }, "
            "else_branch = b () => (float[1] l) { l = Constant <value_floats = [2.0]> () }>",
            "If node",
        ),
    ],
)
def test_what_has_no_fixed_shapes_or_order_is_named(text: str, told: str) -> None:
    proto = of_text(f"(float[4] x, bool flag) => (float[] y) {{ [here] {text} }}")
    with pytest.raises(Unsupported, match=told) as exc_info:
        import_model(proto, {})
    assert exc_info.value.node == "here"


def test_an_operator_of_another_domain_is_named() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 20, "com.magic": 1]>
        graph (float[4] x) => (float[4] y) { [wand] y = com.magic.Magic(x) }
    """)
    with pytest.raises(Unsupported, match=r"com\.magic\.Magic \(node 'wand'\)"):
        import_model(model, {})


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("hello")
    with pytest.raises(CompileFault, match="is no valid ONNX file"):
        load(path)
    with pytest.raises(CompileFault, match="is no valid ONNX file"):
        load(tmp_path / "absent.onnx")


FUSED: dict[str, tuple[str, list[list[str]]]] = {
    "a norm, scale and bias go into the weights": (
        """c = Conv(x, w) n = BatchNormalization(c, v8, v8, v8, v8) m = Mul(column, n)
        a = Add(m, row) y = Relu(a)""",
        [["Conv", "BatchNormalization", "Mul", "Add"], ["Relu"]],
    ),
    "no row of weights holds one value for each place": (
        "c = Conv(x, w) y = Add(c, v4)",
        [["Conv"], ["Add"]],
    ),
    "no row of weights holds one value for each of a batch": (
        "c = Conv(x, w) y = Add(c, planes)",
        [["Conv"], ["Add"]],
    ),
    "a norm whose statistics are computed stays": (
        "c = Conv(x, w) y = BatchNormalization(c, v8, v8, mean, v8)",
        [["Conv"], ["BatchNormalization"]],
    ),
    "a tensor that others read ends a chain": (
        "r = Relu(x) s = Sigmoid(r) t = Tanh(r) y = Concat <axis = 0> (s, t)",
        [["Relu"], ["Sigmoid"], ["Tanh"], ["Concat"]],
    ),
    "a chain ends where its shape grows": (
        "r = Relu(mean) y = Add(r, plane_of_rows)",
        [["Relu"], ["Add"]],
    ),
    "a chain waits for the operand that it needs last": (
        "p = MatMul(x, square) r = Relu(p) o = MatMul(x, square) y = Add(r, o)",
        [["MatMul"], ["MatMul"], ["Relu", "Add"]],
    ),
}
SHAPES = {
    **{"w": (8, 4, 3), "v4": (4,), "v8": (8,), "column": (8, 1), "row": (1, 8, 1)},
    **{"planes": (2, 8, 4), "plane_of_rows": (3, 8), "square": (6, 6)},
}


@pytest.mark.parametrize("case", FUSED)
def test_nodes_are_fused(case: str) -> None:
    text, expected = FUSED[case]
    words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    weights = {name: np.ones(shape, np.float32) for name, shape in SHAPES.items() if name in words}
    ends = "(float[1,4,6] x, float[8] mean) => (float[] y)"
    proto = of_text(f"{ends} {{ {text} }}", **weights)
    assert [[n.op for n in group.nodes] for group in fuse(import_model(proto, {}))] == expected
