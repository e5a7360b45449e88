"""Claims must be convex and must not wait for each other, or ONNX Runtime's graph breaks."""

from __future__ import annotations

from collections.abc import Collection
from graphlib import TopologicalSorter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from runtimes.fpga.provider.graph import claims

Before = tuple[tuple[int, ...], ...]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Before, frozenset[int]]:
    size = draw(st.integers(1, 12))
    direct_inputs = tuple(
        tuple(sorted(draw(st.sets(st.integers(0, node - 1), max_size=3)))) if node else ()
        for node in range(size)
    )
    return direct_inputs, frozenset(draw(st.sets(st.integers(0, size - 1))))


def reachable(direct_inputs: Before) -> list[set[int]]:
    """Per node, all nodes that a path from it reaches, worked out the slow way."""
    successors: list[set[int]] = [set() for _ in direct_inputs]
    for node in reversed(range(len(direct_inputs))):
        for p in direct_inputs[node]:
            successors[p] |= {node} | successors[node]
    return successors


@given(graphs())
def test_claims_hold_each_supported_node_once(case: tuple[Before, frozenset[int]]) -> None:
    direct_inputs, supported_nodes = case
    claim_list = claims(direct_inputs, supported_nodes)
    assert sorted(node for claim in claim_list for node in claim) == sorted(supported_nodes)
    assert all(claim_list)


def is_convex(direct_inputs: Before, nodes: Collection[int]) -> bool:
    """Whether no path between two of the nodes passes through another, by the definition."""
    successors = reachable(direct_inputs)
    outside = set(range(len(direct_inputs))) - set(nodes)
    between_nodes = {o for o in outside if any(o in successors[a] for a in nodes)}
    return not any(b in successors[o] for o in between_nodes for b in nodes)


@given(graphs())
def test_no_path_leaves_a_claim_and_returns(case: tuple[Before, frozenset[int]]) -> None:
    direct_inputs, supported_nodes = case
    assert all(is_convex(direct_inputs, claim) for claim in claims(direct_inputs, supported_nodes))


@given(graphs())
def test_fused_nodes_can_still_be_put_in_order(case: tuple[Before, frozenset[int]]) -> None:
    direct_inputs, supported_nodes = case
    owner = {
        n: ("claim", i)
        for i, claim in enumerate(claims(direct_inputs, supported_nodes))
        for n in claim
    }
    waits: dict[object, set[object]] = {}
    for node, nodes_before in enumerate(direct_inputs):
        me = owner.get(node, node)
        waits.setdefault(me, set()).update(owner.get(p, p) for p in nodes_before)
        waits[me].discard(me)
    list(TopologicalSorter(waits).static_order())


@given(graphs())
def test_no_two_neighbouring_claims_could_have_been_one(
    case: tuple[Before, frozenset[int]],
) -> None:
    direct_inputs, supported_nodes = case
    claim_list = claims(direct_inputs, supported_nodes)
    for first, second in pairwise(claim_list):
        assert not is_convex(direct_inputs, {*first, *second})
