"""The times of operators: every node that runs is there, and they add up to the run."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.types import ExportedModel
from runtimes import registry
from runtimes.base import Session
from runtimes.errors import Unsupported
from runtimes.execution import AfterCompletion, OpTime
from runtimes.onnxruntime import execution as operators
from runtimes.onnxruntime.session import OrtSession
from runtimes.openvino.library import Kernel
from runtimes.openvino.session import Means, OpenVinoLane
from runtimes.options import Settings
from tests.runtimes.contract import reference_of
from tests.runtimes.graphs import Graphs

PROFILED = Settings(threads=1, operator_times=True)


def bound(name: str, model: ExportedModel, settings: Settings = PROFILED) -> Session:
    session = registry.load(name).compile(model, {"batch": 1}, settings)
    session.lanes[0].bind(reference_of(model, 1).inputs)
    return session


@pytest.mark.alone
@pytest.mark.parametrize("name", ["ort-cpu", "openvino-cpu", "torch-cpu"])
def test_the_operators_take_about_what_the_run_takes(graphs: Graphs, name: str) -> None:
    with bound(name, graphs.wide) as session:
        # With the first, slow run: OpenVINO tells the mean of all runs that there were.
        start_s = time.perf_counter()
        session.lanes[0].run()
        ops = session.operator_times(20)
        whole_us = (time.perf_counter() - start_s) * 1e6 / 21
    assert ops
    assert all(op.node and op.op and op.engine_name for op in ops)
    total_us = sum(op.time_us for op in ops)
    assert 0 < total_us <= whole_us, "the parts of a run are not longer than the run"


def test_onnx_runtimes_nodes_have_the_graphs_names(graphs: Graphs) -> None:
    options = {"graph_optimization": "off"}
    with bound("ort-cpu", graphs.dense, replace(PROFILED, options=options)) as s:
        ops = s.operator_times(3)
        assert isinstance(s, OrtSession) and s._recording is not None
        folder = s._recording.folder
        assert folder.is_dir()
    assert not folder.exists(), "the profiler's file goes with the session"
    assert {op.op for op in ops} == {"MatMul", "Relu"}


def test_runs_before_those_that_are_told_do_not_count(graphs: Graphs) -> None:
    with bound("ort-cpu", graphs.dense) as session:
        for _ in range(50):
            session.lanes[0].run()
        ops = session.operator_times(1)
    assert all(op.time_us % 1 == 0.5 for op in ops), "one run, cut to whole microseconds"


def test_memory_and_waiting_of_nodes_come_with_their_times(graphs: Graphs) -> None:
    with bound("ort-cpu", graphs.wide, replace(PROFILED, threads=2)) as session:
        ops = session.operator_times(3)
    (output,) = reference_of(graphs.wide, 1).outputs.values()
    if ops[-1].in_use_bytes is None:
        pytest.skip("this ONNX Runtime reports no memory of nodes")
    for op in ops:
        assert op.in_use_bytes is not None and op.peak_bytes is not None
        assert 0 < op.in_use_bytes <= op.peak_bytes <= (op.arena_bytes or 0)
        assert op.pool_run_us is not None and op.pool_run_us >= 0
        assert op.pool_wait_us is not None and op.pool_wait_us >= 0
    assert max(op.peak_bytes or 0 for op in ops) >= output.nbytes


def told(folder: Path, events: list[dict[str, Any]], runs: int) -> tuple[OpTime, ...]:
    """What is read of a file of the profiler."""
    path = folder / "kernels.json"
    path.write_text(json.dumps(events))
    return operators.op_times(path, runs)


def test_a_peak_belongs_to_the_node_while_which_it_rose(tmp_path: Path) -> None:
    def node(name: str, ts: int, in_use: int, peak: int, wait: int) -> dict[str, Any]:
        facts = {"mem_bytes_in_use": in_use, "mem_in_use_peak": peak, "mem_arena_held": 4096}
        event = traced(f"{name}_kernel_time", "Node", ts, 5, node_index=name)
        pool = {"main_thread": {"Run": 4, "Wait": wait}, "sub_threads": {}}
        threads = {"thread_scheduling_stats": pool}
        event["args"] |= {key: str(value) for key, value in facts.items()} | threads
        return event

    events = [
        # What opened the session had 900 bytes; b takes 1,000 while it runs, and 200 are left.
        *(node("a", 1, 100, 900, 9), node("b", 10, 200, 1000, 9)),
        traced("model_run", "Session", 0, 20),
        # All activations in one block: 300 bytes, at every node.
        *(node("a", 101, 300, 1000, 1), node("b", 110, 300, 1000, 3)),
        traced("model_run", "Session", 100, 20),
    ]
    a, b = told(tmp_path, events, 1)
    assert (a.node, a.in_use_bytes, a.peak_bytes) == ("a", 300, 300)
    assert (b.node, b.in_use_bytes, b.peak_bytes) == ("b", 300, 1000)
    assert (a.arena_bytes, a.pool_run_us, a.pool_wait_us, b.pool_wait_us) == (4096, 4.0, 1.0, 3.0)


def traced(name: str, category: str, ts: int, dur: int, **facts: Any) -> dict[str, Any]:
    """One event of the file that ONNX Runtime's profiler writes."""
    facts = {"node_index": "0", "op_name": "Conv", "provider": "CUDA"} | facts
    return {"cat": category, "name": name, "ts": ts, "dur": dur, "args": facts}


def test_the_devices_own_events_come_before_the_hosts_time_of_a_launch(tmp_path: Path) -> None:
    """A build with GPU profiling writes a call's kernels after it; only what has none is the
    host's: the time of a launch says nothing of a kernel."""
    events = [
        traced("model_run", "Session", 0, 90),
        traced("conv_kernel_time", "Node", 1, 80),
        traced("warm", "Kernel", 2, 999, stream="7"),
    ]
    for ts, longer in ((100, 0), (200, 4)):
        events += [
            traced("conv_kernel_time", "Node", ts + 1, 3),
            traced("pad", "Kernel", ts + 2, 10, stream="7"),
            traced("winograd", "Kernel", ts + 3, 40 + longer, stream="7"),
            traced("shape_kernel_time", "Node", ts + 2, 6, op_name="Shape", provider="CPU"),
            traced("model_run", "Session", ts, 70),
        ]
    assert told(tmp_path, events, 2) == (
        OpTime("conv", "Conv", 52.0, "winograd"),
        OpTime("shape", "Shape", 6.5, "Shape of CPU"),
    )


def test_one_run_that_lost_its_core_makes_no_operator_slow(tmp_path: Path) -> None:
    """A Reshape of 579 us in a run of 107 us was one of 35 runs that the system had set aside."""
    events = []
    for run, reshape_us in enumerate((1, 1, 4000, 1, 0)):
        start_ns = 10_000 * run
        events += [
            traced("reshape_kernel_time", "Node", start_ns + 1, reshape_us, op_name="Reshape"),
            traced("model_run", "Session", start_ns, reshape_us + 10),
        ]
    (reshape,) = told(tmp_path, events, 5)
    # One of five runs lies below 1 us and three in the microsecond from there on.
    assert reshape.time_us == pytest.approx(1 + (2.5 - 1) / 3)


class Counters(OpenVinoLane):
    """A lane whose engine tells, as OpenVINO does, the mean of all runs so far in whole us."""

    def __init__(self, spent_us: Sequence[float]) -> None:
        self.spent_us, self.ran = spent_us, 0
        self.run = self._next

    def _next(self) -> None:
        self.ran += 1

    def kernels(self) -> tuple[Kernel, ...]:
        mean_us = int(sum(self.spent_us[: self.ran]) / self.ran)
        return (Kernel("conv", "Convolution", "jit_f32", mean_us, ("relu",)),)


def test_openvinos_means_become_a_time_that_one_slow_run_does_not_move() -> None:
    lane = Counters([900.0, *[40.0] * 36, 4000.0, *[40.0] * 70])
    means = Means(lane)
    lane.run()
    (conv,) = means.op_times(lane.run, 100)
    assert lane.ran == 101
    assert conv.time_us == pytest.approx(40.0, abs=3.0), "its mean of all runs is 88 us"
    assert conv.holds == ("conv", "relu")


@pytest.mark.rare
@pytest.mark.filterwarnings(
    # torch's compiler still imports parts that torch itself calls deprecated.
    "ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"
)
def test_operator_times_of_compiled_torch_leave_the_code_that_is_timed(
    graphs: Graphs, tmp_path: Path
) -> None:
    """Its kernels carry marks for the profiler, which timed ones must not find in the cache."""
    from torch._dynamo.utils import counters

    timed_settings = Settings(threads=1, options={"mode": "compile"}, cache_dir=str(tmp_path))
    hit_counts = []
    for settings in (timed_settings, replace(timed_settings, operator_times=True), timed_settings):
        hits_before = counters["inductor"]["fxgraph_cache_hit"]
        with bound("torch-cpu", graphs.step, settings) as session:
            session.lanes[0].run()
            kernels = session.operator_times(2) if settings.operator_times else ()
        hit_counts.append(counters["inductor"]["fxgraph_cache_hit"] - hits_before)
        assert any("fused" in op.engine_name for op in kernels) == settings.operator_times
    assert hit_counts == [0, 0, 1]


@pytest.mark.parametrize("gap_us", [0.0, 20.0])
def test_a_cards_instructions_add_up_to_its_latency(graphs: Graphs, gap_us: float) -> None:
    with bound("fpga", graphs.step) as session:
        samples = session.simulate(
            AfterCompletion(4000, round(gap_us * 1e3)), np.random.default_rng(0)
        )
        ops = session.operator_times(1)
    # The jitter has a mean of zero and a deviation of 0.05 us.
    mean_us = float(samples.latency_ns.mean()) / 1e3
    assert sum(op.time_us for op in ops) == pytest.approx(mean_us, abs=0.005)
    assert {op.op for op in ops} == {"Transfer", "MatrixVector", "Elementwise"}


@pytest.mark.parametrize("name", ["ort-cpu", "openvino-cpu", "torch-cpu", "fake"])
def test_a_session_to_be_timed_tells_no_operators(graphs: Graphs, name: str) -> None:
    with bound(name, graphs.dense, Settings(threads=1)) as session, pytest.raises(Unsupported):
        session.lanes[0].run()
        session.operator_times(1)
