"""An output that is an input of the graph is right, and costs no run and no buffer of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exporters.types import ExportedModel, StatePair
from runtimes import calls as timed
from runtimes.base import Session
from runtimes.options import OptionValue, Settings
from runtimes.registry import load
from runtimes.session.host import HostLane
from tests.runtimes.graphs import Graphs
from tests.runtimes.onnxruntime.on_host import on_host

LANES: list[tuple[str, dict[str, OptionValue]]] = [
    ("ort-cpu", {}),
    ("ort-cpu", {"call": "python"}),
    ("ort-cpu", {"build": "library"}),
    ("openvino-cpu", {}),
    ("a device", {"boundary": "host"}),
    ("a device", {"boundary": "device"}),
    ("fpga:v80", {}),
]
KINDS = {
    "itself": ("float[4] x", ""),
    "identity": ("float[4] z", "z = Identity(x)"),
    "two identities": ("float[4] z, float[4] w", "z = Identity(x) w = Identity(z)"),
    "dropout": ("float[4] z", "z = Dropout(x)"),
    "two dropouts": ("float[4] z, float[4] w", "z = Dropout(x) w = Dropout(x)"),
}


def opened(model: ExportedModel, runtime: str, options: dict[str, OptionValue]) -> Session:
    if options.get("build") == "library" and not timed.built():
        pytest.skip("the loop in C was not built")
    if runtime == "a device":
        return on_host(model, 1, "host" if options["boundary"] == "host" else "device")
    name, _, device = runtime.partition(":")
    return load(name).compile(model, {}, Settings(device=device, options=options))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("runtime", "options"), LANES)
def test_it_is_what_was_bound(
    runtime: str, options: dict[str, OptionValue], kind: str, graphs: Graphs
) -> None:
    outputs, nodes = KINDS[kind]
    text = f"(float[4] x) => (float[4] y, {outputs}) {{ y = Relu(x) {nodes} }}"
    model = graphs.of_text(f"passing_{kind.replace(' ', '_')}", text)
    with opened(model, runtime, options) as session:
        (lane,) = session.lanes
        for sign in (1, -1):
            x = sign * np.array([-1, 2, -3, 4], np.float32)
            lane.bind({"x": x})
            for _ in range(2):
                lane.poison()
                lane.run()
            arrays = lane.outputs()
            assert np.array_equal(arrays.pop("y"), np.maximum(x, 0))
            assert arrays
            assert all(np.array_equal(array, x) for array in arrays.values())


@pytest.mark.parametrize(("runtime", "options"), LANES)
def test_an_input_that_only_passes_through_dropout_is_read(
    runtime: str, options: dict[str, OptionValue], graphs: Graphs
) -> None:
    """And an output is written together with what a dropout makes of it."""
    text = """(float[4] b, float[4] x) => (float[4] z, float[4] y) {
        a = Dropout(x) y = Sub(a, b) z = Dropout(y)
    }"""
    with opened(graphs.of_text("dropped", text), runtime, options) as session:
        (lane,) = session.lanes
        b, x = np.array([1, 2, 3, 4], np.float32), np.array([8, 16, 32, 64], np.float32)
        for scale in (1, 2):
            lane.bind({"b": b, "x": scale * x})
            lane.poison()
            lane.run()
            actual_outputs = lane.outputs()
            assert [*actual_outputs] == ["z", "y"]
            assert all(np.array_equal(array, scale * x - b) for array in actual_outputs.values())


def test_outputs_of_one_buffer_are_poisoned_once() -> None:
    """Integers become their complement, and by a second time what they were."""
    shared_buffer = np.array([1, 2], np.int64)
    HostLane({}, {"y": shared_buffer, "z": shared_buffer}, ()).poison()
    assert shared_buffer.tolist() == [~1, ~2]


@pytest.mark.parametrize(("runtime", "options"), LANES[:-1])
def test_states_that_pass_through_move_one_step_in_each_run(
    runtime: str, options: dict[str, OptionValue], graphs: Graphs
) -> None:
    """`x` becomes `h`, and `h` becomes `g`: a line of delays, without a copy in the graph."""
    text = """(float[4] x, float[4] h, float[4] g) => (float[4] y, float[4] x, float[4] h) {
        y = Sum(x, h, g)
    }"""
    model = replace(
        graphs.of_text("delays", text), states=(StatePair("h", "x"), StatePair("g", "h"))
    )
    zero, seen_outputs = np.zeros(4, np.float32), []
    with opened(model, runtime, options) as session:
        (lane,) = session.lanes
        lane.bind({"x": zero, "h": zero, "g": zero})
        for step in range(1, 5):
            lane.feed({"x": np.full(4, step, np.float32)})
            lane.run()
            seen_outputs.append(float(lane.outputs()["y"][0]))
            lane.advance()
    assert seen_outputs == [1, 2 + 1, 3 + 2 + 1, 4 + 3 + 2]
