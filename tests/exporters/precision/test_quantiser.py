"""Graphs that ONNX Runtime's quantiser would get wrong have int8 forms that compute the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, helper

from exporters.messages import ExportRequest
from exporters.precision.graphs import MODEL
from exporters.precision.int8 import to_int8
from exporters.types import NotBenchmarkable, Precision
from exporters.user_arrays import Calibration
from tests.differential_lowered.precisions import run
from tests.exporters.precision.conversions import ask, export_file
from tests.exporters.support import WorkerProcess, graph, model_of, nodes_of, tensor
from tests.seldom import seldom_but

TOLERANCE = 0.1
ROWS, SIZE = 4, 8
F = np.float32


def normal(*shape: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def errors(
    folder: Path,
    nodes: list[NodeProto],
    weights: Mapping[str, Any],
    outputs: Mapping[str, tuple[int, ...]],
) -> dict[str, float]:
    """How far each output of the int8 graph is from float32, relative to its largest value."""
    ends = [tensor(name, shape) for name, shape in outputs.items()]
    weight_arrays = {name: np.asarray(value) for name, value in weights.items()}
    proto = graph(nodes, [tensor("x", [ROWS, SIZE])], ends, weight_arrays, opset=17)
    path = folder / "given.onnx"
    onnx.save(proto, path)
    samples = [{"x": normal(ROWS, SIZE, seed=seed)} for seed in range(8)]
    calibration = Calibration("drawn", lambda: [*samples])
    quantised_proto = onnx.load(to_int8(folder, "given", path, calibration, ()).files[MODEL])
    expected, actual = run(proto, samples[0]), run(quantised_proto, samples[0], optimised=True)
    return {
        name: float(np.abs(a - b).max() / np.abs(b).max())
        for name, a, b in zip(outputs, actual, expected, strict=True)
    }


@pytest.mark.parametrize("limited", ["y = Relu(h)", "y = Clip(h, zero)"])
@pytest.mark.parametrize("is_inner", [False, True], ids=["output", "inner graph"])
def test_a_tensor_that_is_limited_and_also_shown_keeps_its_range(
    tmp_path: Path, limited: str, is_inner: bool
) -> None:
    weights = {"w": normal(SIZE, SIZE), "zero": np.float32(0)}
    shown = """k = MatMul(x, w) sum = ReduceSum <keepdims = 0> (x) any = Less(sum, zero)
        z = If (any) <then_branch = a () => (float[4,8] t) { t = Neg(h) },
                      else_branch = b () => (float[4,8] e) { e = Neg(h) }>"""
    nodes = nodes_of(f"h = MatMul(x, w) {limited} {shown if is_inner else ''}")
    outputs = dict.fromkeys("yzk" if is_inner else "yh", (ROWS, SIZE))
    assert max(errors(tmp_path, nodes, weights, outputs).values()) <= TOLERANCE


def scored(lowest: float, *shape: int) -> Mapping[str, Any]:
    mask = np.zeros(shape, np.float32)
    mask[..., ::2] = lowest
    return {"w": WEIGHT, "mask": mask}


def padded(value: float) -> Mapping[str, Any]:
    sizes = {"shape": np.array([1, 1, ROWS, SIZE]), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}
    return {"w": WEIGHT, **sizes, "value": np.float32(value)}


WEIGHT = normal(SIZE, SIZE)
UNEVEN = WEIGHT * np.where(np.arange(SIZE) == 1, F(20), F(1))[:, None] * F(np.arange(SIZE) > 0)
LOWEST = float(np.finfo(np.float32).min)
ALL = (ROWS, SIZE)
CLIPPED = "h = MatMul(x, w) y = Clip(h, low, high)"
MASKED = "h = MatMul(x, w) scores = Add(h, mask) y = Softmax <axis = -1> (scores)"
POOLED = """h = MatMul(x, w) image = Reshape(h, shape) padded = Pad(image, pads, value)
    y = MaxPool <kernel_shape = [2, 2]> (padded)"""
GRAPHS: dict[str, tuple[str, Mapping[str, Any], Mapping[str, tuple[int, ...]]]] = {
    "limits above zero": (CLIPPED, {"w": WEIGHT, "low": F(0.5), "high": F(0.9)}, {"y": ALL}),
    "limits below zero": (CLIPPED, {"w": WEIGHT, "low": F(-2.0), "high": F(-0.5)}, {"y": ALL}),
    # The largest share of the samples is far below 1, and so would be the scale.
    "shares below one": (
        "h = MatMul(x, w) s = Softmax <axis = -1> (h) y = MatMul(s, v)",
        {"w": normal(SIZE, 2) / 8, "v": normal(2, SIZE)},
        {"y": ALL, "s": (ROWS, 2)},
    ),
    "a mask of rows": (MASKED, scored(-1e4, *ALL), {"y": ALL}),
    "a mask of lowest numbers in rows": (MASKED, scored(LOWEST, *ALL), {"y": ALL}),
    "a mask of columns": (MASKED, scored(-1e4, SIZE), {"y": ALL}),
    "a mask of lowest numbers in columns": (MASKED, scored(LOWEST, SIZE), {"y": ALL}),
    "a whole bias": ("y = Gemm(x, w, b)", {"w": WEIGHT, "b": 10 * normal(*ALL)}, {"y": ALL}),
    "a bias of columns": (
        "y = Gemm <beta = 0.25> (x, w, b)",
        {"w": WEIGHT, "b": 10 * normal(SIZE)},
        {"y": ALL},
    ),
    "a bias of one number": (
        "y = Gemm <beta = 3.0> (x, w, b)",
        {"w": WEIGHT, "b": 10 * normal(1, 1)},
        {"y": ALL},
    ),
    "a weight that is read along both axes": (
        "a = MatMul(x, w) b = Gemm <transB = 1> (x, w)",
        {"w": UNEVEN},
        {"a": ALL, "b": ALL},
    ),
    "a pool padded with infinity": (POOLED, padded(-np.inf), {"y": (1, 1, ROWS + 1, SIZE + 1)}),
    "a pool padded with the lowest": (POOLED, padded(LOWEST), {"y": (1, 1, ROWS + 1, SIZE + 1)}),
    "a stack of weights": ("y = MatMul(x, w)", {"w": normal(2, SIZE, 3)}, {"y": (2, ROWS, 3)}),
    "a computed bias": ("size = Abs(x) y = Gemm(x, w, size)", {"w": WEIGHT}, {"y": ALL}),
    "an input and a weight that are outputs": (
        "y = MatMul(x, w)",
        {"w": WEIGHT},
        {"y": ALL, "x": ALL, "w": (SIZE, SIZE)},
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_an_int8_graph_computes_what_the_float_graph_does(tmp_path: Path, name: str) -> None:
    text, weights, outputs = GRAPHS[name]
    found = errors(tmp_path, nodes_of(text), weights, outputs)
    assert max(found.values()) <= TOLERANCE
    assert found.get("x", 0) == found.get("w", 0) == 0, "ends that are not computed stay"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """Another process with a cache of its own."""
    process = WorkerProcess(tmp_path_factory.mktemp("elsewhere"))
    yield process
    process.close()


@pytest.mark.parametrize("precision", seldom_but(("int8",), ["fp16", "int8"]))
def test_two_processes_write_the_same_bytes(
    worker: WorkerProcess, elsewhere: WorkerProcess, precision: Precision
) -> None:
    path = ask(worker, "cnn_tiny", "fp32").path
    request = ExportRequest(path, precision, points=({"batch": 1},))
    first_result, second_result = (place.ask(request).model for place in (worker, elsewhere))
    assert first_result is not None and second_result is not None
    assert first_result.path != second_result.path
    assert first_result.sha256 == second_result.sha256


@pytest.mark.parametrize("precision", ["fp16", "bf16", "fp8", "int8"])
def test_a_graph_in_a_precision_is_taken_as_it_is_and_one_in_fp16_becomes_no_other(
    worker: WorkerProcess, tmp_path: Path, precision: Precision
) -> None:
    paths = {name: tmp_path / f"{name}.onnx" for name in ("fp16", precision)}
    for name, path in paths.items():
        path.write_bytes(Path(ask(worker, "mlp", name).path).read_bytes())
    taken = export_file(paths[precision], precision, tmp_path / "cache", point={"batch": 2})
    assert taken.sha256 == ask(worker, "mlp", precision).sha256
    if precision in ("bf16", "int8"):
        with pytest.raises(NotBenchmarkable, match="weights in fp16: give the fp32 graph"):
            export_file(paths["fp16"], precision, tmp_path / "cache", point={"batch": 2})


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_a_graph_without_operators_of_onnx_is_converted(
    precision: Precision, tmp_path: Path
) -> None:
    """As xgboost's converter writes it: its one domain is ai.onnx.ml."""
    proto = model_of("""(float[2,3] x) => (float[2,1] y) {
        y = ai.onnx.ml.LinearRegressor
            <coefficients = [1.0, 2.0, 3.0], intercepts = [0.5]> (x)
    }""")
    del proto.opset_import[:]
    proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    onnx.save(proto, tmp_path / "ml.onnx")
    model = export_file(tmp_path / "ml.onnx", precision, tmp_path / "cache")
    assert model.references
    assert [spec.name for spec in model.outputs] == ["y"]
