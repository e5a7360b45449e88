"""The step from a float32 graph to int8: it takes and gives float32, quantised at its ends.

Given only where ONNX Runtime's optimised graph has its matrix nodes in int8; those that are
not are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto

from exporters.complaint import first_line
from exporters.files.nodes import all_nodes
from exporters.files.unoptimised import plain, register_operators
from exporters.made import Made
from exporters.precision.graphs import (
    RECURRENT,
    checked,
    is_half_already,
    loaded,
    opset_of,
    quiet,
    restore_head,
    saved,
    tidy_weights,
    titled,
)
from exporters.precision.quantiser import QUANTIZED_HERE, prepare
from exporters.types import NotBenchmarkable
from exporters.user_data import Calibration

_MATRIX_OPS = ("Conv", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "Attention", "Einsum")
_INT8_MATRIX_OPS = frozenset(
    {
        "ConvInteger",
        "DynamicQuantizeMatMul",
        "MatMulInteger",
        "MatMulIntegerToFloat",
        "QAttention",
        "QGemm",
        "QLinearConv",
        "QLinearMatMul",
    }
)
_QUANTIZED_OPS = _INT8_MATRIX_OPS | {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}
_FIRST_OPSET_PER_CHANNEL = 13
_KNOWN_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft")


def to_int8(
    folder: Path, name: str, graph: Path, calibration: Calibration, custom_ops: Sequence[str]
) -> Made:
    """The graph in int8; NotBenchmarkable for one that would not run so, recurrent nodes first.

    `custom_ops` are the libraries that hold operators of a graph that is quantised already.
    """
    proto = loaded(name, graph)
    operators = {node.op_type for node in proto.graph.node}
    for node in proto.graph.node:
        if node.op_type in RECURRENT:
            raise NotBenchmarkable(
                f"ONNX Runtime leaves the {titled(node)} of an int8 graph in fp32",
                f"measure {name} in fp32",
            )
    if operators & _QUANTIZED_OPS:
        path = saved(proto, folder)
    else:
        if not any(_is_matrix_op(op) for op in operators):
            raise NotBenchmarkable(
                f"{name} has no Conv, Gemm or MatMul that could run in int8", "measure it in fp32"
            )
        if custom_ops:
            _refuse_operators_of_libraries(name, proto)
        path = _quantized(name, proto, folder, calibration.samples())
    matrix, wide = _executed_matrix_nodes(name, path, folder, custom_ops)
    if len(wide) == matrix:
        raise NotBenchmarkable(
            f"no Conv, Gemm or MatMul of {name} would run in int8 ({', '.join(wide[:5])} stay in "
            "fp32)",
            "measure it in fp32",
        )
    return checked(name, path, "int8", wide)


def _refuse_operators_of_libraries(name: str, proto: ModelProto) -> None:
    known = {*_KNOWN_DOMAINS, *(function.domain for function in proto.functions)}
    for node in all_nodes(proto):
        if node.domain not in known:
            raise NotBenchmarkable(
                f"ONNX Runtime's quantiser takes no library of operators, and {name} has the "
                f"{titled(node)} of {node.domain}",
                "quantise it yourself and give that file, or measure it in fp32",
            )


def _quantized(
    name: str, proto: ModelProto, folder: Path, samples: Sequence[Mapping[str, np.ndarray]]
) -> Path:
    """QDQ with 8-bit activations between their calibrated extremes, weights per channel.

    Activations are unsigned: of the signed ones ONNX Runtime 1.31 leaves Conv nodes in fp32.
    """
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    if is_half_already(proto):
        raise NotBenchmarkable(
            f"{name} holds its weights in fp16", "give the fp32 graph that it was made from"
        )
    tidy_weights(proto)
    source, prepared, path = (folder / f"{step}.onnx" for step in ("source", "prepared", "qdq"))
    try:
        with quiet():
            if opset_of(proto) < _FIRST_OPSET_PER_CHANNEL:
                proto = onnx.version_converter.convert_version(proto, _FIRST_OPSET_PER_CHANNEL)
            onnx.save(proto, source)
            quant_pre_process(source, prepared, skip_symbolic_shape=True)
            preparation = prepare(prepared)
            quantize_static(
                prepared,
                path,
                _Reader(samples),
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=list(QUANTIZED_HERE),
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
                nodes_to_exclude=preparation.left,
                extra_options={"TensorQuantOverrides": preparation.overrides},
            )
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be quantised ({first_line(error)})", "measure it in fp32"
        ) from error
    quantized = onnx.load(path)
    quantized.graph.ClearField("value_info")
    restore_head(quantized, proto)
    return saved(quantized, folder)


def _executed_matrix_nodes(
    name: str, path: Path, folder: Path, custom_ops: Sequence[str]
) -> tuple[int, list[str]]:
    """How many matrix nodes ONNX Runtime's optimised graph has, and those not in int8."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    register_operators(options, custom_ops)
    optimized = folder / "optimized.onnx"
    options.optimized_model_filepath = str(optimized)
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NotBenchmarkable(
            f"ONNX Runtime does not take {name} in int8 ({plain(error)})", "measure it in fp32"
        ) from error
    nodes = [node for node in onnx.load(optimized).graph.node if _is_matrix_op(node.op_type)]
    wide = [titled(node) for node in nodes if node.op_type not in _INT8_MATRIX_OPS]
    return len(nodes), wide


class _Reader:
    """Hands the samples to ONNX Runtime's calibrator one after another."""

    def __init__(self, samples: Sequence[Mapping[str, np.ndarray]]) -> None:
        self._samples = iter(samples)

    def get_next(self) -> dict[str, np.ndarray] | None:
        sample = next(self._samples, None)
        return None if sample is None else dict(sample)

    def __iter__(self) -> Iterator[Mapping[str, np.ndarray]]:
        return self._samples


def _is_matrix_op(op: str) -> bool:
    return any(part in op for part in _MATRIX_OPS)
