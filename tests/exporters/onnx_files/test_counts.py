"""Counts of a user's graph are those of the formulas, whatever form its weights have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from exporters.messages import ExportRequest
from exporters.onnx_files.counts import Arithmetic, arithmetic, count
from exporters.source import Counts
from exporters.types import Precision
from exporters.worker import export
from tests.exporters.support import LIGHT, WorkerProcess, graph, nodes_of, save_affine, tensor


def _model(nodes: list[NodeProto], x: list[int | str], **weights: np.ndarray) -> ModelProto:
    return graph(nodes, [tensor("x", x)], [tensor("y", None)], weights, opset=20)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_a_grouped_convolution_with_its_norm() -> None:
    nodes = nodes_of("""
        h = Conv <group = 2, pads = [1, 1, 1, 1]> (x, w, b)
        y = BatchNormalization(h, g, o, m, v)
    """)
    norm = {name: _zeros(6) for name in "gomv"}
    model = _model(nodes, ["n", 4, 8, 8], w=_zeros(6, 2, 3, 3), b=_zeros(6), **norm)
    weights = 6 * 2 * 9 + 6 + 2 * 6
    assert count(model, {"n": 5}) == Counts(weights, weights + 2 * 6, 5 * 6 * 64 * 2 * 9)


def test_weights_made_by_constant_nodes_count_once_folded() -> None:
    constant = helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(_zeros(5, 3)))
    nodes = nodes_of("w = Transpose <perm = [1, 0]> (k) h = MatMul(x, w) y = Mul(h, half)")
    model = _model([constant, *nodes], [2, 3], half=np.array(0.5, np.float32))
    assert count(model, {}) == Counts(15, 15, 2 * 5 * 3)


@pytest.mark.parametrize(
    ("equation", "x", "w", "macs"),
    [
        ("ij,jk->ik", [2, 3], (3, 4), 2 * 3 * 4),
        ("bhid, bhjd -> bhij", [1, 2, 5, 4], (1, 2, 6, 4), 2 * 5 * 6 * 4),
        ("...ij,jk->...ik", [7, 2, 3], (3, 4), 7 * 2 * 3 * 4),
    ],
)
def test_an_einsum_multiplies_every_combination_of_its_indices(
    equation: str, x: list[int | str], w: tuple[int, ...], macs: int
) -> None:
    einsum = helper.make_node("Einsum", ["x", "w"], ["y"], equation=equation)
    assert count(_model([einsum], x, w=_zeros(*w)), {}).macs == macs


def test_weights_of_four_bits_count_as_many_as_they_are() -> None:
    nodes = nodes_of(
        "y = com.microsoft.MatMulNBits <K = 64, N = 8, bits = 4, block_size = 32> (x, w, s)"
    )
    weights = {"w": np.zeros((8, 2, 16), np.uint8), "s": _zeros(16)}
    ends = [tensor("x", [3, 64])], [tensor("y", [3, 8])]
    model = graph(nodes, *ends, weights, vendor="com.microsoft")
    assert count(model, {}) == Counts(64 * 8 + 16, 64 * 8 + 16, 3 * 64 * 8)


def test_a_number_of_a_formula_is_no_weight_and_a_single_bias_is() -> None:
    custom = nodes_of("y = a.vendor.FusedMatMul(x, w)")
    assert count(_model(custom, [2, 3], w=_zeros(3, 4)), {}).macs is None, "it is not guessed"
    nodes = nodes_of("h = MatMul(x, w) k = Add(h, b) y = Div(k, scale)")
    one = np.ones(1, np.float32)
    model = _model(nodes, [2, 3], w=_zeros(3, 1), b=one, scale=one)
    assert count(model, {}).parameters == 3 + 1


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("LinearRegressor <coefficients = [1.0]>", Counts(None, None, 2)),
        (
            """SVMRegressor <coefficients = [1.0, 2.0], n_supports = 2,
                support_vectors = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]>""",
            Counts(None, None, 2 * (2 * 3 + 2)),
        ),
        ("Binarizer <threshold = 0.5>", Counts(0, 0, 0)),
    ],
)
def test_a_fitted_estimator_that_keeps_its_numbers_in_attributes_is_not_said_to_have_none(
    node: str, expected: Counts
) -> None:
    domain, columns = "ai.onnx.ml", 3 if node.startswith("Binarizer") else 1
    ends = [tensor("x", [2, 3])], [tensor("y", [2, columns])]
    model = graph(nodes_of(f"y = {domain}.{node} (x)"), *ends, vendor=domain, opset=20)
    assert count(model, {}) == expected


@pytest.mark.parametrize(
    ("name", "parameters", "macs"),
    [
        # Krizhevsky 2012 (grouped), Simonyan 2014, He 2015: the counts of the published networks.
        ("light_bvlc_alexnet", 60_965_224, None),
        ("light_vgg19", 143_667_240, 19_632_062_464),
        ("light_resnet50", 25_557_032, None),
    ],
)
def test_published_networks_have_their_published_counts(
    name: str, parameters: int, macs: int | None
) -> None:
    counts = count(onnx.load(LIGHT / f"{name}.onnx"), {})
    assert counts.parameters == parameters
    assert macs is None or counts.macs == macs


def test_a_model_exported_here_counts_as_its_module(worker: WorkerProcess, tmp_path: Path) -> None:
    module = worker.export(ExportRequest("mlp"))
    path = tmp_path / "mine.onnx"
    path.write_bytes(Path(module.path).read_bytes())
    file = worker.export(ExportRequest(str(path), points=({"batch": 1},)))
    assert (file.parameters, file.macs) == (module.parameters, module.macs) == (295_808, 294_912)


def test_weights_in_another_file_count_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "affine.onnx"
    save_affine(path, external="weights.bin")
    (tmp_path / "weights.bin").unlink()
    model = onnx.load(path, load_external_data=False)
    assert count(model, {"batch": 3}) == Counts(64 * 32, 64 * 32, 3 * 64 * 32)


def test_products_of_weights_alone_are_computed_once_and_not_counted() -> None:
    nodes = nodes_of("""
        w = MatMul(a, b) folded = Conv(image, kernel) h = MatMul(x, w) y = Add(h, folded)
    """)
    weights = {"a": _zeros(4, 8), "b": _zeros(8, 4)}
    model = _model(nodes, [1, 4], **weights, image=_zeros(1, 1, 6, 6), kernel=_zeros(1, 1, 3, 3))
    assert count(model, {}) == Counts(4 * 4 + 16, 4 * 4 + 16, 4 * 4)


@pytest.mark.parametrize(
    "form",
    [
        "v = Transpose <perm = [1, 0]> (w)",
        "v = Identity(w)",
        "u = Transpose <perm = [1, 0]> (w) v = Transpose <perm = [1, 0]> (u)",
        "v = Flatten <axis = 1> (w)",
        "v = Cast <to = 1> (w)",
    ],
)
def test_a_weight_in_two_forms_counts_once(form: str) -> None:
    nodes = nodes_of(f"{form} h = MatMul(x, w) y = MatMul(h, v)")
    assert count(_model(nodes, [2, 4], w=_zeros(4, 4)), {}) == Counts(16, 16, 2 * 2 * 4 * 4)


@pytest.mark.parametrize(
    ("node", "others"),
    [
        ("Resize(x, , s)", {"s": np.ones(4, np.float32)}),
        ("Resize(x, , , z)", {"z": np.array([1, 2, 6, 6])}),
        (
            'Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, s)',
            {"r": _zeros(8), "s": np.ones(4, np.float32)},
        ),
        ("Reshape(x, z)", {"z": np.array([1, 2, 9])}),
        ("Expand(x, z)", {"z": np.array([5, 2, 3, 3])}),
        ("Pad(x, p, , a)", {"p": np.array([1, 1]), "a": np.array([2])}),
        ("ReduceSum(x, a)", {"a": np.array([1])}),
        ("Slice(x, a, p)", {"a": np.array([0]), "p": np.array([1])}),
        ("Clip(x, lo)", {"lo": np.array(0, np.float32)}),
    ],
)
def test_what_says_how_a_node_computes_is_no_weight(
    node: str, others: dict[str, np.ndarray]
) -> None:
    assert count(_model(nodes_of(f"y = {node}"), [1, 2, 3, 3], **others), {}) == Counts(0, 0, 0)


def test_weights_of_inner_graphs_count_and_outer_ones_once() -> None:
    nodes = nodes_of("""
        m = ReduceMax <keepdims = 0> (x) c = Cast <to = 9> (m)
        y = If (c) <
            then_branch = a () => (float[] t) <float[1,3] p = {0, 0, 0}> {
                u = Add(x, outer) t = Add(u, p) },
            else_branch = b () => (float[] e) <float[1,3] q = {0, 0, 0}> {
                v = Add(x, outer) e = Add(v, q) }
        >
    """)
    counts = count(_model(nodes, [1, 3], outer=_zeros(2, 3)), {})
    assert (counts.parameters, counts.macs) == (6 + 3 + 3, 0)


@pytest.mark.parametrize("seed", range(6))
def test_products_agree_with_loops_over_their_definition(seed: int) -> None:
    """Each formula against a count of the multiplications of the definition, written out."""
    rng = np.random.default_rng(seed)
    group, per_in, per_out, kernel, size = (int(n) for n in rng.integers(1, 4, 5))
    size += kernel + 2
    stride = int(rng.integers(1, 3))
    conv = helper.make_node("Conv", ["x", "w"], ["y"], group=group, strides=[stride])
    model = _model([conv], [2, group * per_in, size], w=_zeros(group * per_out, per_in, kernel))
    places = len(range(0, size - kernel + 1, stride))
    assert count(model, {}).macs == sum(
        1 for _ in np.ndindex(2, places, group, per_out, per_in, kernel)
    )
    back = helper.make_node("ConvTranspose", ["x", "w"], ["y"], group=group, strides=[stride])
    model = _model([back], [2, group * per_in, size], w=_zeros(group * per_in, per_out, kernel))
    assert count(model, {}).macs == sum(
        1 for _ in np.ndindex(2, size, group, per_in, per_out, kernel)
    )
    m, k, n = (int(number) for number in rng.integers(1, 6, 3))
    for a, b in np.ndindex(2, 2):
        gemm = helper.make_node("Gemm", ["x", "w"], ["y"], transA=int(a), transB=int(b))
        weight = _zeros(n, k) if b else _zeros(k, n)
        assert count(_model([gemm], [k, m] if a else [m, k], w=weight), {}).macs == m * k * n
    for operator, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for direction, ways in (("forward", 1), ("bidirectional", 2)):
            node = helper.make_node(
                operator, ["x", "w", "r"], ["y"], hidden_size=k, direction=direction
            )
            weights = {"w": _zeros(ways, gates * k, n), "r": _zeros(ways, gates * k, k)}
            counts = count(_model([node], [m, 2, n], **weights), {})
            assert counts.macs == m * 2 * ways * gates * k * (n + k)
            assert counts.parameters == ways * gates * k * (n + k)


def test_products_whose_shapes_inference_lacks_are_counted_from_a_run(tmp_path: Path) -> None:
    """As in most transformers, where a Reshape takes sizes that are computed from other values."""
    nodes = nodes_of("""
        most = ReduceMax <keepdims = 1> (n) sizes = Concat <axis = 0> (most, rest)
        r = Reshape(x, sizes) y = MatMul(r, w)
    """)
    ends = [tensor("x", [6, 4]), tensor("n", [1], TensorProto.INT64)], [tensor("y", ["a", "b", 8])]
    weights = {"w": _zeros(4, 8), "rest": np.array([-1, 4])}
    path = tmp_path / "run.onnx"
    onnx.save(graph(nodes, *ends, weights), path)
    np.savez(tmp_path / "in.npz", x=np.ones((6, 4), np.float32), n=np.array([2]))
    for precision in ("fp32", "fp16"):
        model, _ = export(
            ExportRequest(
                str(path), precision, inputs=str(tmp_path / "in.npz"), cache_dir=str(tmp_path)
            )
        )
        assert model.macs == 6 * 4 * 8


def test_products_in_loops_and_branches_count_as_often_as_they_run(tmp_path: Path) -> None:
    """Four turns of a product of 2 x 3 with 3 x 3, then the branch of two that is taken."""
    nodes = nodes_of("""
        k = Loop (turns, , x) <body = b (int64 i, bool go, float[2,3] h) => (bool on, float[2,3] g)
            { g = MatMul(h, w) on = Identity(go) }>
        y = If (taken) <
            then_branch = s () => (float[2,?] t) { t = MatMul(k, small) },
            else_branch = l () => (float[2,?] e) { e = MatMul(k, large) }
        >
    """)
    weights = {"w": _zeros(3, 3), "small": _zeros(3, 5), "large": _zeros(3, 500)}
    weights |= {"turns": np.array(4), "taken": np.array(True)}
    path = tmp_path / "loop.onnx"
    onnx.save(graph(nodes, [tensor("x", [2, 3])], [tensor("y", [2, None])], weights), path)
    model, _ = export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
    assert model.macs == 4 * 2 * 3 * 3 + 2 * 3 * 5


def test_weights_that_a_kernel_packs_for_itself_have_their_sizes(tmp_path: Path) -> None:
    """A convolution of 4 channels to 3 behind a sum whose shape inference lacks."""
    nodes = nodes_of("""
        h = com.microsoft.QLinearAdd(x, s, z, x, s, z, s, z)
        y = QLinearConv(h, s, z, w, s, z, s, z)
    """)
    weights = {"w": np.ones((3, 4, 2, 2), np.uint8)}
    weights |= {"s": np.array(1, np.float32), "z": np.array(0, np.uint8)}
    ends = [tensor("x", [1, 4, 5, 5], TensorProto.UINT8)], [tensor("y", None, TensorProto.UINT8)]
    path = tmp_path / "packed.onnx"
    onnx.save(graph(nodes, *ends, weights, vendor="com.microsoft"), path)
    model, _ = export(ExportRequest(str(path), cache_dir=str(tmp_path / "cache")))
    assert model.macs == 3 * 4 * 4 * 4 * 2 * 2


X, Y = tensor("x", ["batch", 8]), tensor("y", ["batch", 8])
FULL = np.ones((8, 8), np.float32)


EIGHT: dict[str, np.ndarray] = {"w": np.ones((8, 8), np.uint8), "scale": np.array(0.1, np.float32)}
WIDE, NARROW = {"w": FULL}, {"w": FULL.astype(np.float16)}
ARITHMETIC: dict[str, tuple[str, dict[str, np.ndarray], Precision, int]] = {
    "floats, by the longest path of products": (
        "a = MatMul(x, w) b = MatMul(a, w) c = MatMul(x, w) y = Add(b, c)", WIDE, "fp32", 2
    ),
    # What `keep_io_types` makes: its 5e-4 is no fault of the runtime.
    "halves with float ends": (
        "h = Cast <to = 10> (x) m = MatMul(h, w) y = Cast <to = 1> (m)", NARROW, "fp16", 1
    ),
    "narrow products of wide weights": (
        "h = Cast <to = 16> (x) v = Cast <to = 16> (w) m = MatMul(h, v) y = Cast <to = 1> (m)",
        WIDE, "bf16", 1,
    ),
    "weights that are stored narrow": (
        "v = Cast <to = 1> (w) t = Transpose(v) y = MatMul(x, t)", NARROW, "fp16", 1
    ),
    "quantised weights": ("v = DequantizeLinear(w, scale) y = MatMul(x, v)", EIGHT, "int8", 1),
    "integer products": (
        "q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z) y = Cast <to = 1> (i)",
        EIGHT, "int8", 1,
    ),
    "products of a vendor": ("y = com.microsoft.MatMulNBits(x, w, scale)", EIGHT, "int8", 1),
    "narrow types beside float products": (
        "h = Cast <to = 10> (x) f = Cast <to = 1> (h) r = Relu(f) y = MatMul(r, w)",
        WIDE, "fp32", 1,
    ),
    "narrow types without products": (
        "h = Cast <to = 10> (x) y = Cast <to = 1> (h)", {}, "fp16", 0
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_is_the_narrowest_of_products_and_their_weights(name: str) -> None:
    text, weights, narrowest, depth = ARITHMETIC[name]
    model = graph(nodes_of(text), [X], [Y], weights, vendor="com.microsoft")
    assert arithmetic(model) == Arithmetic(narrowest, depth)
