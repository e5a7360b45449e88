"""The provider reads what the importer reads, and its claims are convex."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import pairwise

import numpy as np
import onnx
import onnxruntime
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from runtimes.fpga import provider
from runtimes.fpga.card.timing import latency_us
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.graph.importer import AXES_KEY, STATES_KEY, import_model
from runtimes.fpga.provider.graph import claims
from tests.runtimes.fpga.ort_sessions import card_session, of_text, quiet_options

RNG = np.random.default_rng(1)


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def unoptimised(proto: onnx.ModelProto) -> tuple[onnxruntime.InferenceSession, Graph]:
    options = quiet_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return card_session(proto, options=options), provider.compiled_graphs()[-1]


def test_every_kind_of_attribute_and_input_arrives() -> None:
    text = """(float[1,2,2,3,2] x, float[1,4,2] h0) => (float[8,1,4,2] y, float[1,4,2] cell) {
        [conv] c = Conv <pads = [1, 0, 1, 1, 2, 1]> (x, k)
        l = LeakyRelu <alpha = 0.25> (c)
        g = Gelu <approximate = "tanh"> (l)
        i = Clip(g, , high)
        r = Reshape(i, target)
        t = Transpose <perm = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]> (r)
        s = Reshape(t, steps)
        y, , cell = LSTM <hidden_size = 2, direction = "reverse", clip = 3.5,
            activations = ["Sigmoid", "Tanh", "Relu"]> (s, w, u, , , h0)
    }"""
    proto = of_text(
        text,
        k=random(2, 2, 1, 2, 2),
        high=np.float32(2.5),
        target=[1, 2, 1, 4, 1, 4, 1, 3, 1, 1],
        steps=[8, 4, 3],
        w=random(1, 8, 3),
        u=random(1, 8, 2),
    )
    session, read = unoptimised(proto)
    expected = import_model(proto, {})
    for actual, expected_node in zip(read.nodes, expected.nodes, strict=True):
        # ONNX Runtime writes defaults out, and the importer names nodes that have no name.
        assert actual.attributes.items() >= expected_node.attributes.items()
        assert replace(actual, name="", attributes={}) == replace(
            expected_node, name="", attributes={}
        )
    assert read.nodes[0].name == "conv"
    assert read.inputs == expected.inputs
    assert read.outputs == expected.outputs
    assert read.values == expected.values
    assert {n: a.shape for n, a in read.constants.items()} == {
        n: a.shape for n, a in expected.constants.items()
    }
    del session


def step(states: str) -> onnx.ModelProto:
    """One time step of an LSTM whose state comes in and goes out."""
    text = """(float[1,1,4] x, float[1,1,256] h, float[1,1,256] c)
    => (float[1,1,1,256] y, float[1,1,256] h2, float[1,1,256] c2) {
        y, h2, c2 = LSTM <hidden_size = 256> (x, w, r, , , h, c)
    }"""
    proto = of_text(text, w=random(1, 1024, 4), r=random(1, 1024, 256))
    helper.set_model_props(proto, {STATES_KEY: states, AXES_KEY: "{}"})
    return proto


def test_the_state_that_a_model_declares_is_held_on_the_card() -> None:
    pairs = [["h", "h2"], ["c", "c2"]]
    session, read = unoptimised(step(json.dumps(pairs)))
    assert read.states == (("h", "h2"), ("c", "c2"))
    state_latency_us = latency_us(provider.compiled()[-1])
    del session
    session, read = unoptimised(step("[]"))
    assert read.states == ()
    assert latency_us(provider.compiled()[-1]) > state_latency_us
    del session


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


def is_convex(direct_inputs: Before, nodes: Collection[int]) -> bool:
    """Whether no path between two of the nodes passes through another, by the definition."""
    successors = reachable(direct_inputs)
    outside = set(range(len(direct_inputs))) - set(nodes)
    between_nodes = {o for o in outside if any(o in successors[a] for a in nodes)}
    return not any(b in successors[o] for o in between_nodes for b in nodes)


@given(graphs())
def test_claims_are_convex_whole_and_as_large_as_they_can(
    case: tuple[Before, frozenset[int]],
) -> None:
    direct_inputs, supported_nodes = case
    claim_list = claims(direct_inputs, supported_nodes)
    assert sorted(node for claim in claim_list for node in claim) == sorted(supported_nodes)
    assert all(claim_list)
    assert all(is_convex(direct_inputs, claim) for claim in claim_list)
    for first, second in pairwise(claim_list):
        assert not is_convex(direct_inputs, {*first, *second}), "they could have been one"
    owner = {node: ("claim", i) for i, claim in enumerate(claim_list) for node in claim}
    waits: dict[object, set[object]] = {}
    for node, nodes_before in enumerate(direct_inputs):
        me = owner.get(node, node)
        waits.setdefault(me, set()).update(owner.get(p, p) for p in nodes_before)
        waits[me].discard(me)
    list(TopologicalSorter(waits).static_order())  # fused nodes can still be put in order
