"""The precision of a TensorRT row is read from the layers that the engine executes."""

from __future__ import annotations

import json

import pytest

from runtimes import trt_layers
from runtimes.precision import of_graph


def described(*layers: tuple[str, str, str]) -> str:
    """Layers of (name, type, tensors' type) in the form of TensorRT 10."""
    return json.dumps(
        {
            "Layers": [
                {
                    "Name": name,
                    "LayerType": kind,
                    "Inputs": [{"Name": "a", "Format/Datatype": text}],
                    "Outputs": [{"Name": "b", "Format/Datatype": text}],
                }
                for name, kind, text in layers
            ]
        }
    )


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("Row major linear FP32", "fp32"),
        ("Row major linear FP16 format", "fp16"),
        ("Channel major FP16 format where channel % 8 == 0", "fp16"),
        ("Four wide channel vectorized row major Int8 format", "int8"),
        ("Row major linear BF16", "bf16"),
        ("Float", "fp32"),
        ("Half", "fp16"),
        ("BFloat16", "bf16"),
        ("Int8", "int8"),
        ("Int32", "integer"),
        ("Row major linear INT64", "integer"),
        ("Bool", "integer"),
    ],
)
def test_types_are_read_as_releases_10_and_11_write_them(text: str, precision: str) -> None:
    (node,) = trt_layers.placement(described(("conv", "CaskConvolution", text)))
    assert node.precision == precision
    eleven = described(("conv", "CaskConvolution", text)).replace("Format/Datatype", "DataType")
    assert trt_layers.placement(eleven) == (node,)


def test_what_only_moves_data_does_not_decide() -> None:
    text = described(
        ("in", "Reformat", "Row major linear FP32"),
        ("conv", "CaskConvolution", "Row major linear FP16"),
        ("none", "NoOp", "Row major linear FP32"),
    )
    placement = trt_layers.placement(text)
    assert [node.node for node in placement] == ["conv"]
    assert of_graph(placement) == ("fp16", ())


def test_layers_of_two_precisions_are_said() -> None:
    text = described(("a", "CaskConvolution", "Half"), ("b", "CaskConvolution", "Float"))
    precision, (warning,) = of_graph(trt_layers.placement(text))
    assert precision == "fp16"
    assert "'b' in fp32" in warning


@pytest.mark.parametrize("text", ['{"Layers": ["conv", "relu"]}', "{}", "no JSON"])
def test_an_engine_without_details_is_not_guessed(text: str) -> None:
    with pytest.raises(ValueError):
        trt_layers.placement(text)
