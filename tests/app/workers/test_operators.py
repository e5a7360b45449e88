"""Operator times from a real process, and which nodes of the file an executed node holds."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from app.capabilities.operators import worker as operators
from app.capabilities.operators.worker import source_nodes
from app.cases.case import Case
from app.cases.jobs import OperatorJob, settings_of
from exporters.codec import to_json
from exporters.messages import GraphNode, NodeGraph
from exporters.types import ExportedModel
from runtimes.base import Availability, Runtime, Unavailable
from runtimes.execution import OpTime
from runtimes.onnxruntime.gpu_runtimes import OrtCuda, OrtTensorRt
from runtimes.pytorch.runtime import TorchCuda
from runtimes.tensorrt.runtime import TensorRt
from tests.app.workers.conftest import AXES
from tests.app.workers.operator_times import operator_times


def test_the_operators_of_a_case_are_told_or_why_it_has_none(counter: ExportedModel) -> None:
    case = Case("counter.onnx", "ort-cpu", axes=AXES)
    times = operator_times(counter, case)
    assert (times.case_id, times.clock, times.reason) == (case.case_id, "wall", "")
    assert {op.op for op in times.ops} <= {"Add", "Identity"}
    assert times.runs >= operators.MINIMUM_RUNS
    assert times.total_us > 0
    times = operator_times(replace(counter, precision="fp16"), replace(case, precision="fp16"))
    assert times.ops == ()
    assert "fp16" in times.reason


def test_the_case_is_compiled_like_its_rounds_and_finds_their_engines(
    counter: ExportedModel,
) -> None:
    case = Case("counter.onnx", "ort-cuda:1", "fp16", AXES, 2, {"tf32": True})
    settings = OperatorJob(case, counter, "/cache/engines").settings
    assert settings.cache_dir == "/cache/engines"
    assert replace(settings, operator_times=False) == settings_of(case, "/cache/engines")


@pytest.mark.parametrize(
    ("runtime", "waits"),
    [(OrtCuda, True), (OrtTensorRt, True), (TensorRt, False), (TorchCuda, False)],
)
def test_launches_wait_where_the_host_is_the_clock_and_only_there(
    counter: ExportedModel, monkeypatch: pytest.MonkeyPatch, runtime: type[Runtime], waits: bool
) -> None:
    """The driver reads the variable once, at the latest when the runtime asks for devices; and
    a device's own clock would count the pauses between launches that wait."""
    values: list[str | None] = []

    def availability(self: Runtime) -> Availability:
        values.append(os.environ.get("CUDA_LAUNCH_BLOCKING"))
        return Unavailable("asked", "")

    # Set and unset, so that what the worker sets is undone after the test.
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "")
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING")
    monkeypatch.setattr(runtime, "availability", availability)
    case = Case("counter.onnx", runtime.name, axes=AXES)
    answer = operators.answer(to_json(OperatorJob(case, counter)), lambda event: None)
    assert values == ["1" if waits else None]
    assert answer.reason.startswith("asked")


def node(name: str, reads: str, writes: str) -> GraphNode:
    macs = 8 if name == "conv" else 0
    return GraphNode(name, name, dict.fromkeys(reads.split()), dict.fromkeys(writes.split()), macs)


FILE = (
    node("conv", "x w", "c"),
    node("bias", "c b", "d"),
    node("relu", "d", "r"),
    node("node_add_7", "r x", "a"),
    node("node_add_9", "a x", "y"),
)


def op(name: str, kind: str = "", *holds: str) -> OpTime:
    return OpTime(name, kind, 1.0, "", holds)


def test_an_engines_own_graph_tells_by_its_tensors() -> None:
    engine_nodes = (node("fused conv", "x w b", "r"), node("sum", "r x", "y"))
    graph = NodeGraph(FILE, ("y",), engine_nodes)
    assert source_nodes(graph, [op("fused conv"), op("sum")]) == [
        ("conv", "bias", "relu"),
        ("node_add_7", "node_add_9"),
    ]


def test_tensors_that_an_engine_laid_out_anew_stand_for_those_of_the_file() -> None:
    """As ONNX Runtime's blocked convolutions have them, with a sum and a function fused behind."""
    file = (
        *FILE[:3],
        node("conv", "r w2", "c2"),
        node("sum", "c2 r", "s"),
        node("relu2", "s", "t"),
        node("pool", "t", "y"),
    )
    file = (*file[:3], GraphNode("conv2", "Conv", {"r": 0, "w2": 0}, {"c2": 0}, 8), *file[4:])
    engine_nodes = (
        node("ReorderInput", "x", "reorder_1"),
        node("r_nchwc", "reorder_1 w b", "blocked_1"),
        node("c2_nchwc", "blocked_1 w2 blocked_1", "blocked_2"),
        node("ReorderOutput", "blocked_2", "t"),
        node("pool", "t", "y"),
    )
    graph = NodeGraph(file, ("y",), engine_nodes)
    assert source_nodes(graph, [op(engine_node.name) for engine_node in engine_nodes]) == [
        (),
        ("conv", "bias", "relu"),
        ("conv2", "sum"),
        ("relu2",),
        ("pool",),
    ]


def test_names_tell_where_an_engine_shows_no_graph() -> None:
    """OpenVINO calls a product with its bias after the bias."""
    graph = NodeGraph(FILE, ("y",))
    ops = [op("conv/WithoutBiases", "", "conv/WithoutBiases", "relu"), op("y"), op("x_abc_conv")]
    sources = source_nodes(graph, ops)
    assert sources[0] == ("conv", "bias", "relu")
    assert sources[1:] == [("node_add_7", "node_add_9"), ()]
    file = (node("relu", "x", "r"), node("conv", "r w", "c"), node("bias", "c b", "y"))
    sources = source_nodes(NodeGraph(file, ("y",)), [op("relu"), op("bias")])
    assert sources == [("relu",), ("conv", "bias")]


def test_the_calls_of_a_torch_module_come_in_the_order_of_its_graph() -> None:
    graph = NodeGraph(FILE, ("y",))
    first, second = source_nodes(graph, [op("module #0", "add"), op("module #1", "add")])
    assert "node_add_7" in first
    assert second == ("node_add_9",)
    assert source_nodes(graph, [op("module #0", "add")]) == [()], "which of the two, nobody knows"


def test_a_torch_modules_parameters_tell_whose_node_it_is() -> None:
    """Norms are folded away and rename a convolution, which is still one call of `body.0`."""
    file = (
        node("node_Conv_7", "x body.0.weight body.0.weight_bias", "c"),
        node("node_Conv_9", "c body.3.weight", "d"),
        node("node_Mul_11", "d shared.weight", "e"),
        node("node_Mul_12", "e shared.weight", "y"),
    )
    calls = [op("body.0 #0", "conv2d"), op("body.1 #1", "batch_norm"), op("body.3 #2", "conv2d")]
    graph = NodeGraph(file, ("y",))
    sources = source_nodes(graph, [*calls, op("shared #3", "mul")])
    assert sources[0] == ("node_Conv_7",)
    assert "node_Conv_9" in sources[2]
    assert sources[1] == sources[3] == (), "equal parameters are one tensor of the file"
