"""A few draws of each operator in every run of the tests, and what the comparison itself does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from exporters.onnx_evaluator.table import RANDOM
from tests.differential import __main__ as command
from tests.differential import known, nodes, trial
from tests.differential.agreement import compare
from tests.differential.engine_process import EngineCrash, EngineProcess

pytest.importorskip("onnxruntime")

_SEED = 1
_DRAWS = 2
_MOST_LINES = 40


@pytest.fixture(scope="module")
def engines() -> Iterator[EngineProcess]:
    process = EngineProcess()
    yield process
    process.close()


def test_each_operator_agrees_with_the_engine_in_a_few_draws(engines: EngineProcess) -> None:
    results = [
        trial.attempt(operator, _SEED, number, nodes.NEWEST_OPSET, engines)
        for operator in nodes.names()
        for number in range(_DRAWS)
    ]
    trials = [result for result in results if result is not None]
    wrong = [trial.described(result, _SEED) for result in trials if result.outcome == "different"]
    assert not wrong, "\n".join(wrong)
    count = sum(result.outcome in trial.COMPARABLE for result in trials)
    assert count > 0.57 * _DRAWS * len(nodes.names()), "most draws cannot be compared"


def test_every_operator_of_onnx_is_drawn_or_has_a_reason() -> None:
    assert nodes.not_drawn() == nodes.NOT_COMPARED.keys()
    assert all(nodes.NOT_COMPARED.values())
    assert len(nodes.NOT_COMPARED) == 7


@pytest.mark.parametrize(
    ("operator", "seed", "number", "outcome"),
    [
        ("Gather", 77, 3, "known"),
        ("Sign", 77, 256, "known"),
        ("QuantizeLinear", 77, 191, "known crash"),
        ("QuantizeLinear", 77, 206, "known crash"),
    ],
)
def test_what_disagreed_once_is_explained(
    operator: str, seed: int, number: int, outcome: str, engines: EngineProcess
) -> None:
    attempt = trial.attempt(operator, seed, number, nodes.NEWEST_OPSET, engines)
    assert attempt is not None
    assert attempt.outcome in (outcome, "equal"), "a later ONNX Runtime may be right"


def test_an_unexplained_crash_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: Any) -> None:
        raise EngineCrash("it ended")

    monkeypatch.setattr(EngineProcess, "run", crash)
    assert command.main(["--operator", "Tanh", "--minutes", "0", "--seed", "3"]) == 1
    assert "--operator Tanh --seed 3 --draw 0" in capsys.readouterr().out


def test_types_that_numpy_lacks_and_texts_are_compared(engines: EngineProcess) -> None:
    """Each of them through Cast, and the engine's outputs in the types of the evaluator."""
    trials = [trial.attempt("Cast", 2, n, nodes.NEWEST_OPSET, engines) for n in range(300)]
    kinds = {
        getattr(value, "dtype", np.dtype(bool)).name
        for result in trials
        if result is not None and result.outcome == "equal"
        for value in result.inputs.values()
    }
    narrow = {f"float8_{name}" for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")}
    assert kinds >= narrow | {"bfloat16", "int4", "uint4", "object", "float32"}


def test_a_draw_is_repeated_by_its_seed_and_number() -> None:
    pair = [nodes.draw("Conv", 13, trial.generator_of(3, "Conv", 5)) for _ in range(2)]
    (first, inputs), (second, second_inputs) = pair
    assert first.SerializeToString() == second.SerializeToString()
    assert all(np.array_equal(inputs[name], second_inputs[name]) for name in inputs)


def test_a_wrong_evaluator_is_found(
    engines: EngineProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openvino")
    right = trial.evaluate

    def shift_outputs(model: Any, inputs: dict[str, Any]) -> list[Any]:
        return [output + 1 for output in right(model, inputs)]

    monkeypatch.setattr(trial, "evaluate", shift_outputs)
    attempt = trial.attempt("Tanh", 3, 0, nodes.NEWEST_OPSET, engines)
    assert attempt is not None
    assert attempt.outcome == "different"
    assert attempt.verdict == "OpenVINO agrees with ONNX Runtime"


def test_an_engine_that_ends_costs_one_draw() -> None:
    process = EngineProcess()
    try:
        model, inputs = nodes.draw("Identity", 14, np.random.default_rng(0))
        process.run("ort", model, inputs)
        child = process._process
        child.kill()
        child.join()
        with pytest.raises(EngineCrash):
            process.run("ort", model, inputs)
        assert len(process.run("ort", model, inputs)) == 1
    finally:
        process.close()


def test_known_disagreements_are_few_and_excuse_no_whole_operator() -> None:
    """Each condition is false for some draw of each of its operators, however far apart it is."""
    entries = known.entries()
    assert 0 < len(entries) <= _MOST_LINES
    for entry in entries:
        assert entry.reason
        assert entry.source
        for operator in entry.operators:
            assert operator in nodes.names()
            assert not all(_excuses(entry, operator, number) for number in range(30)), (
                f"{entry.when} holds for every node of {operator}"
            )


def _excuses(entry: known.Known, operator: str, number: int) -> bool:
    rng = trial.generator_of(_SEED, operator, number)
    results = nodes.opsets(operator, nodes.NEWEST_OPSET)[-1][-1]
    try:
        model, inputs = nodes.draw(operator, results, rng)
        outputs = trial.evaluate(model, inputs)
    except Exception:
        return True
    difference = compare(np.array([0.0]), np.array([np.inf]))
    shifted_outputs = [_shift(output) for output in outputs]
    return entry.holds(
        known.facts(operator, results, model, inputs, difference, outputs, shifted_outputs)
    )


def _shift(output: Any) -> Any:
    """Other values of the same shape, so that no line may hold because nothing differs."""
    if not isinstance(output, np.ndarray | np.generic):
        return output
    array = np.asarray(output)
    return array + array.dtype.type(1) if array.dtype.kind in "fiu" else output


def test_agreement_is_of_types_shapes_and_values() -> None:
    eight = np.array([1.0, 448.0], ml_dtypes.float8_e4m3fn)
    assert not compare(eight, np.array([1.125, 416.0], eight.dtype)).fault, "a step of the type"
    assert compare(eight, np.array([1.25, 448.0], eight.dtype)).fault
    assert compare(eight, eight.astype(ml_dtypes.float8_e5m2)).fault
    x = np.array([1.0, np.nan, np.inf], np.float32)
    assert not compare(x, x).fault
    assert compare(x, x.astype(np.float64)).fault
    assert compare(x, x[None]).fault
    assert compare(x, np.array([1.001, np.nan, np.inf], np.float32)).fault
    assert not compare(x, np.array([1.00001, np.nan, np.inf], np.float32)).fault
    assert compare(np.array([2**62]), np.array([2**62 + 1])).worst == 1
    assert compare([x], [x, x]).fault
    assert not compare(x, x + 5, values=False).fault
    assert {*nodes.names()} >= RANDOM - nodes.NOT_COMPARED.keys()
