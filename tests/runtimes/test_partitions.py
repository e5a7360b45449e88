"""How often the providers change within a graph, and for which nodes."""

from __future__ import annotations

import pytest

from runtimes.execution import Execution, NodePlacement


def executed(providers: str, shape_letters: str = "") -> Execution:
    """One node for each letter, in this order: A is the engine that was asked for."""
    placement = tuple(
        NodePlacement(f"n{place}", "Op", letter, "fp32", letter not in shape_letters, place)
        for place, letter in enumerate(providers)
    )
    return Execution("A", "fp32", "device", "run", placement=tuple(reversed(placement)))


@pytest.mark.parametrize(
    ("providers", "partitions", "splitting"),
    [
        ("AAA", ["AAA"], []),
        ("AAB", ["AA", "B"], []),
        ("BAA", ["B", "AA"], []),
        ("ABBA", ["A", "BB", "A"], ["n1", "n2"]),
        ("BACABB", ["B", "A", "C", "A", "BB"], ["n2"]),
        ("BB", ["BB"], []),
        ("", [], []),
    ],
)
def test_nodes_are_grouped_in_the_order_of_execution(
    providers: str, partitions: list[str], splitting: list[str]
) -> None:
    execution = executed(providers)
    groups = ["".join(node.provider for node in nodes) for nodes in execution.partitions]
    assert groups == partitions
    assert [node.node for node in execution.splitting] == splitting


def test_shape_arithmetic_on_the_host_splits_nothing() -> None:
    assert len(executed("AHA", shape_letters="H").partitions) == 1


def test_without_an_order_nothing_is_said() -> None:
    execution = Execution(
        "A", "fp32", "device", "run", placement=(NodePlacement("n", "Op", "B", "fp32"),)
    )
    assert execution.partitions == () and execution.splitting == ()
    assert execution.elsewhere == execution.placement
