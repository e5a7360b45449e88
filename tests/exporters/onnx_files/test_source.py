"""A user's .onnx is kept byte for byte with its reference, and a bad one says what is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from exporters.messages import ExportRequest
from exporters.onnx_files.graph import training_nodes
from exporters.onnx_files.model_io import inspect
from exporters.types import ExportedModel, ExportError, NotBenchmarkable, load_reference
from exporters.worker import export
from tests.exporters.support import LIGHT, graph, nodes_of, only_reference, save_affine, tensor


def _export(path: Path, cache: Path, *points: dict[str, int]) -> ExportedModel:
    return export(ExportRequest(str(path), points=points, cache_dir=str(cache)))[0]


def _save(path: Path, value: ValueInfoProto, *nodes: NodeProto) -> None:
    """A graph over the given input, which it passes on where no nodes are given."""
    node = helper.make_node("Identity", [value.name], ["y"])
    onnx.save(graph(nodes or [node], [value], [tensor("y", [None, 4])], opset=13), path)


def test_a_file_is_kept_as_it_is_with_the_product_as_reference(
    affine: Path, tmp_path: Path
) -> None:
    weights = save_affine(affine)
    model = _export(affine, tmp_path / "cache", {"batch": 3})
    assert Path(model.path).read_bytes() == affine.read_bytes()
    assert (model.name, model.reference, model.batch) == ("affine", "onnx", "batch")
    reference = load_reference(model.references["batch=3"])
    assert reference.inputs["x"].shape == (3, 64)
    product = reference.inputs["x"] @ weights
    assert np.allclose(reference.outputs["y"], product, rtol=1e-5, atol=1e-5)


def test_initializers_listed_as_inputs_are_no_inputs(tmp_path: Path) -> None:
    save_affine(tmp_path / "old.onnx", ir_version=3)
    face = inspect(tmp_path / "old.onnx")
    assert [spec.name for spec in face.inputs] == ["x"]
    assert face.axes == ("batch",)


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_packaged_outputs_are_the_reference_and_hold(name: str, tmp_path: Path) -> None:
    model = _export(LIGHT / f"{name}.onnx", tmp_path)
    assert (model.reference, model.batch, dict(model.axes)) == ("packaged", 1, {})
    reference = load_reference(model.references["-"])
    packaged_output = numpy_helper.to_array(onnx.load_tensor(LIGHT / f"{name}_output_0.pb"))
    (expected,) = reference.outputs.values()
    assert np.array_equal(expected, packaged_output)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.path, options, providers=["CPUExecutionProvider"])
    (actual,) = session.run(None, dict(reference.inputs))
    assert np.abs(actual - packaged_output).max() <= 1e-4 * np.abs(packaged_output).max()


def test_a_packaged_data_set_is_used_only_for_its_own_sizes(affine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "test_data_set_0"
    folder.mkdir()
    x = np.ones((2, 64), np.float32)
    claimed_output = np.full((2, 32), 5.0, np.float32)
    onnx.save_tensor(numpy_helper.from_array(x), folder / "input_0.pb")
    onnx.save_tensor(numpy_helper.from_array(claimed_output), folder / "output_0.pb")
    cache = tmp_path / "cache"
    model = _export(affine, cache, {"batch": 2})
    assert model.reference == "packaged"
    assert np.array_equal(load_reference(model.references["batch=2"]).outputs["y"], claimed_output)
    assert _export(affine, cache, {"batch": 4}).reference == "onnx"
    request = ExportRequest(
        str(affine), points=({"batch": 2},), checked=False, cache_dir=str(cache)
    )
    unchecked_model, _ = export(request)
    assert unchecked_model.inputs_drawn == model.inputs_drawn, "what is fed is the same"
    assert model.inputs_drawn.startswith("test_data_set_0 ")


@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT8E4M3FN", "INT4"])
def test_packaged_data_of_a_type_that_numpy_lacks_are_used(kind: str, tmp_path: Path) -> None:
    path, folder = tmp_path / "passed.onnx", tmp_path / "test_data_set_0"
    folder.mkdir()
    number = TensorProto.DataType.Value(kind)
    ends = [helper.make_tensor_value_info(name, number, [2, 3]) for name in ("x", "y")]
    node = helper.make_node("Identity", ["x"], ["y"])
    onnx.save(graph([node], ends[:1], ends[1:], opset=21), path)
    rows = [[-8.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    tensor_proto = helper.make_tensor("x", number, [2, 3], np.ravel(rows))
    for name in ("input_0", "output_0"):
        onnx.save_tensor(tensor_proto, folder / f"{name}.pb")
    model = _export(path, tmp_path / "cache")
    reference = load_reference(model.references["-"])
    assert model.reference == "packaged"
    assert reference.inputs["x"].tolist() == reference.outputs["y"].tolist() == rows


def test_external_data_is_kept_with_the_model(tmp_path: Path) -> None:
    path = tmp_path / "source" / "affine.onnx"
    path.parent.mkdir()
    weights = save_affine(path, external="affine.weights")
    model = _export(path, tmp_path / "cache", {"batch": 1})
    shutil.rmtree(path.parent)
    reference = load_reference(model.references["batch=1"])
    session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    (actual,) = session.run(None, dict(reference.inputs))
    assert np.allclose(actual, reference.inputs["x"] @ weights, rtol=1e-5, atol=1e-5)


def test_a_nameless_open_dimension_gets_a_name_that_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "open.onnx"
    _save(path, tensor("x", [None, 4]))
    assert inspect(path).axes == ("x_0",)
    model = _export(path, tmp_path / "cache", {"x_0": 6}, {"x_0": 2})
    assert (model.batch, model.axes["x_0"]) == ("x_0", 6)
    assert model.outputs[0].shape == ("x_0", 4)
    dimension = onnx.load(model.path).graph.input[0].type.tensor_type.shape.dim
    assert dimension[0].dim_param == "x_0"


def test_a_nameless_dimension_counts_alike_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "open.onnx"
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    weights = {"w": np.ones((4, 4), np.float32)}
    onnx.save(graph([product], [tensor("x", [None, 4])], [tensor("y", [None, 4])], weights), path)
    first, again = (_export(path, tmp_path / "cache", {"x_0": 6}) for _ in range(2))
    assert (first.macs, first.parameters) == (6 * 4 * 4, 16)
    assert again == first


def test_an_axis_left_open_or_unknown_is_named(affine: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"'batch' of affine\.onnx"):
        _export(affine, tmp_path)
    with pytest.raises(ExportError, match=r"no axis 'sequence': its axes are: batch"):
        _export(affine, tmp_path, {"batch": 1, "sequence": 2})
    with pytest.raises(ExportError, match="cannot be 0"):
        _export(affine, tmp_path, {"batch": 0})


def test_a_size_that_the_graph_cannot_take_names_the_node(tmp_path: Path) -> None:
    path = tmp_path / "pairs.onnx"
    shape = helper.make_node("Constant", [], ["s"], value_ints=[2, -1])
    value = tensor("x", ["rows", 3])
    _save(path, value, shape, helper.make_node("Reshape", ["x", "s"], ["y"], name="halve"))
    model = _export(path, tmp_path / "cache", {"rows": 3})
    assert "cannot run at rows=3: it fails in node 'halve'" in model.at({"rows": 3}).unfit_at


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [([], []), ([], [tensor("x", [3])]), ([helper.make_node("Relu", ["x"], ["y"])], [])],
)
def test_a_graph_that_computes_nothing_is_not_measured(
    tmp_path: Path, nodes: list[NodeProto], outputs: list[ValueInfoProto]
) -> None:
    onnx.save(graph(nodes, [tensor("x", [3])], outputs), tmp_path / "net.onnx")
    with pytest.raises(NotBenchmarkable, match="nothing to measure"):
        _export(tmp_path / "net.onnx", tmp_path / "cache")


@pytest.mark.parametrize(
    ("opset", "is_on", "attributes"),
    [
        (17, True, {"training_mode": 1}),
        (17, False, {"training_mode": 0}),
        (17, False, {}),
        (9, False, {}),
        (6, True, {"is_test": 0}),
        (6, False, {"is_test": 1}),
    ],
)
def test_a_normalisation_in_training_mode_is_named(
    opset: int, is_on: bool, attributes: dict[str, Any]
) -> None:
    outputs = ["y", "m1", "v1"] if "training_mode" in attributes and is_on else ["y"]
    names = [*"xsbmv"]
    node = helper.make_node("BatchNormalization", names, outputs, name="norm", **attributes)
    model = graph([node], [tensor("x", [2, 3])], [tensor("y", [2, 3])], opset=opset)
    assert training_nodes(model) == (("norm",) if is_on else ())


@pytest.mark.parametrize("is_on", [True, False])
def test_a_dropout_in_training_mode_is_a_warning(tmp_path: Path, is_on: bool) -> None:
    flags = {"ratio": np.array(0.5, np.float32), "train": np.array(is_on)}
    node = helper.make_node("Dropout", ["x", *flags], ["y"], name="drop")
    model = graph([node], [tensor("x", [2, 3])], [tensor("y", [2, 3])], flags)
    onnx.save(model, tmp_path / "net.onnx")
    warnings = _export(tmp_path / "net.onnx", tmp_path / "cache").warnings
    codes = {"graph_in_training_mode"} if is_on else set()
    assert {warning.code for warning in warnings} & {"graph_in_training_mode"} == codes


def test_a_written_size_of_zero_is_a_size(tmp_path: Path) -> None:
    path = tmp_path / "empty.onnx"
    value = tensor("x", [0, 4])
    _save(path, value)
    assert inspect(path).inputs[0].shape == (0, 4)
    open_size = tensor("x", [-1, 4])
    _save(path, open_size)
    assert inspect(path).inputs[0].shape == ("x_0", 4)


NO_ONNX = (
    *(b"", b"not a model at all\n", b"\x7fELF\x02\x01\x01" + bytes(100), b"PK\x03\x04" + bytes(60)),
)


def test_a_file_that_is_no_onnx_or_too_large_or_not_there_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    save_affine(path)
    whole = path.read_bytes()
    rows = [(content, "is not an ONNX file") for content in NO_ONNX]
    rows += [(whole[: int(len(whole) * kept)], "is truncated") for kept in (0.3, 0.6, 0.95)]
    for content, words in rows:
        path.write_bytes(content)
        with pytest.raises(ExportError, match=rf"bad\.onnx {words}"):
            inspect(path)
    with path.open("wb") as file:
        file.truncate(2**31)
    with pytest.raises(ExportError, match="below 2 GiB: save it with external data"):
        inspect(path)
    with pytest.raises(ExportError, match="cannot be read"):
        inspect(tmp_path / "none.onnx")


def test_elements_that_numpy_lacks_are_unsupported(tmp_path: Path) -> None:
    _save(tmp_path / "kind.onnx", tensor("x", [2], TensorProto.FLOAT8E8M0))
    with pytest.raises(NotBenchmarkable, match="float8e8m0") as refusal:
        inspect(tmp_path / "kind.onnx")
    assert refusal.value.status == "unsupported"


def test_a_graph_that_breaks_the_standard_fails_the_checker(tmp_path: Path) -> None:
    path = tmp_path / "wrong.onnx"
    value = tensor("x", [2])
    _save(path, value, helper.make_node("Relu", ["nothing"], ["y"]))
    model = _export(path, tmp_path / "cache")
    (warning,) = [entry for entry in model.warnings if entry.code == "checker_rejects_graph"]
    assert "nothing" in str(warning.parameters["objection"])
    assert "wrong.onnx" in model.unfit_at and not model.reference


def test_an_operator_nobody_can_vouch_for_asks_for_expected_outputs(tmp_path: Path) -> None:
    path = tmp_path / "custom.onnx"
    node = helper.make_node("Sharpen", ["x"], ["y"], domain="a.vendor")
    onnx.save(graph([node], [tensor("x", [2])], [tensor("y", [2])], vendor="a.vendor"), path)
    refusal = _export(path, tmp_path / "cache").unfit_at
    assert "Sharpen" in refusal and "test_data_set_0" in refusal


def test_nodes_in_any_order_are_sorted_wherever_their_weights_lie(tmp_path: Path) -> None:
    """ONNX Runtime's converter to fp16 appends the casts of the inputs to the end of the graph. The
    two files of weights hold the same, so that the store keeps one of them."""
    path = tmp_path / "source" / "unsorted.onnx"
    path.parent.mkdir()
    twice = np.full((4, 4), 0.5, np.float32)
    late = nodes_of("y = MatMul(half, w2) half = MatMul(x, w1)")
    ends = [tensor("x", ["batch", 4])], [tensor("y", ["batch", 4])]
    model = graph(late, *ends, {"w1": twice, "w2": twice})
    onnx.save(
        model, path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0
    )
    assert {file.name for file in path.parent.iterdir()} == {"unsorted.onnx", "w1", "w2"}
    exported_model = _export(path, tmp_path / "cache", {"batch": 2})
    shutil.rmtree(path.parent)
    copied_nodes = onnx.load(exported_model.path, load_external_data=False).graph.node
    assert [node.output[0] for node in copied_nodes] == ["half", "y"]
    reference = load_reference(exported_model.references["batch=2"])
    session = onnxruntime.InferenceSession(exported_model.path, providers=["CPUExecutionProvider"])
    (actual,) = session.run(None, dict(reference.inputs))
    assert np.allclose(actual, reference.inputs["x"] @ twice @ twice, rtol=1e-5, atol=1e-5)


def test_nodes_in_a_circle_are_refused_under_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "circle.onnx"
    circle = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Neg", ["a"], ["b"])]
    nodes = [*circle, helper.make_node("Neg", ["b"], ["y"])]
    onnx.save(graph(nodes, [tensor("x", ["batch", 4])], [tensor("y", ["batch", 4])]), path)
    assert "circle.onnx" in _export(path, tmp_path / "cache", {"batch": 2}).unfit_at


_WEIGHTS = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)


@pytest.fixture
def branched(tmp_path: Path) -> Path:
    """x -> first -> (left, right) -> sum -> last, and x -> side, an output of its own."""
    nodes = nodes_of("""
        [first] a = MatMul(x, w) [turned] wt = Transpose(w) [left] b = MatMul(a, wt)
        [right] c = Relu(a) [sum] d = Add(b, c) [last] y = Sigmoid(d) [side] z = Neg(x)
        unnamed_result = Tanh(x)
    """)
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
    assert inspect(branched, ("left",), ("sum",)).axes == ("rows",)
    assert [spec.name for spec in model.inputs] == ["a"]
    assert [spec.name for spec in model.outputs] == ["d"]
    assert model.inputs[0].shape == ("rows", 4)
    reference = only_reference(model)
    a = reference.inputs["a"]
    expected = a @ _WEIGHTS.T + np.maximum(a, 0)
    assert np.allclose(reference.outputs["d"], expected, rtol=1e-5, atol=1e-5)
    session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
    (actual,) = session.run(["d"], {"a": a})
    assert np.allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_a_node_without_a_name_goes_by_its_first_output(branched: Path) -> None:
    model = _cut(branched, (), ("unnamed_result",))
    assert [node.op_type for node in onnx.load(model.path).graph.node] == ["Tanh"]


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
    nodes = nodes_of("[custom] a = a.vendor.Sharpen(x) [relu] y = Relu(a)")
    path = tmp_path / "custom.onnx"
    onnx.save(graph(nodes, [tensor("x", [2])], [tensor("y", [2])], vendor="a.vendor"), path)
    with pytest.raises(ExportError, match=r"shape of 'a', where custom\.onnx would be cut"):
        inspect(path, ("relu",), ())


def test_a_definition_has_no_parts(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="leave --from-node and --to-node out"):
        export(ExportRequest("mlp", from_nodes=("a",), cache_dir=str(tmp_path)))
