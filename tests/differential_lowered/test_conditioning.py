"""A graph whose outputs rounding decides is not compared; a wrong conversion still disagrees."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from exporters.types import Precision
from tests.differential_lowered import precisions
from tests.differential_lowered.draw import Dice, Draw, model
from tests.differential_lowered.kinds import KINDS

SIZE, WIDTH = 64, 16


def product_and_relu(bias: float, also_the_product: bool = False) -> Draw:
    """Relu(x W + bias) of positive operands, so that the products are near SIZE / 4."""
    rng = np.random.default_rng(5)
    x, weight = (rng.random(shape, np.float32) for shape in ((4, SIZE), (SIZE, WIDTH)))
    nodes = [
        onnx.helper.make_node("Gemm", ["x", "w"], ["product"]),
        onnx.helper.make_node("Add", ["product", "b"], ["sum"]),
        onnx.helper.make_node("Relu", ["sum"], ["kept"]),
    ]
    ends = {"kept": TensorProto.FLOAT}
    shapes = {"kept": (4, WIDTH)}
    if also_the_product:
        ends["product"], shapes["product"] = TensorProto.FLOAT, (4, WIDTH)
    exact = x.astype(np.float64) @ weight.astype(np.float64)
    weights = {"w": weight, "b": np.asarray(bias * exact.max(), np.float32)}
    proto = model(nodes, {"x": x}, ends, weights, 17)
    for value in proto.graph.output:
        kind = onnx.helper.make_tensor_value_info(value.name, TensorProto.FLOAT, shapes[value.name])
        value.CopyFrom(kind)
    return Draw("flat", proto, {"x": x})


def break_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A converter that leaves weights halved: their scales in int8, their values elsewhere."""
    whole = precisions._converted

    def halve(*arguments: object) -> onnx.ModelProto:
        proto = whole(*arguments)  # type: ignore[arg-type]
        for tensor in proto.graph.initializer:
            array = numpy_helper.to_array(tensor)
            if array.dtype.kind not in "iu" and array.size in (1, WIDTH, SIZE * WIDTH):
                half = (array.astype(np.float32) / 2).astype(array.dtype)
                tensor.CopyFrom(numpy_helper.from_array(half, tensor.name))
        return proto

    monkeypatch.setattr(precisions, "_converted", halve)


@pytest.mark.parametrize("precision", precisions.PRECISIONS)
def test_a_remainder_as_small_as_the_rounding_error_is_not_compared(precision: Precision) -> None:
    draw = product_and_relu(-0.9999)
    assert precisions.compare(draw, precision, Dice(1)).verdict == "ill-conditioned"


@pytest.mark.parametrize("precision", precisions.PRECISIONS)
def test_the_same_graph_without_cancellation_is_compared(precision: Precision) -> None:
    assert precisions.compare(product_and_relu(0.5), precision, Dice(1)).verdict == "agrees"


@pytest.mark.parametrize("precision", precisions.PRECISIONS)
def test_a_wrong_conversion_disagrees(
    precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_conversion(monkeypatch)
    assert precisions.compare(product_and_relu(0.5), precision, Dice(1)).verdict == "disagrees"


def test_another_output_is_compared_beside_an_ill_conditioned_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = product_and_relu(-0.9999, also_the_product=True)
    assert precisions.compare(draw, "int8", Dice(1)).verdict == "ill-conditioned"
    break_conversion(monkeypatch)
    outcome = precisions.compare(draw, "int8", Dice(1))
    assert outcome.verdict == "disagrees"
    assert outcome.cause.startswith("product ")


@pytest.mark.parametrize("kind", ["int8 flat", "fp8 flat"])
def test_a_draw_that_disagreed_by_rounding_alone(kind: str) -> None:
    assert KINDS[kind](302000020)[1].verdict == "ill-conditioned"
