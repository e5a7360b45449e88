"""Which nodes of the file an executed node holds: by the engine's graph, by names, in order."""

from __future__ import annotations

from app.workers.held import held
from exporters.node_graph import GraphNode, NodeGraph
from runtimes.execution import OpTime


def node(name: str, reads: str, writes: str) -> GraphNode:
    return GraphNode(name, name, dict.fromkeys(reads.split()), dict.fromkeys(writes.split()))


FILE = (
    node("conv", "x w", "c"),
    node("bias", "c b", "d"),
    node("relu", "d", "r"),
    node("node_add_7", "r x", "a"),
    node("node_add_9", "a x", "y"),
)


def op(name: str, kind: str = "", *holds: str) -> OpTime:
    return OpTime(name, kind, 1.0, "", holds)


def test_an_engines_own_graph_tells_what_lies_between_its_tensors() -> None:
    executed = (node("fused conv", "x w b", "r"), node("sum", "r x", "y"))
    graph = NodeGraph(FILE, ("y",), executed)
    assert held(graph, [op("fused conv"), op("sum")]) == [
        ("conv", "bias", "relu"),
        ("node_add_7", "node_add_9"),
    ]


def test_tensors_that_an_engine_laid_out_anew_stand_for_those_of_the_file() -> None:
    """As ONNX Runtime's blocked convolutions have them, with reorders before and after."""
    executed = (
        node("ReorderInput", "x", "reorder_1"),
        node("r_nchwc", "reorder_1 w b", "blocked_1"),
        node("node_add_7", "blocked_1 reorder_1", "blocked_2"),
        node("ReorderOutput", "blocked_2", "a"),
        node("node_add_9", "a x", "y"),
    )
    graph = NodeGraph(FILE, ("y",), executed)
    assert held(graph, [op(one.name) for one in executed]) == [
        (),
        ("conv", "bias", "relu"),
        ("node_add_7",),
        (),
        ("node_add_9",),
    ]


def test_names_tell_where_an_engine_shows_no_graph() -> None:
    graph = NodeGraph(FILE, ("y",))
    ops = [
        op("conv/WithoutBiases", "", "conv/WithoutBiases", "relu"),
        op("y"),
        op("x_abc_acb_conv"),
    ]
    assert held(graph, ops) == [("conv", "relu"), ("node_add_9",), ()]


def test_the_calls_of_a_torch_module_come_in_the_order_of_its_graph() -> None:
    graph = NodeGraph(FILE, ("y",))
    assert held(graph, [op("module #0", "add"), op("module #1", "add")]) == [
        ("node_add_7",),
        ("node_add_9",),
    ]
    assert held(graph, [op("module #0", "add")]) == [()], "which of the two, nobody knows"
