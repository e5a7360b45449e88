"""The provider inside real ONNX Runtime sessions: what a plain onnxruntime user meets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
import pytest

from runtimes.fpga import provider
from runtimes.fpga.provider.abi import PROVIDER_NAME, shim_path
from tests.runtimes.fpga.ort_sessions import (
    CPU,
    WEIGHTS,
    card_session,
    cpu_session,
    disagreement,
    mlp,
    of_text,
    quiet_options,
    rows,
    taken,
)


def test_the_device_says_that_it_is_simulated() -> None:
    device = provider.device()
    assert device.ep_name == PROVIDER_NAME
    assert device.device.type == onnxruntime.OrtHardwareDeviceType.NPU
    assert device.device.metadata["simulated"] == "1"


def test_a_second_library_of_that_name_is_refused_and_the_first_lives_on() -> None:
    provider.register()
    with pytest.raises(Exception, match="already registered"):
        onnxruntime.register_execution_provider_library(PROVIDER_NAME, str(shim_path()))
    assert taken(card_session(mlp())) == ["MatMul", "Relu"]


def test_an_open_dimension_is_left_to_the_cpu_and_can_be_fixed() -> None:
    assert taken(card_session(mlp("batch"))) == []
    options = quiet_options()
    options.add_free_dimension_override_by_name("batch", 3)
    session = card_session(mlp("batch"), options=options)
    assert taken(session) == ["MatMul", "Relu"]
    (actual,) = session.run(None, rows(count=3))
    assert actual.shape == (3, 8)
    assert not (actual.view(np.uint32) & 0xFFFF).any(), "each result is rounded to bf16"


def test_other_element_types_are_left_to_the_cpu() -> None:
    proto = of_text("""(double[4] a, float[4] x) => (double[4] b, float[4] y) {
        b = Add(a, a) y = Add(x, x)
    }""")
    session = card_session(proto)
    assert taken(session) == ["Add"]
    assert taken(session, CPU) == ["Add"]
    feeds = {"a": np.full(4, 1.00001), "x": np.ones(4, np.float32)}
    assert session.run(["b"], feeds)[0][0] == 2.00002


def test_a_split_graph_is_computed_by_both() -> None:
    """A node that the card has no operator for, beside and between nodes that it takes."""
    text = """(float[2,8] x) => (float[2,8] y) {
        a = Relu(x) b = CumSum(a, axis) c = Sigmoid(a) d = Add(b, c) e = Tanh(c)
        y = Mul(d, e)
    }"""
    proto = of_text(text, axis=1)
    session = card_session(proto)
    assert taken(session) == ["Add", "Mul", "Relu", "Sigmoid", "Tanh"]
    assert taken(session, CPU) == ["CumSum"]
    x = {"x": np.random.default_rng(1).normal(size=(2, 8)).astype(np.float32)}
    assert not disagreement(session.run(None, x)[0], cpu_session(proto).run(None, x)[0])


def test_a_subgraph_may_read_what_the_card_made() -> None:
    proto = of_text("""(float[4] x, bool p) => (float[4] y) {
        h = Tanh(x)
        z = If(p) <then_branch = then () => (float[4] n) { n = Neg(h) },
            else_branch = other () => (float[4] r) { r = Relu(h) }>
        y = Add(h, z)
    }""")
    x = np.array([-1, 0.5, 2, 3], np.float32)
    session = card_session(proto)
    assert "Tanh" in taken(session)
    feeds = {"x": x, "p": np.array(True)}
    assert np.abs(session.run(None, feeds)[0]).max() == 0
    feeds["p"] = np.array(False)
    assert not disagreement(session.run(None, feeds)[0], cpu_session(proto).run(None, feeds)[0])


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"core": "3"}, "no provider option 'core': did you mean 'cores'"),
        ({"cores": "-1"}, "cores=-1 is not usable: give an integer above 0"),
        ({"card": "v81"}, "no card 'v81'.*'v80'"),
        ({"release": "sdk62"}, "no release 'sdk62'.*'sdk2"),
        ({"cores": "1", "block": "8", "tiles": "1"}, r"needs 2 tiles.*1"),
    ],
)
def test_a_bad_option_stops_the_session(texts: dict[str, str], words: str) -> None:
    with pytest.raises(Exception, match=words) as caught:
        card_session(mlp(), texts)
    assert type(caught.value).__name__ == "InvalidArgument"


def test_parts_that_fit_alone_must_fit_together() -> None:
    """A graph split by a CPU node is several programs on one card."""
    text = "(float[1,8] x) => (float[1,8] y) { a = MatMul(x, w) b = CumSum(a, c) y = MatMul(b, v) }"
    proto = of_text(text, w=WEIGHTS[:8], v=WEIGHTS[8:], c=1)
    small = {"cores": "1", "block": "8"}
    assert taken(card_session(proto, small | {"tiles": "2"})) == ["MatMul", "MatMul"]
    with pytest.raises(Exception, match="need 2 tiles, the card has 1"):
        card_session(proto, small | {"tiles": "1"})


def test_a_failing_kernel_is_an_error_that_names_its_node() -> None:
    proto = of_text("(float[4,3] x, int64[1] i) => (float[1,3] y) { [pick] y = Gather(x, i) }")
    session = card_session(proto)
    assert taken(session) == ["Gather"]
    feeds = {"x": np.ones((4, 3), np.float32), "i": np.array([9])}
    with pytest.raises(Exception, match="Gather node 'pick' failed: IndexError"):
        session.run(None, feeds)
    feeds["i"][0] = 2
    assert session.run(None, feeds)[0].shape == (1, 3)


def test_four_threads_share_a_session_and_make_their_own() -> None:
    shared_session = card_session(mlp())
    expected = [shared_session.run(None, rows(seed))[0] for seed in range(4)]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for turn in range(60):
            session = card_session(mlp()) if turn % 20 == 0 else shared_session
            if not np.array_equal(session.run(None, rows(seed))[0], expected[seed]):
                wrong.append(seed)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert wrong == []


def test_sessions_leave_nothing_behind() -> None:
    count_before = len(provider.compiled_graphs())
    sessions = [card_session(mlp()) for _ in range(3)]
    for session in sessions:
        session.run(None, rows())
    assert len(provider.compiled_graphs()) == count_before + 3
    del session, sessions
    assert len(provider.compiled_graphs()) == count_before
