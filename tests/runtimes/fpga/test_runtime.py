"""The simulated card as a runtime: real outputs, simulated timings, and honest refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from exporters import install_layout
from exporters.types import ExportedModel, FixedGraph, StatePair, TensorSpec
from runtimes import registry
from runtimes.base import Unavailable
from runtimes.errors import CompileFault, NotAvailable, RunFault, Unsupported
from runtimes.execution import AfterCompletion, Queries
from runtimes.fpga import cards
from runtimes.fpga.runtime import Fpga
from runtimes.options import OptionValue, Settings
from tests.app.analysis.columns.filled import MODEL
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step, mlp
from tests.runtimes.fpga.ort_sessions import of_text
from tests.runtimes.graphs import spec
from tests.runtimes.processes import printed

CARD = Settings(device="ia-420f", release="sdk26")
Save = Callable[[ModelBuilder | str], ExportedModel]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(made: ModelBuilder | str) -> ExportedModel:
        if isinstance(made, str):
            model, states = of_text(made, two=[2], w=np.ones((64, 32), np.float32)), []
        else:
            model, states = made.model(), made.states
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        inputs, outputs = (
            tuple(map(spec, ends)) for ends in (model.graph.input, model.graph.output)
        )
        return replace(
            MODEL,
            path=str(path),
            inputs=inputs,
            outputs=outputs,
            axes={size: 1 for end in inputs for size in end.shape if isinstance(size, str)},
            states=tuple(StatePair(*pair) for pair in states),
        )

    return write


def numbers(model: ExportedModel) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {s.name: rng.standard_normal(s.shape_at({}), dtype=np.float32) for s in model.inputs}


@pytest.mark.parametrize("made", [cnn_step(2, 64), lstm_step(2, 64), mlp(64, 96, 32)])
def test_outputs_are_computed_in_bf16_and_state_advances(save: Save, made: ModelBuilder) -> None:
    model = save(made)
    inputs = numbers(model)
    evaluator = ReferenceEvaluator(model.path)
    state_inputs = dict(inputs)
    names = [output.name for output in model.outputs]
    with registry.load("fpga").compile(model, {}, CARD) as session:
        assert (session.execution.precision, session.execution.elsewhere) == ("bf16", ())
        lane = session.lanes[0]
        lane.bind(inputs)
        for _ in range(3):
            lane.run()
            expected = dict(zip(names, evaluator.run(None, state_inputs), strict=True))
            outputs = lane.outputs()
            for name, expected_output in expected.items():
                error = np.abs(outputs[name] - expected_output).max()
                assert error < 2e-2 * np.abs(expected_output).max(), name
            assert not all(np.array_equal(outputs[name], expected[name]) for name in names)
            lane.advance()
            state_inputs |= {pair.input: expected[pair.output] for pair in model.states}


def test_facts_are_those_of_the_arrivals(save: Save) -> None:
    with Fpga().compile(save(cnn_step(3, 128)), {}, Settings(device="v80")) as session:
        assert session.execution.clock == "simulated"
        assert session.execution.device_name == "V80 (simulated)"
        for gap_ns, cycles, word in ((20_000, 183, "calibrated"), (0, 240, "extrapolated")):
            rng = np.random.default_rng(0)
            samples = session.simulate(AfterCompletion(20_000, gap_ns), rng)
            facts = session.execution.facts
            assert facts == {
                "cycles": cycles,
                "io_us": 1.815,
                "weight_tiles_used": 384,
                "weight_tiles_total": 24576,
                # 3 states of 7 x 128, 3 new columns of them, a product and a sum, in bf16.
                "activation_bytes": 2 * 128 * (3 * 7 + 3 + 2),
                "spilled_bytes": 0,
                "fidelity": word,
                "fidelity_reason": facts["fidelity_reason"],
                "card_release": "sdk26",
            }
            assert bool(facts["fidelity_reason"]) == (word == "extrapolated")
            mean_us = float(samples.latency_ns.mean()) / 1e3
            assert mean_us == pytest.approx(1.815 + cycles / 300, abs=3e-3)
            assert samples.clock == "simulated"


def test_options_make_a_hypothetical_card(save: Save) -> None:
    model = save(mlp(256, 256))
    rng = np.random.default_rng(0)
    card_facts = []
    for options in ({}, {"clock": 600.0}, {"cores": 8}, {"block": 16, "tiles": 3000}):
        with Fpga().compile(model, {}, replace(CARD, options=options)) as session:
            session.simulate(AfterCompletion(1), rng)
            card_facts.append(
                (session.execution.facts["cycles"], session.execution.facts["fidelity"])
            )
    # 64 tiles on 6 cores and on 8; 256 smaller ones on 6; 37 cycles deep.
    assert [cycles for cycles, _ in card_facts] == [11 + 37, 11 + 37, 8 + 37, 43 + 37]
    assert [word for _, word in card_facts] == ["extrapolated"] * 4


def test_requests_are_dealt_over_equal_cards(save: Save) -> None:
    model, ends = save(mlp(256, 256)), []
    for count in (1, 4):
        with Fpga().compile(model, {}, replace(CARD, options={"cards": count})) as session:
            samples = session.simulate(Queries(1, 400), np.random.default_rng(0))
            ends.append(int(samples.finished_ns[-1]))
            assert session.execution.facts["fidelity"] == "extrapolated"
    assert 3 < ends[0] / ends[1] < 4.1


@pytest.mark.parametrize(
    ("options", "told"), [({"cores": 100}, "cores=100"), ({"cards": 2}, "state")]
)
def test_what_no_card_can_do_is_unsupported(
    save: Save, options: dict[str, OptionValue], told: str
) -> None:
    with pytest.raises(Unsupported, match=told):
        Fpga().compile(save(lstm_step(1, 32)), {}, replace(CARD, options=options))


def test_a_card_file_is_a_device(save: Save, tmp_path: Path) -> None:
    text = (Path(cards.__file__).parent / "v80.toml").read_text("utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('name = "V80"', 'name = "Mine"'), encoding="utf-8")
    with Fpga().compile(save(mlp(32, 32)), {}, Settings(device=str(path))) as session:
        assert session.execution.device_name == "Mine (simulated)"
        assert session.execution.facts["fidelity"] == "extrapolated"


def test_a_graph_that_the_cpu_shares_is_partial_and_has_no_latency(save: Save) -> None:
    model = save("(float[1,3,3] x) => (float[1] y) { r = Relu(x) y = Det(r) }")
    with Fpga().compile(model, {}, CARD) as session:
        assert [(n.node, n.op) for n in session.execution.elsewhere] == [("", "Det")]
        assert session.execution.facts == {}
        with pytest.raises(RunFault, match="part of the graph runs elsewhere"):
            session.simulate(AfterCompletion(1), np.random.default_rng(0))


@pytest.mark.parametrize("name", ["[double] ", ""])
def test_integer_arithmetic_on_the_host_is_listed_and_does_not_count(save: Save, name: str) -> None:
    text = f"""(float[2,4] x, int64[3] index) => (float[2,4] y, int64[3] doubled) {{
        r = Relu(x) y = Mul(r, x) {name}doubled = Mul(index, two)
    }}"""
    with Fpga().compile(save(text), {}, CARD) as session:
        assert session.execution.elsewhere == ()
        (host,) = [n for n in session.execution.placement if not n.counts]
        assert (host.op, host.provider) == ("Mul", "CPUExecutionProvider")


def test_axes_are_fixed_for_outputs_and_timings_alike(save: Save) -> None:
    model = save("(float[batch,64] x) => (float[batch,32] y) { y = MatMul(x, w) }")
    with Fpga().compile(model, {"batch": 5}, CARD) as session:
        lane = session.lanes[0]
        lane.bind({"x": np.ones((5, 64), np.float32)})
        lane.run()
        assert next(iter(lane.outputs().values())).shape == (5, 32)
        assert session.execution.facts["cycles"] == 5 * 1 + 37
    with pytest.raises(Unsupported, match="'batch'"):
        Fpga().refuse(model, {}, CARD)


def test_a_graph_with_its_sizes_baked_in_runs_at_the_sizes_of_its_case(save: Save) -> None:
    """As that of a module is which torch exports at one size only."""
    static_model = save("(float[5,64] x) => (float[5,32] y) { y = MatMul(x, w) }")
    model = replace(
        static_model,
        inputs=(TensorSpec("x", "float32", ("batch", 64)),),
        axes={"batch": 1},
        fixed={"batch=5": FixedGraph(static_model.path, static_model.outputs)},
    ).at({"batch": 5})
    with Fpga().compile(model, model.axes, CARD) as session:
        assert session.execution.facts["cycles"] == 5 * 1 + 37


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        (Settings(device="v80", release="sdk21"), NotAvailable, "no release 'sdk21'"),
        (Settings(device="v80", precision="fp16"), Unsupported, "fp16"),
        (Settings(device="v80", options={"speed": 1}), Unsupported, "no option 'speed'"),
        (Settings(device="v80", options={"cores": -1}), Unsupported, "cores=-1"),
        (Settings(device="v80", options={"cards": 0}), Unsupported, "cards=0"),
    ],
)
def test_a_wrong_wish_is_refused_without_a_session(
    save: Save, settings: Settings, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        Fpga().refuse(save(mlp(32, 32)), {}, settings)


def test_a_file_that_is_no_model_is_a_compile_fault(save: Save) -> None:
    model = save(mlp(32, 32))
    Path(model.path).write_bytes(b"nothing")
    with pytest.raises(CompileFault):
        Fpga().compile(model, {}, CARD)


def test_a_missing_shim_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_layout, "EXTENSION_SUFFIXES", [".never-built"])
    state = Fpga().availability()
    assert isinstance(state, Unavailable)
    assert "compiler" in state.remedy


def test_availability_and_refusals_need_no_engine() -> None:
    script = (
        "import sys; from runtimes import registry; r = registry.load('fpga'); "
        "r.availability(); print([d.key for d in r.devices()]); "
        "print(*(n for n in ('onnxruntime', 'onnx', 'torch') if n in sys.modules))"
    )
    assert printed(script).split("\n")[:2] == ["['ia-420f', 'ia-840f', 'v80']", ""]
