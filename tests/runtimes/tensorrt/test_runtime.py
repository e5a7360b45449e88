"""The TensorRT adapter keeps the contract over a stand-in engine."""

from __future__ import annotations

import gc
import json
import time
from array import array
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from app.contract.graphs import CHANNELS, STEPS, streamed
from app.workers.timing import loop_of
from exporters.diagnostics import diagnostic
from runtimes.calls import TimedCalls
from runtimes.errors import OutOfMemory, RunFault, Unsupported
from runtimes.options import OptionValue, Settings
from runtimes.session.session_group import compile_sessions
from runtimes.tensorrt.build import TENSORRT
from runtimes.tensorrt.runtime import TensorRt
from runtimes.tensorrt.session import TensorRtLane
from tests.runtimes.contract import ENGINES, RuntimeContract, agrees, computes, reference_of
from tests.runtimes.graphs import Graphs
from tests.runtimes.loop_in_c import NEEDS_C
from tests.runtimes.processes import printed
from tests.runtimes.stand_ins import tensorrt as stand_in
from tests.runtimes.stand_ins.fixtures import Driver, compiled, installed
from tests.runtimes.stepped import bind_apart, run_all_at_once

pytestmark = pytest.mark.usefixtures("tensorrt")


class TestTensorRt(RuntimeContract):
    name = "tensorrt"

    def test_availability_and_devices_are_told_without_the_engine(self) -> None:
        script = (
            "import sys; from runtimes import registry; "
            "runtime = registry.load('tensorrt'); runtime.availability(); runtime.devices(); "
            f"print(*[name for name in {ENGINES!r} if name in sys.modules])"
        )
        assert printed(script).strip() == ""


def test_sessions_side_by_side_have_engines_of_their_own_and_give_all_back(
    graphs: Graphs, tensorrt: ModuleType, driver: Driver, tmp_path: Path
) -> None:
    settings = Settings(options={"sessions": 2, "streams": 2}, cache_dir=str(tmp_path))
    with compile_sessions(TensorRt(), graphs.step, {"batch": 1}, settings) as session:
        assert len(session.lanes) == 4
        assert len(tensorrt.built) == 1, "the second session loads what the first has built"
        inputs = bind_apart(session)
        for x, results in zip(inputs, run_all_at_once(session, STEPS, True), strict=True):
            assert np.allclose(results, streamed(np.repeat(x[None], STEPS, axis=0)), atol=1e-5)
    assert driver.live == 0


def test_the_builder_gets_the_settings_of_the_case(graphs: Graphs, tensorrt: ModuleType) -> None:
    compiled(graphs).close()
    with compiled(graphs, tf32=True, builder_level=5) as session:
        assert session.execution.precision == "tf32"
    half = Settings(precision="fp16", options={"typing": "flags"})
    TensorRt().compile(graphs.dense, {"batch": 3}, half).close()
    first, second, third = tensorrt.built
    assert (first["strong"], first["flags"], first["level"]) == (True, frozenset(), 3)
    assert (second["flags"], second["level"]) == ({"tf32"}, 5)
    assert (third["strong"], third["flags"]) == (False, {"fp16"})
    assert first["shapes"] == [{"x": (1, CHANNELS)}]
    assert third["shapes"] == [{"x": (3, CHANNELS)}]


@pytest.mark.parametrize("boundary", ["host", "device"])
@pytest.mark.alone
@pytest.mark.parametrize("cuda_graph", [False, True])
def test_layers_are_told_by_their_nodes_and_do_not_exceed_the_run(
    graphs: Graphs, boundary: str, cuda_graph: bool
) -> None:
    reference = reference_of(graphs.wide, 1)
    options: dict[str, OptionValue] = {"boundary": boundary, "cuda_graph": cuda_graph}
    with compiled(graphs, "", "wide", operator_times=True, **options) as session:
        lane = session.lanes[0]
        lane.bind(reference.inputs)
        for _ in range(3):
            lane.run()
        start_s = time.perf_counter()
        ops = session.operator_times(7)
        whole_us = (time.perf_counter() - start_s) * 1e6 / 7
        assert session.execution.clock == "device"
        assert session.execution.call_path.startswith("execute_async_v3"), "not a recorded graph"
        assert agrees(lane.outputs(), reference)
    assert [(op.node, op.op) for op in ops] == [("y_node", "MatMul")]
    assert all(op.engine_name == f"stand_in_{op.op.lower()}" for op in ops)
    assert 0 < sum(op.time_us for op in ops) <= whole_us


@NEEDS_C
def test_a_recorded_graph_is_launched_and_waited_for_by_the_loop_in_c(graphs: Graphs) -> None:
    reference = reference_of(graphs.step, 1)
    with compiled(graphs, "", "step", cuda_graph=True, call="c") as session:
        (lane,) = session.lanes
        lane.bind(reference.inputs)
        lane.poison()
        times = [array("q", bytes(8)) for _ in range(3)]
        TimedCalls(lane.calls).time(times[0], times[1], times[2], 1)
        assert agrees(lane.outputs(), reference)
        assert loop_of(lane, streaming=True) == "C"
    for cuda_graph, call in ((False, "auto"), (True, "python")):
        with compiled(graphs, "", "step", cuda_graph=cuda_graph, call=call) as session:
            assert loop_of(session.lanes[0], streaming=True) == "Python"
    with compiled(graphs, "", "step", cuda_graph=True, boundary="device") as session:
        assert loop_of(session.lanes[0], streaming=True) == "Python", "states stay on the device"
        assert loop_of(session.lanes[0], streaming=False) == "C"


def test_layers_that_tensorrt_does_not_report_are_a_fault(
    graphs: Graphs, tensorrt: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensorrt.IExecutionContext, "report_to_profiler", lambda self: False)
    with (
        compiled(graphs, operator_times=True) as session,
        pytest.raises(RunFault, match="layer times"),
    ):
        session.operator_times(1)


def test_operator_times_are_of_the_engine_that_was_timed_and_leave_it(
    graphs: Graphs, tensorrt: ModuleType, tmp_path: Path
) -> None:
    compiled(graphs, tmp_path, cuda_graph=True).close()
    engine_contents = {path: path.read_bytes() for path in (tmp_path / "tensorrt").iterdir()}
    with compiled(graphs, tmp_path, operator_times=True, cuda_graph=True) as session:
        assert session.execution.facts["engine_cache"] == "hit"
        session.operator_times(2)
    assert len(tensorrt.built) == 1
    assert {
        path: path.read_bytes() for path in (tmp_path / "tensorrt").iterdir()
    } == engine_contents


def test_a_full_gpu_is_out_of_memory_and_leaves_nothing(graphs: Graphs, driver: Driver) -> None:
    driver.set(alloc=2)
    with pytest.raises(OutOfMemory, match="the GPU's memory"):
        compiled(graphs)
    driver.set()
    driver.refuse_host(2)
    with pytest.raises(OutOfMemory, match="the host's page-locked memory"):
        compiled(graphs)
    assert driver.live == 0


def test_a_kernel_that_was_passed_over_does_not_explain_what_fails_later(
    graphs: Graphs, tensorrt: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stand_in, "said_while_building", ["Error Code 2: OutOfMemory (a tactic)"])
    with compiled(graphs) as session:
        monkeypatch.setattr(tensorrt.IExecutionContext, "failing", True)
        with pytest.raises(RunFault, match="could not start a run"):
            session.lanes[0].run()


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_what_is_still_queued_is_over_before_what_it_uses_is_gone(
    graphs: Graphs, driver: Driver, cuda_graph: bool
) -> None:
    """As after a run of another stream that failed."""
    stand_in.late.clear()
    session = compiled(graphs, streams=2, cuda_graph=cuda_graph)
    for lane in session.lanes:
        assert isinstance(lane, TensorRtLane) and lane.enqueue is not None
        lane.enqueue()
    session.close()
    gc.collect()
    assert stand_in.late == []
    assert driver.live == 0


def test_the_first_way_to_wait_is_that_of_the_process(graphs: Graphs) -> None:
    with compiled(graphs, sync="block", host_memory="pageable") as session:
        assert session.execution.facts["sync"] == "block"
        assert session.execution.facts["host_memory"] == "pageable"
        assert session.execution.warnings == ()
        assert computes(session.lanes[0], reference_of(graphs.dense, 1))
        with compiled(graphs, sync="spin") as second:
            assert second.execution.facts["sync"] == "block", "one context for the process"
            finding = diagnostic("sync_not_granted", requested="spin", actual="block")
            assert finding in second.execution.warnings


def test_at_the_devices_boundary_no_memory_of_the_host_is_locked(
    graphs: Graphs, driver: Driver
) -> None:
    """A search for the largest batch there is not to end with the host's memory."""
    driver.refuse_host(2)
    with compiled(graphs, boundary="device") as session:
        assert computes(session.lanes[0], reference_of(graphs.dense, 1))


def test_a_recorded_graph_copies_from_locked_memory_alone(graphs: Graphs) -> None:
    options: dict[str, OptionValue] = {"cuda_graph": True, "host_memory": "pageable"}
    with pytest.raises(Unsupported, match="host_memory=pinned"):
        TensorRt().refuse(graphs.dense, {"batch": 1}, Settings(options=options))
    options["boundary"] = "device"
    TensorRt().refuse(graphs.dense, {"batch": 1}, Settings(options=options))


def test_the_precision_is_that_of_the_engines_own_products(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = {"Name": "a", "LayerType": "gemm", "Inputs": [{"Format/Datatype": "Half"}]}
    description = json.dumps({"Layers": [product]})
    monkeypatch.setattr(
        stand_in.EngineInspector, "get_engine_information", lambda self, form: description
    )
    with compiled(graphs) as session:
        assert session.execution.precision == "fp16"


def test_closing_gives_everything_back(graphs: Graphs, driver: Driver) -> None:
    session = compiled(graphs, streams=2, cuda_graph=True)
    session.lanes[0].run()
    assert session.memory().device_peak_bytes == 200 + 2 * (1000 + 4 * CHANNELS + 4 * 3)
    assert driver.live > 0
    session.close()
    session.close()
    assert driver.live == 0


def test_release_11_refuses_flags_for_precision(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(TENSORRT, ("11.4.0.106", 13), monkeypatch)
    with pytest.raises(Unsupported, match="typing=strong"):
        TensorRt().refuse(graphs.dense, {"batch": 1}, Settings(options={"typing": "flags"}))
