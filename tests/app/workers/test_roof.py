"""What an operator has to do, and how much of the machine's peak it reaches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.capabilities.operators.worker import operators
from app.cases.jobs import Peak
from app.contract.graphs import constant, node, weights
from app.workers.peak import HostPeaks, peaks_of_host
from exporters.codec import to_json
from exporters.messages import NodeGraph
from exporters.onnx_files.inquiries import node_graph
from exporters.types import TensorSpec
from runtimes.execution import OpTime
from tests.runtimes.graphs import Graphs

PEAK = Peak(flops_per_s=1e9, bytes_per_s=1e6, in_use_bytes=1, how="by hand")


@pytest.fixture
def graph(tmp_path: Path) -> NodeGraph:
    """x [batch, 8] @ w [8, 16] + b, rectified, of which rows are picked, at batch 4."""
    model = Graphs(tmp_path).save(
        "net",
        [
            node("MatMul", ["x", "w"], ["z"]),
            node("Add", ["z", "b"], ["s"]),
            node("Relu", ["s"], ["r"]),
            node("Gather", ["r", "rows"], ["y"], axis=0),
            node("Reshape", ["r", "flat"], ["same"]),
        ],
        [TensorSpec("x", "float32", ("batch", 8)), TensorSpec("rows", "int64", (1,))],
        [TensorSpec("y", "float32", (1, 16)), TensorSpec("same", "float32", ("all",))],
        [
            constant("w", weights(8, 16)),
            constant("b", weights(16)),
            constant("flat", weights(1).astype("int64") * 0 - 1),
        ],
        axes={"batch": 4},
    )
    return node_graph(model.path, {"batch": 4})


def work(graph: NodeGraph, *names: str) -> tuple[int | None, ...]:
    (op,) = operators(graph, [OpTime("op", "Op", 10.0, "")], [names], PEAK)
    return op.macs, op.bytes_moved


def test_macs_and_bytes_are_those_of_the_cases_own_sizes(graph: NodeGraph) -> None:
    assert work(graph, "z_node") == (4 * 8 * 16, 4 * (4 * 8 + 8 * 16 + 4 * 16))
    assert work(graph, "s_node") == (0, 4 * (4 * 16 + 16 + 4 * 16))
    fused = work(graph, "z_node", "s_node", "r_node")
    assert fused == (4 * 8 * 16, 4 * (4 * 8 + 8 * 16 + 16 + 4 * 16)), "what it keeps is not moved"
    assert work(graph, "y_node") == (0, 4 * 16 + 8 + 4 * 16), "the rows that are picked"
    assert work(graph, "same_node") == (0, 0), "another shape of the same"


def test_the_share_of_the_peak_is_the_least_time_over_the_time(graph: NodeGraph) -> None:
    times = [OpTime("a", "MatMul", 2000.0, ""), OpTime("b", "Reshape", 1.0, "")]
    matmul, reshape = operators(graph, times, [("z_node",), ("same_node",)], PEAK)
    # 896 bytes at 1 MB/s take 896 us, 1,024 operations at 1 GFLOP/s only 1 us.
    assert matmul.roof_us == pytest.approx(896.0)
    assert matmul.peak_share == pytest.approx(0.448)
    assert reshape.peak_share is None, "it has nothing to do"
    (without_peak,) = operators(graph, times[:1], [("z_node",)], None)
    assert (without_peak.macs, without_peak.peak_share) == (512, None)


def test_what_two_executed_nodes_share_is_counted_for_neither(graph: NodeGraph) -> None:
    times = [OpTime("a", "A", 1.0, ""), OpTime("b", "B", 1.0, "")]
    shared_operators = operators(graph, times, [("z_node",), ("z_node", "s_node")], PEAK)
    assert [op.macs for op in shared_operators] == [None, None]


def test_the_hosts_peaks_are_measured_once_and_again_after_a_busy_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = [0.0]
    monkeypatch.setattr("os.getloadavg", lambda: (load[0], 0.0, 0.0))
    peaks = peaks_of_host(1, str(tmp_path))
    assert peaks is not None
    assert peaks.flops_per_s > 1e9, "any core since 2005"
    assert all(bytes_per_s > 1e8 for _, bytes_per_s in peaks.bytes_per_s)
    assert "threads 1" in peaks.how and "numpy" in peaks.how
    (cache_file,) = tmp_path.iterdir()
    cache_file.write_text(cache_file.read_text().replace("numpy", "kept: numpy"))
    again = peaks_of_host(1, str(tmp_path))
    assert again is not None
    assert again.how.startswith("kept: "), "it is measured once"
    slow = HostPeaks(1.0, ((1000, 1.0),), "when it was busy", busy=True)
    cache_file.write_text(json.dumps(to_json(slow)))
    load[0] = 1000.0
    assert peaks_of_host(1, str(tmp_path)) == slow, "not again for each case of a run"
    load[0] = 0.0
    again = peaks_of_host(1, str(tmp_path))
    assert again is not None and again.flops_per_s > 1e9
    cache_file.write_text("torn")
    assert peaks_of_host(1, str(tmp_path)) is not None


def test_the_bandwidth_is_that_of_as_many_bytes_as_are_in_use() -> None:
    peaks = HostPeaks(1.0, ((1000, 50.0), (2000, 20.0), (9000, 5.0)), "by hand")
    actual = [peaks.at(size) for size in (10, 1500, 9000, 10**9)]
    found = [(peak.in_use_bytes, peak.bytes_per_s) for peak in actual]
    assert found == [(1000, 50.0), (2000, 20.0), (9000, 5.0), (9000, 5.0)]
