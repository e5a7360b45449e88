"""Graphs that ONNX Runtime's quantiser would get wrong have int8 forms that compute the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

from exporters.messages import ExportRequest
from exporters.precision.graphs import MODEL
from exporters.precision.int8 import to_int8
from exporters.types import NotBenchmarkable, Precision
from exporters.user_arrays import Calibration
from tests.differential_lowered.precisions import run
from tests.exporters.precision.conversions import (
    ask,
    export_file,
)
from tests.exporters.support import WorkerProcess, graph, tensor
from tests.seldom import seldom_but

TOLERANCE = 0.1
ROWS, SIZE = 4, 8


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


def product(name: str = "h", weight: str = "w") -> NodeProto:
    return helper.make_node("MatMul", ["x", weight], [name])


@pytest.mark.parametrize("op", ["Relu", "Clip"])
@pytest.mark.parametrize("shown", ["output", "inner graph"])
def test_a_tensor_that_is_limited_and_also_shown_keeps_its_range(
    tmp_path: Path, op: str, shown: str
) -> None:
    weights = {"w": normal(SIZE, SIZE), "zero": np.float32(0), "yes": np.array(True)}
    limits = ["h", "zero"] if op == "Clip" else ["h"]
    nodes = [product(), helper.make_node(op, limits, ["y"])]
    outputs: dict[str, tuple[int, ...]] = {"y": (ROWS, SIZE), "h": (ROWS, SIZE)}
    if shown == "inner graph":
        branches = [
            helper.make_graph(
                [helper.make_node("Neg", ["h"], [name])], name, [], [tensor(name, [ROWS, SIZE])]
            )
            for name in ("then", "else")
        ]
        attributes = {"then_branch": branches[0], "else_branch": branches[1]}
        nodes += [
            product("k"),
            helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
            helper.make_node("Less", ["sum", "zero"], ["any"]),
            helper.make_node("If", ["any"], ["z"], **attributes),
        ]
        outputs = {"y": (ROWS, SIZE), "z": (ROWS, SIZE), "k": (ROWS, SIZE)}
    assert max(errors(tmp_path, nodes, weights, outputs).values()) <= TOLERANCE


@pytest.mark.parametrize("bounds", [(0.5, 0.9), (-2.0, -0.5)])
def test_limits_that_exclude_zero_hold(tmp_path: Path, bounds: tuple[float, float]) -> None:
    low, high = map(np.float32, bounds)
    weights = {"w": normal(SIZE, SIZE), "low": low, "high": high}
    nodes = [product(), helper.make_node("Clip", ["h", "low", "high"], ["y"])]
    assert errors(tmp_path, nodes, weights, {"y": (ROWS, SIZE)})["y"] <= TOLERANCE


def test_an_input_or_a_weight_that_is_an_output_too_is_quantised_inside(tmp_path: Path) -> None:
    nodes = [product("y")]
    outputs = {"y": (ROWS, SIZE), "x": (ROWS, SIZE), "w": (SIZE, SIZE)}
    output_errors = errors(tmp_path, nodes, {"w": normal(SIZE, SIZE)}, outputs)
    assert (output_errors["x"], output_errors["w"]) == (0, 0)
    assert output_errors["y"] <= TOLERANCE


def test_shares_below_one_do_not_overflow(tmp_path: Path) -> None:
    """The largest share of the samples is far below 1, and so would be the scale."""
    weights = {"w": normal(SIZE, 2) / 8, "v": normal(2, SIZE)}
    nodes = [
        product(),
        helper.make_node("Softmax", ["h"], ["s"], axis=-1),
        helper.make_node("MatMul", ["s", "v"], ["y"]),
    ]
    outputs = {"y": (ROWS, SIZE), "s": (ROWS, 2)}
    assert max(errors(tmp_path, nodes, weights, outputs).values()) <= TOLERANCE


@pytest.mark.parametrize("lowest", [-1e4, np.finfo(np.float32).min])
@pytest.mark.parametrize("shape", [(ROWS, SIZE), (SIZE,)])
def test_scores_survive_their_mask(tmp_path: Path, lowest: float, shape: tuple[int, ...]) -> None:
    mask = np.zeros(shape, np.float32)
    mask[..., ::2] = lowest
    weights = {"w": normal(SIZE, SIZE), "mask": mask}
    nodes = [
        product(),
        helper.make_node("Add", ["h", "mask"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["y"], axis=-1),
    ]
    assert errors(tmp_path, nodes, weights, {"y": (ROWS, SIZE)})["y"] <= TOLERANCE


@pytest.mark.parametrize(("shape", "beta"), [((ROWS, SIZE), 1.0), ((SIZE,), 0.25), ((1, 1), 3.0)])
def test_a_bias_of_any_form_is_added(tmp_path: Path, shape: tuple[int, ...], beta: float) -> None:
    weights = {"w": normal(SIZE, SIZE), "b": 10 * normal(*shape)}
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"], beta=beta)]
    assert errors(tmp_path, nodes, weights, {"y": (ROWS, SIZE)})["y"] <= TOLERANCE


def test_a_weight_that_is_read_along_both_axes_has_scales_for_each(tmp_path: Path) -> None:
    weight = normal(SIZE, SIZE)
    weight[:, 0], weight[1] = 0, 20 * weight[1]
    nodes = [
        product("a"),
        helper.make_node("Gemm", ["x", "w"], ["b"], transB=1),
    ]
    outputs = {"a": (ROWS, SIZE), "b": (ROWS, SIZE)}
    assert max(errors(tmp_path, nodes, {"w": weight}, outputs).values()) <= TOLERANCE


@pytest.mark.parametrize("value", [-np.inf, np.finfo(np.float32).min])
def test_what_a_pool_is_padded_with_decides_no_scale(tmp_path: Path, value: float) -> None:
    weights = {
        "w": normal(SIZE, SIZE),
        "shape": np.array([1, 1, ROWS, SIZE]),
        "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        "value": np.float32(value),
    }
    nodes = [
        product(),
        helper.make_node("Reshape", ["h", "shape"], ["image"]),
        helper.make_node("Pad", ["image", "pads", "value"], ["padded"]),
        helper.make_node("MaxPool", ["padded"], ["y"], kernel_shape=[2, 2]),
    ]
    outputs = {"y": (1, 1, ROWS + 1, SIZE + 1)}
    assert errors(tmp_path, nodes, weights, outputs)["y"] <= TOLERANCE


def test_a_stack_of_weights_runs_in_int8(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weights = {"w": normal(2, SIZE, 3)}
    assert errors(tmp_path, nodes, weights, {"y": (2, ROWS, 3)})["y"] <= TOLERANCE


def test_a_product_beside_a_computed_bias_runs_in_int8(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Abs", ["x"], ["size"]),
        helper.make_node("Gemm", ["x", "w", "size"], ["y"]),
    ]
    assert errors(tmp_path, nodes, {"w": normal(SIZE, SIZE)}, {"y": (ROWS, SIZE)})["y"] <= TOLERANCE


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


def test_a_graph_that_is_fp16_or_int8_already_is_taken_as_it_is(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    for precision in ("fp16", "int8"):
        result = ask(worker, "mlp", precision)
        path = tmp_path / f"{precision}.onnx"
        path.write_bytes(Path(result.path).read_bytes())
        again = export_file(path, precision, tmp_path / "cache", point={"batch": 2})
        assert again.sha256 == result.sha256
    with pytest.raises(NotBenchmarkable, match="weights in fp16: give the fp32 graph"):
        export_file(tmp_path / "fp16.onnx", "int8", tmp_path / "cache", point={"batch": 2})


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_a_graph_without_operators_of_onnx_is_converted(
    precision: Precision, tmp_path: Path
) -> None:
    """As xgboost's converter writes it: its one domain is ai.onnx.ml."""
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [2, 3]), ("y", [2, 1]))
    ]
    node = helper.make_node(
        "LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml",
        coefficients=[1.0, 2.0, 3.0], intercepts=[0.5],
    )  # fmt: skip
    graph = helper.make_graph([node], "fitted", ends[:1], ends[1:])
    domain = [helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=domain, ir_version=8), tmp_path / "ml.onnx")
    model = export_file(tmp_path / "ml.onnx", precision, tmp_path / "cache")
    assert model.references
    assert [spec.name for spec in model.outputs] == ["y"]
