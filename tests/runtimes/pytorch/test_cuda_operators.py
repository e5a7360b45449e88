"""Operator times of torch on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from torch.autograd.profiler_util import FunctionEvent

from exporters.types import ExportedModel
from runtimes.execution import OpTime
from runtimes.options import Settings
from runtimes.pytorch import session as operators
from runtimes.pytorch.cuda_session import TorchCudaSession
from tests.runtimes.contract import agrees, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.pytorch.host_place import PLAIN, HostPlace
from tests.runtimes.requests import request_of


@pytest.mark.parametrize("name", ["wide", "step"])
def test_the_operators_are_told_at_both_boundaries_and_without_a_graph(
    graphs: Graphs, boundary: str, cuda_graph: bool, name: str
) -> None:
    model: ExportedModel = getattr(graphs, name)
    options = PLAIN | {"boundary": boundary, "cuda_graph": cuda_graph}
    request = request_of(model, 1, Settings(operator_times=True), **options)
    reference = reference_of(model, 1)
    with TorchCudaSession(request, HostPlace()) as session:
        lane = session.lanes[0]
        assert session.execution.call_path.startswith("module(*inputs)")
        lane.bind(reference.inputs)
        ops = session.operator_times(5)
        lane.run()
        assert agrees(lane.outputs(), reference)
    assert any("linear" in op.op or "mm" in op.op or "matmul" in op.op for op in ops)
    copies = [op for op in ops if op.op == "copy_"]
    assert len(copies) == (len(model.inputs) + len(model.outputs)) * (boundary == "host")


def event(
    name: str,
    begun_us: float,
    ended_us: float,
    *children: FunctionEvent,
    kernels: Sequence[tuple[str, float]] = (),
) -> FunctionEvent:
    """One of the profiler's events, with what it called and the kernels that it launched."""
    event_class: Any = FunctionEvent
    raw_event = event_class(0, name, 0, begun_us, ended_us, use_device="cuda")
    for child in children:
        raw_event.append_cpu_child(child)
    for kernel, duration_us in kernels:
        raw_event.append_kernel(kernel, 0, duration_us)
    event: FunctionEvent = raw_event
    return event


def test_on_a_gpu_an_operator_takes_what_its_kernels_take() -> None:
    """The host's times are those of the launches: a kernel may run after its operator returned."""
    runs = []
    for slower in (0.0, 1.0, 4000.0):
        parts = [("gemm", 40.0 + slower), ("split_k", 7.0)]
        multiply = event("aten::mm", 1, 3, kernels=parts)
        add = event("aten::add_", 3, 4, kernels=[("elementwise", 3.0)])
        linear = event("aten::linear", 0, 5, event("aten::t", 0, 1), multiply, add)
        copy = event("aten::copy_", 6, 8, kernels=[("Memcpy DtoH (Device -> Pinned)", 5.0)])
        view, wait = event("aten::view", 5, 6), event("cudaStreamSynchronize", 8, 60)
        scope = event("graphlap module head", 0, 6, linear, view)
        runs.append(event("graphlap run", 0, 60, scope, copy, wait))
    assert operators.medians(runs, on_gpu=True) == (
        OpTime("head #0", "linear", 51.0, "gemm"),
        OpTime("module #2", "copy_", 5.0, "Memcpy DtoH (Device -> Pinned)"),
    )
    assert sum(op.time_us for op in operators.medians(runs, on_gpu=False)) == 60.0
