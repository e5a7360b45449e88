"""Any execution provider from a package or a library: the real one of the simulated card, and
libraries that are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.contract.graphs import CHANNELS, STEPS, streamed
from app.contract.graphs import Graphs as ContractGraphs
from app.workers.loop import WAIT, Block
from app.workers.timing import loop_of, timing
from exporters import install_layout
from exporters.diagnostics import codes
from exporters.types import ExportedModel
from runtimes.base import Runtime, Session
from runtimes.errors import NotAvailable
from runtimes.fpga.provider.abi import PROVIDER_NAME
from runtimes.onnxruntime import plugin as plugin_devices
from runtimes.onnxruntime.runtime import OrtEp
from runtimes.options import OptionValue, Settings
from tests.runtimes.contract import RuntimeContract, computes, reference_of, refusal
from tests.runtimes.graphs import Graphs

OURS = install_layout.module_name("runtimes.fpga.provider")
BF16 = 0.02


def opened(model: ExportedModel, target: str = OURS, **options: OptionValue) -> Session:
    settings = Settings(threads=1, device=target, options=options)
    return OrtEp().compile(model, {"batch": 1}, settings)


@pytest.mark.parametrize("call", ["c", "python"])
def test_a_package_s_provider_computes_and_is_named(graphs: Graphs, call: str) -> None:
    reference = reference_of(graphs.step, 1)
    with opened(graphs.step, call=call) as session:
        lane = session.lanes[0]
        assert computes(lane, reference, BF16)
        assert bool(lane.calls) == (call == "c")
        execution = session.execution
    assert execution.provider == PROVIDER_NAME
    assert {node.provider for node in execution.placement} == {PROVIDER_NAME}
    assert execution.clock == "wall"
    assert execution.precision == "unknown", "the card computes float32 graphs in bf16"
    assert codes(execution.warnings) == ("precision_not_reported",)


def test_what_the_provider_leaves_to_the_cpu_is_elsewhere(graphs: Graphs) -> None:
    ends = "(float[4] x) => (float[4] y)"
    mixed_model = graphs.of_text("ep_mixed", f"{ends} {{ r = Relu(x) y = CumSum(r, a) }}", a=0)
    alone = graphs.of_text("ep_alone", f"{ends} {{ y = CumSum(x, a) }}", a=0)
    for model, expected_ops in ((mixed_model, ["Relu"]), (alone, [])):
        with OrtEp().compile(model, {}, Settings(threads=1, device=OURS)) as session:
            execution = session.execution
        assert execution.provider == PROVIDER_NAME
        assert [n.op for n in execution.elsewhere] == ["CumSum"]
        provider_nodes = [n for n in execution.placement if n.provider == PROVIDER_NAME]
        assert len(provider_nodes) == len(expected_ops)
        assert all(n.precision == "unknown" for n in provider_nodes)


def test_a_device_is_chosen_by_its_number_or_its_kind(graphs: Graphs) -> None:
    for device in ("first", "0", "npu"):
        with opened(graphs.dense, device=device) as session:
            assert session.execution.provider == PROVIDER_NAME
    for device in ("1", "gpu"):
        with pytest.raises(NotAvailable, match=f"no device {device}") as exc_info:
            opened(graphs.dense, device=device)
        assert f"0 {PROVIDER_NAME} on the npu, simulated low-latency" in exc_info.value.remedy


@pytest.fixture
def with_own_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As of a provider that computes on memory of its own, to which a binding copies but once."""
    monkeypatch.setattr(plugin_devices, "_own_memory", lambda _device: True)
    yield


@pytest.mark.parametrize("call", ["c", "python"])
def test_a_run_begins_with_the_inputs_where_the_provider_has_memory_of_its_own(
    graphs: Graphs, with_own_memory: None, call: str
) -> None:
    sequence = np.random.default_rng(7).standard_normal((STEPS, 1, CHANNELS), np.float32)
    zero = np.zeros((1, CHANNELS), np.float32)
    with opened(graphs.step, call=call) as session:
        lane = session.lanes[0]
        lane.bind({"x": sequence[0], "h": zero, "older": zero})
        assert loop_of(lane, streaming=True) == ("C" if call == "c" else "Python")
        if call == "c":
            assert len(lane.calls) == len(graphs.step.inputs) + 1
        time = timing(lane, 0, "spin", WAIT, streaming=True, sets=[{"x": x} for x in sequence])
        time(Block(STEPS), STEPS - 1)
        time(Block(STEPS), 1)
        assert np.allclose(lane.outputs()["y"], streamed(sequence)[-1], atol=BF16)
        lane.bind({"x": sequence[0], "h": zero, "older": zero})
        lane.run()
        assert np.allclose(lane.outputs()["y"], streamed(sequence)[0], atol=BF16)


def test_what_is_no_provider_is_refused_with_its_reason(graphs: Graphs, tmp_path: Path) -> None:
    (tmp_path / "empty.so").write_bytes(b"nothing")
    for target, error_text in (
        (str(tmp_path / "gone.so"), "there is no file"),
        ("onnxruntime-ep-of-nobody", "did you mean onnxruntime_ep_of_nobody"),
        ("numpy", "has no get_library_path()"),
        (str(tmp_path / "empty.so"), "does not take empty.so as an execution provider"),
    ):
        fault = refusal("ort-ep", graphs.dense, target, batch=1)
        assert isinstance(fault, NotAvailable)
        assert error_text in str(fault)


class OfTheCard(OrtEp):
    default_device = install_layout.module_name("runtimes.fpga.provider")


class TestOrtEp(RuntimeContract):
    """The card computes in bf16, which ONNX Runtime does not know."""

    name = "ort-ep"
    tolerance = 0.05
    precision = "unknown"
    untried = frozenset({f"device={other}" for other in ("cpu", "gpu", *range(1, 16))})

    @pytest.fixture
    def runtime(self) -> Runtime:
        return OfTheCard()

    def test_an_unknown_option_or_value_is_refused_with_the_known_ones(
        self, runtime: Runtime, graphs: ContractGraphs
    ) -> None:
        """The provider alone knows its options."""
        options = {"warp_speed": "9"}
        runtime.refuse(graphs.dense, {"batch": 1}, Settings(options=options))
        with pytest.raises(Exception, match="warp_speed"):
            runtime.compile(graphs.dense, {"batch": 1}, Settings(options=options))

    def test_a_device_that_is_not_there_is_refused(
        self, runtime: Runtime, graphs: ContractGraphs
    ) -> None:
        """A package is looked for where it is loaded."""
        for settings in (Settings(device="nowhere"), Settings(device="/nowhere.so")):
            with pytest.raises(NotAvailable):
                runtime.compile(graphs.dense, {"batch": 1}, settings)
