"""A user's .onnx is kept byte for byte with its reference, and a bad one says what is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

from exporters.messages import ExportRequest
from exporters.onnx_files.graph import training_nodes
from exporters.onnx_files.model_io import inspect
from exporters.types import ExportedModel, ExportError, NotBenchmarkable, load_reference
from exporters.worker import export
from tests.exporters.support import (
    LIGHT,
    by_engine,
    graph,
    model_of,
    nodes_of,
    only_reference,
    save_affine,
    tensor,
)


def _export(path: Path, cache: Path, *points: dict[str, int]) -> ExportedModel:
    return export(ExportRequest(str(path), points=points, cache_dir=str(cache)))[0]


def _save(path: Path, value: ValueInfoProto) -> None:
    """A graph that passes its input on."""
    node = helper.make_node("Identity", [value.name], ["y"])
    onnx.save(graph([node], [value], [tensor("y", [None, 4])], opset=13), path)


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


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_packaged_outputs_are_the_reference_and_hold(name: str, tmp_path: Path) -> None:
    model = _export(LIGHT / f"{name}.onnx", tmp_path)
    assert (model.reference, model.batch, dict(model.axes)) == ("packaged", 1, {})
    reference = load_reference(model.references["-"])
    packaged_output = numpy_helper.to_array(onnx.load_tensor(LIGHT / f"{name}_output_0.pb"))
    (expected,) = reference.outputs.values()
    assert np.array_equal(expected, packaged_output)
    (actual,) = by_engine(model, reference)
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


def test_a_nameless_open_dimension_gets_a_name_that_can_be_set_and_counts_alike_from_the_cache(
    tmp_path: Path,
) -> None:
    path = tmp_path / "open.onnx"
    text = "(float[?,4] x) => (float[?,4] y) { y = MatMul(x, w) }"
    onnx.save(model_of(text, {"w": np.ones((4, 4), np.float32)}), path)
    assert inspect(path).axes == ("x_0",)
    model, again = (_export(path, tmp_path / "cache", {"x_0": 6}, {"x_0": 2}) for _ in range(2))
    assert again == model
    assert (model.batch, model.axes["x_0"]) == ("x_0", 6)
    assert (model.macs, model.parameters) == (6 * 4 * 4, 16)
    assert model.outputs[0].shape == ("x_0", 4)
    dimension = onnx.load(model.path).graph.input[0].type.tensor_type.shape.dim
    assert dimension[0].dim_param == "x_0"


@pytest.mark.parametrize(
    ("points", "named"),
    [((), "batch"), (({"batch": 1, "sequence": 2},), "sequence"), (({"batch": 0},), "0")],
)
def test_an_axis_left_open_or_unknown_is_named(
    affine: Path, tmp_path: Path, points: tuple[dict[str, int], ...], named: str
) -> None:
    with pytest.raises(ExportError, match=named):
        _export(affine, tmp_path, *points)


def test_a_size_that_the_graph_cannot_take_names_the_node(tmp_path: Path) -> None:
    path = tmp_path / "pairs.onnx"
    onnx.save(
        model_of("""(float[rows,3] x) => (float[?,4] y) {
        s = Constant <value_ints = [2, -1]> () [halve] y = Reshape(x, s)
    }"""),
        path,
    )
    model = _export(path, tmp_path / "cache", {"rows": 3})
    assert "'halve'" in model.at({"rows": 3}).unfit_at


@pytest.mark.parametrize(
    "text", ["() { }", "(float[3] x) { }", "() { y = Relu(x) }"], ids=["empty", "passes", "no end"]
)
def test_a_graph_that_computes_nothing_is_not_measured(tmp_path: Path, text: str) -> None:
    onnx.save(model_of(f"(float[3] x) => {text}"), tmp_path / "net.onnx")
    with pytest.raises(NotBenchmarkable):
        _export(tmp_path / "net.onnx", tmp_path / "cache")


def test_a_normalisation_in_training_mode_is_named() -> None:
    for opset, attributes, names in (
        (17, "<training_mode = 1>", ("norm",)),
        (17, "<training_mode = 0>", ()),
        (17, "", ()),
        (9, "", ()),
        (6, "<is_test = 0>", ("norm",)),
        (6, "<is_test = 1>", ()),
    ):
        nodes = nodes_of(f"[norm] y = BatchNormalization {attributes} (x, s, b, m, v)")
        model = graph(nodes, [tensor("x", [2, 3])], [tensor("y", [2, 3])], opset=opset)
        assert training_nodes(model) == names, (opset, attributes)


@pytest.mark.parametrize("is_on", [True, False])
def test_a_dropout_in_training_mode_is_a_warning(tmp_path: Path, is_on: bool) -> None:
    flags = {"ratio": np.array(0.5, np.float32), "train": np.array(is_on)}
    text = "(float[2,3] x) => (float[2,3] y) { [drop] y = Dropout(x, ratio, train) }"
    onnx.save(model_of(text, flags), tmp_path / "net.onnx")
    warnings = _export(tmp_path / "net.onnx", tmp_path / "cache").warnings
    assert ("graph_in_training_mode" in {warning.code for warning in warnings}) == is_on


def test_a_written_size_of_zero_is_a_size(tmp_path: Path) -> None:
    for size, shape in ((0, (0, 4)), (-1, ("x_0", 4))):
        _save(tmp_path / "empty.onnx", tensor("x", [size, 4]))
        assert inspect(tmp_path / "empty.onnx").inputs[0].shape == shape


def test_a_file_that_is_no_onnx_or_too_large_or_not_there_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    save_affine(path)
    whole = path.read_bytes()
    foreign = (b"", b"not a model at all\n", b"\x7fELF\x02\x01\x01" + bytes(100), b"PK\x03\x04")
    rows = [(content, "is not an ONNX file") for content in foreign]
    rows += [(whole[: int(len(whole) * kept)], "is truncated") for kept in (0.3, 0.6, 0.95)]
    for content, words in rows:
        path.write_bytes(content)
        with pytest.raises(ExportError, match=rf"bad\.onnx {words}"):
            inspect(path)
    with path.open("wb") as file:
        file.truncate(2**31)
    for refused in (path, tmp_path / "none.onnx"):
        with pytest.raises(ExportError):
            inspect(refused)


def test_elements_that_numpy_lacks_are_unsupported(tmp_path: Path) -> None:
    _save(tmp_path / "kind.onnx", tensor("x", [2], TensorProto.FLOAT8E8M0))
    with pytest.raises(NotBenchmarkable, match="float8e8m0") as refusal:
        inspect(tmp_path / "kind.onnx")
    assert refusal.value.status == "unsupported"


def test_a_graph_that_breaks_the_standard_fails_the_checker(tmp_path: Path) -> None:
    path = tmp_path / "wrong.onnx"
    onnx.save(model_of("(float[2] x) => (float[2] y) { y = Relu(nothing) }"), path)
    model = _export(path, tmp_path / "cache")
    (warning,) = [entry for entry in model.warnings if entry.code == "checker_rejects_graph"]
    assert "nothing" in str(warning.parameters["objection"])
    assert "wrong.onnx" in model.unfit_at and not model.reference


def test_an_operator_nobody_can_vouch_for_asks_for_expected_outputs(tmp_path: Path) -> None:
    path = tmp_path / "custom.onnx"
    nodes = nodes_of("y = a.vendor.Sharpen(x)")
    onnx.save(graph(nodes, [tensor("x", [2])], [tensor("y", [2])], vendor="a.vendor"), path)
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
    (actual,) = by_engine(exported_model, reference)
    assert np.allclose(actual, reference.inputs["x"] @ twice @ twice, rtol=1e-5, atol=1e-5)


def test_nodes_in_a_circle_are_refused_under_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "circle.onnx"
    nodes = "a = Add(x, b) b = Neg(a) y = Neg(b)"
    onnx.save(model_of(f"(float[batch,4] x) => (float[batch,4] y) {{ {nodes} }}"), path)
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


def test_the_part_between_two_nodes_computes_what_they_do(branched: Path) -> None:
    model = _cut(branched, ("left",), ("sum",))
    nodes = onnx.load(model.path).graph.node
    assert {node.name for node in nodes} == {"turned", "left", "right", "sum"}
    assert inspect(branched, ("left",), ("sum",)).axes == ("rows",)
    unnamed = onnx.load(_cut(branched, (), ("unnamed_result",)).path).graph.node
    assert [node.op_type for node in unnamed] == ["Tanh"], "it goes by its first output"
    assert [spec.name for spec in model.inputs] == ["a"]
    assert [spec.name for spec in model.outputs] == ["d"]
    assert model.inputs[0].shape == ("rows", 4)
    reference = only_reference(model)
    a = reference.inputs["a"]
    expected = a @ _WEIGHTS.T + np.maximum(a, 0)
    assert np.allclose(reference.outputs["d"], expected, rtol=1e-5, atol=1e-5)
    (actual,) = by_engine(model, reference)
    assert np.allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("first", "last", "named"),
    [
        (("frist",), (), "'first'"),
        ((), ("lst",), "'last'"),
        (("last",), ("first",), "'last'.*'first'"),
        (("left",), ("side",), "'left'.*'side'"),
        (("first",), ("last", "side"), "'first'.*'side'"),
    ],
)
def test_a_cut_that_makes_no_sense_names_the_nodes(
    branched: Path, first: tuple[str, ...], last: tuple[str, ...], named: str
) -> None:
    with pytest.raises(ExportError, match=named):
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
