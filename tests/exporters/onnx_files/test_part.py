"""A part cut out of a user's graph is that part, and a cut that makes no sense is explained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from exporters.messages import ExportRequest
from exporters.onnx_files.model_io import inspect
from exporters.types import ExportedModel, ExportError, load_reference
from exporters.worker.export import export
from tests.exporters.graphs import LIGHT, graph, tensor

_WEIGHTS = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)


@pytest.fixture
def branched(tmp_path: Path) -> Path:
    """x -> first -> (left, right) -> sum -> last, and x -> side, an output of its own."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Transpose", ["w"], ["wt"], name="turned"),
        helper.make_node("MatMul", ["a", "wt"], ["b"], name="left"),
        helper.make_node("Relu", ["a"], ["c"], name="right"),
        helper.make_node("Add", ["b", "c"], ["d"], name="sum"),
        helper.make_node("Sigmoid", ["d"], ["y"], name="last"),
        helper.make_node("Neg", ["x"], ["z"], name="side"),
        helper.make_node("Tanh", ["x"], ["unnamed_result"]),
    ]
    outputs = [tensor(name, ["rows", 4]) for name in ("y", "z", "unnamed_result")]
    path = tmp_path / "branched.onnx"
    onnx.save(graph(nodes, [tensor("x", ["rows", 4])], outputs, {"w": _WEIGHTS}), path)
    return path


def _cut(path: Path, first: tuple[str, ...], last: tuple[str, ...]) -> ExportedModel:
    request = ExportRequest(
        str(path),
        points=({"rows": 3},),
        from_nodes=first,
        to_nodes=last,
        cache_dir=str(path.parent / "cache"),
    )
    return export(request)[0]


def _names(model: ExportedModel) -> set[str]:
    return {node.name for node in onnx.load(model.path).graph.node}


def test_the_part_between_two_nodes_computes_what_they_do(branched: Path) -> None:
    model = _cut(branched, ("left",), ("sum",))
    assert _names(model) == {"turned", "left", "right", "sum"}
    assert [spec.name for spec in model.inputs] == ["a"]
    assert [spec.name for spec in model.outputs] == ["d"]
    assert model.inputs[0].shape == ("rows", 4)
    (file,) = model.references.values()
    reference = load_reference(file)
    a = reference.inputs["a"]
    expected = a @ _WEIGHTS.T + np.maximum(a, 0)
    assert np.allclose(reference.outputs["d"], expected, rtol=1e-5, atol=1e-5)
    session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    (actual,) = session.run(["d"], {"a": a})
    assert np.allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_one_end_alone_goes_to_the_graphs_own(branched: Path) -> None:
    head = _cut(branched, (), ("right",))
    assert (_names(head), head.inputs[0].name) == ({"first", "right"}, "x")
    tail = _cut(branched, ("sum",), ("last",))
    assert _names(tail) == {"sum", "last"}
    assert [spec.name for spec in tail.inputs] == ["b", "c"]


def test_a_node_without_a_name_goes_by_its_first_output(branched: Path) -> None:
    model = _cut(branched, (), ("unnamed_result",))
    assert [node.op_type for node in onnx.load(model.path).graph.node] == ["Tanh"]


def test_the_plan_sees_the_axes_of_the_part(branched: Path) -> None:
    face = inspect(branched, ("left",), ("sum",))
    assert face.axes == ("rows",)
    assert [spec.name for spec in face.inputs] == ["a"]


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        (("frist",), (), "no node called 'frist': did you mean 'first'"),
        ((), ("lst",), "no node called 'lst': did you mean 'last'"),
        (("last",), ("first",), "no path leads from node 'last' of branched.onnx to 'first'"),
        (("left",), ("side",), "no path leads from node 'left' of branched.onnx to 'side'"),
        (("first",), ("last", "side"), "no path leads from node 'first' of branched.onnx to 'sid"),
    ],
)
def test_a_cut_that_makes_no_sense_says_why(
    branched: Path, first: tuple[str, ...], last: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ExportError, match=words):
        _cut(branched, first, last)


def test_a_part_of_a_file_that_lists_its_weights_as_inputs(tmp_path: Path) -> None:
    source = LIGHT / "light_squeezenet.onnx"
    proto = onnx.load(source)
    assert len(proto.graph.input) > 1
    operators = [node.op_type for node in proto.graph.node]
    pools = [n.name for n in proto.graph.node if n.op_type == "MaxPool"]
    request = ExportRequest(
        str(source), from_nodes=(pools[1],), to_nodes=(pools[2],), cache_dir=str(tmp_path)
    )
    model, _ = export(request)
    assert len(model.inputs) == len(model.outputs) == 1
    op_types = [node.op_type for node in onnx.load(model.path).graph.node]
    assert 0 < op_types.count("Conv") < operators.count("Conv")
    assert op_types.count("MaxPool") == 2
    assert model.reference == "onnx", "data packaged with the whole is not the part's"


def test_a_cut_where_no_shape_is_known_says_where(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Sharpen", ["x"], ["a"], name="custom", domain="a.vendor"),
        helper.make_node("Relu", ["a"], ["y"], name="relu"),
    ]
    path = tmp_path / "custom.onnx"
    onnx.save(graph(nodes, [tensor("x", [2])], [tensor("y", [2])], vendor="a.vendor"), path)
    with pytest.raises(ExportError, match=r"shape of 'a', where custom\.onnx would be cut"):
        inspect(path, ("relu",), ())


def test_a_definition_has_no_parts(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="leave --from-node and --to-node out"):
        export(ExportRequest("mlp", from_nodes=("a",), cache_dir=str(tmp_path)))
