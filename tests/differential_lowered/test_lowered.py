"""A few fixed draws of every kind; `python -m tests.differential_lowered` makes fresh ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from exporters.types import Precision
from runtimes.fpga.numerics.operator import OPERATORS, Call, Kernel
from tests.differential_lowered import card, precisions
from tests.differential_lowered.card import KNOWN, reason_for
from tests.differential_lowered.graphs import Dice, Draw
from tests.differential_lowered.kinds import KINDS, Results, drawn
from tests.exporters.support import graph, nodes_of, tensor

SIZE, WIDTH = 64, 16
_WARNINGS = 2
"""What ONNX Runtime logs by default."""
GROUPS = {"card": 3, "fp16": 4, "bf16": 4, "int8": 3, "fp8": 3}
"""How many draws of each kind a run of the suite makes."""


@pytest.fixture(autouse=True)
def logging_restored() -> Iterator[None]:
    """Draws silence ONNX Runtime, whose words other tests of this process read."""
    yield
    onnxruntime.set_default_logger_severity(_WARNINGS)


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_lowered_computes_what_the_graph_says(group: str) -> None:
    results = Results()
    for name in KINDS:
        if name.startswith(f"{group} "):
            for _, seed, outcome in drawn(name, 7, GROUPS[group]):
                results.add(name, seed, outcome)
    assert not results.faults
    assert results.verdicts["agrees"] > GROUPS[group], "draws must be comparable"


@pytest.mark.parametrize("operator", card.NODES)
def test_a_wrong_kernel_disagrees(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One element of each output is off by a tenth, or another truth or whole number."""
    right = OPERATORS[operator]

    def make(call: Call) -> Kernel:
        kernel = right.make(call)

        def run(*operands: Any) -> Any:
            results = kernel(*operands)
            each = results if isinstance(results, tuple) else (results,)
            wrong_results = tuple(_with_one_wrong(array) for array in each)
            return wrong_results if isinstance(results, tuple) else wrong_results[0]

        return run

    monkeypatch.setitem(OPERATORS, operator, replace(right, make=make))
    outcomes = [outcome for _, _, outcome in drawn(f"card {operator}", 7, 10)]
    assert any(outcome.verdict == "disagrees" for outcome in outcomes), outcomes


def _with_one_wrong(array: np.ndarray) -> np.ndarray:
    if array is None or not array.size:
        return array
    wrong_array = np.array(array)
    last = wrong_array.flat[-1]
    wrong_array.flat[-1] = not last if array.dtype == np.bool_ else last * 1.1 + 1
    return wrong_array


def test_no_known_disagreement_excuses_a_whole_operator() -> None:
    assert not any(reason_for(name, "5.0 instead of 2.0 at [0, 1]") for name in KINDS)
    assert all(rule.reason and rule.source for rule in KNOWN)


def product_and_relu(bias: float, also_the_product: bool = False) -> Draw:
    """Relu(x W + bias) of positive operands, so that the products are near SIZE / 4."""
    rng = np.random.default_rng(5)
    x, weight = (rng.random(shape, np.float32) for shape in ((4, SIZE), (SIZE, WIDTH)))
    nodes = nodes_of("product = Gemm(x, w) sum = Add(product, b) kept = Relu(sum)")
    names = ["kept", "product"] if also_the_product else ["kept"]
    exact = x.astype(np.float64) @ weight.astype(np.float64)
    weights = {"w": weight, "b": np.asarray(bias * exact.max(), np.float32)}
    outputs = [tensor(name, (4, WIDTH)) for name in names]
    return Draw("flat", graph(nodes, [tensor("x", x.shape)], outputs, weights), {"x": x})


def break_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A converter that leaves weights halved: their scales in int8, their values elsewhere."""
    whole = precisions._converted

    def halve(*arguments: object) -> onnx.ModelProto:
        proto = whole(*arguments)  # type: ignore[arg-type]
        for held in proto.graph.initializer:
            array = numpy_helper.to_array(held)
            if array.dtype.kind not in "iu" and array.size in (1, WIDTH, SIZE * WIDTH):
                half = (array.astype(np.float32) / 2).astype(array.dtype)
                held.CopyFrom(numpy_helper.from_array(half, held.name))
        return proto

    monkeypatch.setattr(precisions, "_converted", halve)


@pytest.mark.parametrize("precision", precisions.PRECISIONS)
def test_conversions_are_compared_unless_a_remainder_is_as_small_as_the_rounding_error(
    precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    def verdict(bias: float) -> str:
        return precisions.compare(product_and_relu(bias), precision, Dice(1)).verdict

    assert (verdict(-0.9999), verdict(0.5)) == ("ill-conditioned", "agrees")
    break_conversion(monkeypatch)
    assert verdict(0.5) == "disagrees"


def test_another_output_is_compared_beside_an_ill_conditioned_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = product_and_relu(-0.9999, also_the_product=True)
    assert precisions.compare(draw, "int8", Dice(1)).verdict == "ill-conditioned"
    break_conversion(monkeypatch)
    outcome = precisions.compare(draw, "int8", Dice(1))
    assert outcome.verdict == "disagrees"
    assert outcome.cause.startswith("product ")
