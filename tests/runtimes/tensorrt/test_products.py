"""What a row of TensorRT may claim: read from the layers, never less than its widest product."""

from __future__ import annotations

import json

import pytest

from exporters.diagnostics import diagnostic
from runtimes.cuda.options import stated
from runtimes.execution import OpTime
from runtimes.tensorrt import layers as operators
from runtimes.tensorrt.layers import Layer, claimed, described_layers

GRAPH = {"mm": "MatMul", "q": "QuantizeLinear", "relu": "Relu", "norm": "LayerNormalization"}


def claim(*layers: Layer) -> str:
    return claimed(layers, lambda: GRAPH)[0]


# The types of layers as TensorRT's engines have them: github.com/NVIDIA/TensorRT/issues 4397, 4020.
PRODUCTS = ("gemm", "conv", "MatrixMultiply", "FullyConnected", "FusedAttention", "mha")
Reads = tuple[str, ...]
Row = tuple[str, Reads, Reads]
"""A layer by its kind, its nodes and what it reads."""
CLAIMS: list[tuple[list[Row], str]] = [
    # A fused layer is a product if a node in it is one.
    ([("kgen", ("mm", "relu"), ("fp32",)), ("gemm", (), ("int8",))], "int8+fp32"),
    ([("kgen", ("relu",), ("fp32",)), ("gemm", (), ("int8",))], "int8"),
    # Int8 weights that are widened first are no int8 product.
    ([("kgen", ("mm",), ("int8", "fp16"))], "fp16"),
    # Where nothing is known of a layer, a claim is made wider and never narrower.
    ([("gemm", (), ("fp16",)), ("kgen", (), ("int8",))], "fp16"),
    ([("gemm", (), ("fp16",)), ("kgen", (), ("fp32",))], "fp16+fp32"),
    ([("gemm", (), ("fp16",)), ("kgen", ("not in the graph",), ("int8",))], "fp16"),
    ([("gemm", (), ("fp16",)), ("kgen", ("not in the graph",), ("fp32",))], "fp16+fp32"),
    # Weights that are narrower than what they multiply do not name the product.
    ([("gemm", (), ("fp16", "int8"))], "fp16"),
]
# A quantiser reads int8 beside a product, whatever case and name that has, and is none itself.
CLAIMS += [([(kind, (), ("fp16",)), ("kgen", ("q",), ("int8",))], "fp16") for kind in PRODUCTS]


@pytest.mark.parametrize(("rows", "precision"), CLAIMS, ids=str)
def test_products_decide_and_never_less_than_the_widest(rows: list[Row], precision: str) -> None:
    layers = [
        Layer(str(n), kind, nodes=nodes, reads=reads) for n, (kind, nodes, reads) in enumerate(rows)
    ]
    assert claim(*layers) == precision


@pytest.mark.parametrize(
    ("tactic", "precision"),
    [
        ("sm80_xmma_gemm_f16f16_f16f16_f16_nn_n_tilesize32x32x64", "fp16"),
        ("sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_nchw", "int8"),
        ("sm89_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n", "fp8"),
        ("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", "bf16"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n", "fp32"),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n", "tf32"),
        ("__myl_AddCastMeanSubMulMeanAddSqrtDivMulCastMulAdd_0xf2543c36", "int8"),
        ("", "int8"),
    ],
)
def test_a_kernel_that_names_its_operands_is_believed_before_the_tensors(
    tactic: str, precision: str
) -> None:
    assert claim(Layer("a", "gemm", tactic, reads=("int8",))) == precision


def test_layers_of_two_precisions_are_said() -> None:
    layers = [Layer("a", "CaskConvolution", reads=("fp16",)), Layer("b", "gemm", reads=("fp32",))]
    precision, (warning,) = claimed(layers, dict)
    assert precision == "fp16+fp32"
    nodes = ("gemm 'b' in fp32",)
    assert warning == diagnostic("mixed_precision", precision="fp16", wider=1, nodes=nodes)


def test_rounded_operands_are_told_in_a_mixed_claim_too() -> None:
    assert stated("fp16+fp32", True, (9, 0)) == "fp16+tf32"
    assert stated("tf32+fp32", True, (9, 0)) == "tf32"
    assert stated("fp16+fp32", True, (7, 5)) == "fp16+fp32"
    assert stated("unknown", True, (9, 0)) == "unknown"


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
        ("Channel major FP16 format where channel % 8 == 0", "fp16"),
        ("Four wide channel vectorized row major Int8 format", "int8"),
        ("Row major linear BF16", "bf16"),
        ("Row major linear FP8 format", "fp8"),
        ("Float", "fp32"),
        ("Half", "fp16"),
        ("BFloat16", "bf16"),
        ("Int4", "int4"),
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
            "Metadata": "[ONNX Layer: c[0]]\x1f[ONNX Layer: /r]\x1e[ONNX Layer: n][ONNX Layer: o]",
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
    nodes = ("c[0]", "/r", "n", "o")
    assert operators.op_times(text, spent_ms) == (
        OpTime("plain", "NoOp", 62.5, "plain"),
        OpTime(" + ".join(nodes), "CaskConvolution", 1000.0, "sm80_xmma_fprop", nodes),
        OpTime(layers[1]["Name"], "Reformat", 250.0, layers[1]["Name"]),
    )


@pytest.mark.parametrize("text", ['{"Layers": ["conv"]}', "{}"])
def test_a_layer_that_is_not_described_keeps_its_time_and_its_name(text: str) -> None:
    (op,) = operators.op_times(text, [{"conv": 3.0}])
    assert op == OpTime("conv", "unknown", 3000.0, "conv")
