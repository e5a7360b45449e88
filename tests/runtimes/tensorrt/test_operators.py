"""The precision of a TensorRT row is read from the layers that the engine executes."""

from __future__ import annotations

import json

import pytest

from runtimes.execution import OpTime
from runtimes.tensorrt import layers as operators
from runtimes.tensorrt.layers import claimed, described_layers


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


def unasked() -> dict[str, str]:
    raise AssertionError("no layer leaves a doubt, so the graph need not be read")


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("Row major linear FP32", "fp32"),
        ("Row major linear FP16 format", "fp16"),
        ("Channel major FP16 format where channel % 8 == 0", "fp16"),
        ("Four wide channel vectorized row major Int8 format", "int8"),
        ("Row major linear BF16", "bf16"),
        ("Row major linear FP8 format", "fp8"),
        ("Float", "fp32"),
        ("Half", "fp16"),
        ("BFloat16", "bf16"),
        ("Int8", "int8"),
        ("Int4", "int4"),
        ("FP8", "fp8"),
        ("FP4", "fp4"),
        ("Int32", "integer"),
        ("Row major linear INT64", "integer"),
        ("Bool", "integer"),
    ],
)
def test_types_are_read_as_releases_10_and_11_write_them(text: str, precision: str) -> None:
    layers = described_layers(described(("conv", "CaskConvolution", text)))
    (node,) = operators.placement(layers, "TensorRT")
    assert node.precision == precision
    eleven = described(("conv", "CaskConvolution", text)).replace("Format/Datatype", "DataType")
    assert operators.placement(described_layers(eleven), "TensorRT") == (node,)


def test_what_only_moves_data_does_not_decide() -> None:
    layers = described_layers(
        described(
            ("in", "Reformat", "Row major linear FP32"),
            ("conv", "CaskConvolution", "Row major linear FP16"),
            ("none", "NoOp", "Row major linear FP32"),
        )
    )
    assert [node.node for node in operators.placement(layers, "TensorRT")] == ["conv"]
    assert claimed(layers, unasked) == ("fp16", ())


def test_a_layer_is_told_by_the_nodes_that_it_was_made_of() -> None:
    layers = [
        {
            "Name": "conv1 + relu1",
            "LayerType": "CaskConvolution",
            "TacticName": "sm80_xmma_fprop",
            "Metadata": "[ONNX Layer: c[0]/Conv]\x1f[ONNX Layer: /relu/Relu]\x1e[ONNX Layer: n]",
        },
        {"Name": "Reformatting CopyNode for Input Tensor 0", "LayerType": "Reformat"},
        {"Name": "plain", "LayerType": "NoOp", "TacticName": "", "Metadata": ""},
    ]
    text = json.dumps({"Layers": layers})
    spent_ms = [
        {
            "plain": 0.0625,
            "conv1 + relu1": slowest,
            "Reformatting CopyNode for Input Tensor 0": 0.25,
        }
        for slowest in (1.0, 0.5, 90.0)
    ]
    nodes = ("c[0]/Conv", "/relu/Relu", "n")
    assert operators.op_times(text, spent_ms) == (
        OpTime("plain", "NoOp", 62.5, "plain"),
        OpTime(" + ".join(nodes), "CaskConvolution", 1000.0, "sm80_xmma_fprop", nodes),
        OpTime(layers[1]["Name"], "Reformat", 250.0, layers[1]["Name"]),
    )


@pytest.mark.parametrize("text", ['{"Layers": ["conv"]}', "{}"])
def test_a_layer_that_is_not_described_keeps_its_time_and_its_name(text: str) -> None:
    (op,) = operators.op_times(text, [{"conv": 3.0}])
    assert op == OpTime("conv", "unknown", 3000.0, "conv")
