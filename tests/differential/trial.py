"""One draw: the node, what each engine gives for it, and what is to be said of it."""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import onnx
from onnx import ModelProto, helper

from exporters.onnx_evaluator.evaluator import Evaluator
from exporters.onnx_evaluator.table import RANDOM
from tests.differential import nodes
from tests.differential.agreement import Agreement, compare
from tests.differential.engine_process import EngineCrash, EngineProcess, EngineRefusal
from tests.differential.known import Known, reason_for

Outcome = Literal[
    "equal",
    "known",
    "different",
    "evaluator refuses",
    "engine refuses",
    "both refuse",
    "known crash",
    "crash",
]
COMPARABLE = ("equal", "known", "different")


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a draw, with what a reader needs to repeat and judge it."""

    operator: str
    opset: int
    number: int
    outcome: Outcome
    detail: str = ""
    verdict: str = ""
    known: Known | None = None
    model: ModelProto = field(default_factory=ModelProto)
    inputs: dict[str, Any] = field(default_factory=dict)


def generator_of(seed: int, operator: str, number: int) -> np.random.Generator:
    """The random numbers of one draw, whatever else is drawn."""
    return np.random.default_rng([seed, zlib.crc32(operator.encode()), number])


def attempt(
    operator: str, seed: int, number: int, newest: int, engines: EngineProcess
) -> Trial | None:
    """Draw a node and compare; None where the generator has none for these choices."""
    rng = generator_of(seed, operator, number)
    versions = nodes.opsets(operator, newest)
    if not versions:
        return None
    result = versions[int(rng.integers(len(versions)))]
    opset = int(result[int(rng.integers(len(result)))])
    try:
        model, inputs = nodes.draw(operator, opset, rng)
    except nodes.Undrawable:
        return None
    outcome, detail, verdict, reason = _judge(operator, opset, model, inputs, engines)
    return Trial(operator, opset, number, outcome, detail, verdict, reason, model, inputs)


def _judge(
    operator: str, opset: int, model: ModelProto, inputs: dict[str, Any], engines: EngineProcess
) -> tuple[Outcome, str, str, Known | None]:
    refusal = ""
    try:
        ours = evaluate(model, inputs)
    except Exception as error:
        ours, refusal = None, f"{type(error).__name__}: {str(error)[:300]}"
    try:
        theirs = engines.run("ort", model, inputs)
    except EngineCrash as crash:
        known = reason_for(operator, opset, model, inputs, Agreement(), [], [], crash=True)
        return ("crash" if known is None else "known crash"), str(crash), "", known
    except EngineRefusal as error:
        if ours is None:
            return "both refuse", f"{refusal} / {error}", "", None
        return "engine refuses", str(error), "", None
    if ours is None:
        return "evaluator refuses", refusal, "", None
    agreement = _all_agree(ours, theirs, values=operator not in RANDOM)
    if not agreement.fault:
        return "equal", "", "", None
    known = reason_for(operator, opset, model, inputs, agreement, ours, theirs)
    if known is not None:
        return "known", agreement.fault, "", known
    detail = f"{agreement.fault} (largest difference {agreement.worst:g})"
    return "different", detail, _arbitrate(model, inputs, ours, theirs, engines), None


def evaluate(model: ModelProto, inputs: dict[str, Any]) -> list[Any]:
    """The outputs by ONNX's evaluator where it is believed."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(Evaluator(model).run(None, dict(inputs)))


def _all_agree(our_outputs: list[Any], their_outputs: list[Any], **how: bool) -> Agreement:
    for place, (a, b) in enumerate(zip(our_outputs, their_outputs, strict=True)):
        result = compare(a, b, **how)
        if result.fault:
            return Agreement(f"output {place}: {result.fault}", result.worst)
    return Agreement()


def _arbitrate(
    model: ModelProto, inputs: dict[str, Any], ours: list[Any], theirs: list[Any], e: EngineProcess
) -> str:
    """Which of the two OpenVINO agrees with."""
    try:
        third = e.run("openvino", model, inputs)
    except (EngineRefusal, EngineCrash) as error:
        return f"OpenVINO refuses ({str(error)[:80]!r})"
    sides = {"the evaluator": ours, "ONNX Runtime": theirs}
    friends = [s for s, v in sides.items() if not _all_agree(v, third, types=False).fault]
    return f"OpenVINO agrees with {' and '.join(friends) or 'neither'}"


def described(trial: Trial, seed: int) -> str:
    """How to repeat a draw, and its node."""
    (node,) = trial.model.graph.node
    inputs = ", ".join(f"{name} {_value_text(value)}" for name, value in trial.inputs.items())
    weights = ", ".join(
        f"{w.name} {_value_text(onnx.numpy_helper.to_array(w))}"
        for w in trial.model.graph.initializer
    )
    return (
        f"{trial.operator} of opset {trial.opset}: {trial.detail}. {trial.verdict}.\n"
        f"  repeat: python -m tests.differential --operator {trial.operator} --seed {seed} "
        f"--draw {trial.number}\n"
        f"  node: {helper.printable_node(node)}\n  inputs: {inputs}\n  weights: {weights}"
    )


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return f"sequence({', '.join(map(_value_text, value))})"
    array = np.asarray(value)
    text = " ".join(str(array.tolist()).split())
    return f"{array.dtype}{list(array.shape)} {text if array.size <= 12 else ''}".strip()
