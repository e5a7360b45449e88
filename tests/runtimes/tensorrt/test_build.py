"""The parser and the builder are TensorRT's own, and what they refuse is told node by node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from app.contract.graphs import weights
from exporters.inputs import seeded_inputs
from exporters.precision.fp8 import to_fp8
from exporters.precision.graphs import MODEL
from exporters.precision.half_precision import to_bf16
from exporters.types import ExportedModel
from exporters.user_arrays import Calibration
from runtimes.errors import CompileFault, Unsupported
from runtimes.execution import Execution
from runtimes.options import Settings
from runtimes.session.precision import refuse_wider
from runtimes.tensorrt.runtime import COMPUTE_CAPABILITIES, TensorRtRtx
from tests.runtimes.graphs import Graphs, quantised_conv
from tests.runtimes.torch_factories import WIDTH

pytestmark = pytest.mark.usefixtures("rtx")

NAMED = [f"sm{major}{minor}" for major, minor in COMPUTE_CAPABILITIES]


def plan_bytes(model: ExportedModel, device: str = "sm89", batch: int = 1) -> int:
    return built(model, device, batch)[0]


def built(model: ExportedModel, device: str = "sm89", batch: int = 1) -> tuple[int, Execution]:
    """The size of the engine, and what its builder said of it."""
    settings = Settings(device=device, precision=model.precision)
    axes = {"batch": batch} if "batch" in model.axes else {}
    check_result = TensorRtRtx().check(model, axes, settings)
    assert check_result.checked_as == "built"
    assert check_result.plan_bytes is not None and check_result.execution is not None
    return check_result.plan_bytes, check_result.execution


@pytest.fixture(scope="module")
def narrow(graphs: Graphs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExportedModel]:
    """A product of 512 x 512, as it is and in the types that it is converted to."""
    wide, folders = graphs.wide, [tmp_path_factory.mktemp(name) for name in ("bf16", "fp8")]
    sample = seeded_inputs(wide.inputs, {"batch": 1}, seed=1)
    calibration = Calibration("one", lambda: [sample])
    bf16 = to_bf16(folders[0], wide.name, Path(wide.path)).files[MODEL]
    fp8 = to_fp8(folders[1], wide.name, Path(wide.path), calibration).files[MODEL]
    return {
        "fp32": wide,
        "bf16": replace(wide, path=str(bf16), precision="bf16"),
        "fp8": replace(wide, path=str(fp8), precision="fp8"),
    }


@pytest.mark.parametrize("device", ["sm89", "sm120"])
def test_narrow_weights_are_in_the_engine_and_its_builder_tells_their_type(
    narrow: dict[str, ExportedModel], device: str
) -> None:
    weights_bytes = 4 * WIDTH * WIDTH
    sizes = {}
    for precision, model in narrow.items():
        sizes[precision], execution = built(model, device)
        # A kernel that narrows what it multiplies reads float32.
        assert execution.precision.split("+")[0] == precision
        assert execution.placement and execution.device_name.startswith("compute capability")
        refuse_wider(model.precision, execution.precision, "tensorrt-rtx")
    # Of 1 MiB of weights a half and a quarter, beside kernels that are larger.
    assert sizes["fp8"] < sizes["bf16"] < sizes["fp32"] - 0.3 * weights_bytes


@pytest.mark.parametrize(("precision", "device"), [("bf16", "sm75"), ("fp8", "sm86")])
def test_a_gpu_without_the_type_is_unsupported(
    narrow: dict[str, ExportedModel], precision: str, device: str
) -> None:
    with pytest.raises(Unsupported, match=f"Cannot compile for .*{device}"):
        built(narrow[precision], device)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", ["dense", "step", "lookup"])
def test_graphs_become_engines_without_a_gpu(graphs: Graphs, name: str, batch: int) -> None:
    model: ExportedModel = getattr(graphs, name)
    assert plan_bytes(model, batch=batch) > 10_000


def test_the_gpus_that_can_be_named_are_those_of_the_package(rtx: ModuleType) -> None:
    known_capabilities = {
        name.lower() for name in rtx.ComputeCapability.__members__ if name.startswith("SM")
    }
    assert known_capabilities == set(NAMED)


def test_graphs_keep_their_own_types(graphs: Graphs) -> None:
    model = graphs.of_text("half", "(float16[3,4] x) => (float16[3,4] y) { y = Exp(x) }")
    assert plan_bytes(replace(model, precision="fp16")) > 10_000
    assert plan_bytes(replace(quantised_conv(graphs, "eight_bit"), precision="int8")) > 10_000


def test_every_node_that_the_parser_refuses_is_named(graphs: Graphs) -> None:
    text = """(float[4] x) => (float[4] y) {
        a = Teleport(x) b = Relu(a) c = Unique(b) d = Teleport(c) y = StringNormalizer(d)
    }"""
    model = graphs.of_text("refused", text)
    with pytest.raises(Unsupported) as exc_info:
        plan_bytes(model)
    cause = exc_info.value.cause
    for words in ("Teleport nodes 'a_node', 'd_node'", "Unique node 'c_node'", "'y_node'"):
        assert words in cause
    assert "Relu" not in cause
    assert exc_info.value.node == "a_node"


def test_shapes_that_do_not_fit_are_told_with_the_node_and_the_sizes(graphs: Graphs) -> None:
    text = "(float[4] x) => (float[4] y) { y = MatMul(x, w) }"
    model = graphs.of_text("misfit", text, w=weights(5))
    with pytest.raises(CompileFault, match=r"MatMul node 'y_node' \(.*4.*5") as exc_info:
        plan_bytes(model)
    assert "Error" not in exc_info.value.cause.replace("API Usage Error", "")
    assert ".cpp" not in exc_info.value.cause


def test_what_a_gpu_cannot_compute_is_unsupported_with_its_node(graphs: Graphs) -> None:
    """Turing, for which TensorRT for RTX has no products of matrices in fp32."""
    with pytest.raises(Unsupported, match="FP32 GEMM is not supported") as exc_info:
        plan_bytes(graphs.dense, "sm75")
    assert exc_info.value.node == "z_node"
    assert ".cpp" not in exc_info.value.cause


def test_an_input_that_is_a_shape_is_unsupported_with_its_name(graphs: Graphs) -> None:
    """The engine would read it on the host, with values that its builder must know."""
    text = "(float[6] x, int64[2] shape) => (float[2,3] y) { y = Reshape(x, shape) }"
    model = graphs.of_text("shaped", text)
    with pytest.raises(Unsupported, match="'shape'") as error:
        plan_bytes(model)
    assert "ort-cuda" in error.value.remedy
