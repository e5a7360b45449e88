"""The step from a float32 graph to fp8 (E4M3): it takes and gives float32, its products are fp8.

Operands of products go through a quantiser and back, which an engine with such kernels takes as
one; TensorRT alone has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from exporters.onnx_files.counts import arithmetic
from exporters.onnx_files.engine import give, plain
from exporters.precision.graphs import (
    RECURRENT,
    checked,
    constants_as_weights,
    in_opset,
    is_half_already,
    loaded,
    saved,
    tidy_weights,
    titled,
)
from exporters.types import Made, NotBenchmarkable
from exporters.user_arrays import Calibration

_FIRST_OPSET = 19
"""The first whose quantisers know fp8."""
_FP8 = ml_dtypes.float8_e4m3fn
_LARGEST = 448.0
"""Of E4M3, whose exponent of ones has finite numbers too."""
_PRODUCTS = frozenset({"Conv", "Gemm", "MatMul"})
_OTHER_PRODUCTS = frozenset({"ConvTranspose", "Einsum", "Attention"})


def to_fp8(folder: Path, name: str, graph: Path, calibration: Calibration) -> Made:
    """The graph in fp8; NotBenchmarkable where no product of it can be."""
    proto = loaded(name, graph)
    if arithmetic(proto).narrowest == "fp8":
        return checked(name, saved(proto, folder), "fp8", [])
    products = [node for node in proto.graph.node if node.op_type in _PRODUCTS]
    for node in proto.graph.node:
        if node.op_type in RECURRENT:
            raise NotBenchmarkable(
                f"the {titled(node)} has no form in fp8", f"measure {name} in fp32, fp16 or bf16"
            )
    if not products or is_half_already(proto):
        raise NotBenchmarkable(
            f"{name} has no Conv, Gemm or MatMul in fp32 that could become fp8",
            "give the fp32 graph that it was made from, or measure it as it is",
        )
    tidy_weights(proto)
    constants_as_weights(proto)
    proto = in_opset(name, proto, _FIRST_OPSET, "fp8")
    needed = helper.find_min_ir_version_for(proto.opset_import, ignore_unknown=True)
    proto.ir_version = max(proto.ir_version, needed)
    largest = _largest(name, proto, calibration.samples())
    exceptions = [titled(node) for node in proto.graph.node if node.op_type in _OTHER_PRODUCTS]
    _Quantising(proto, largest).all_products()
    tidy_weights(proto)
    return checked(name, saved(proto, folder), "fp8", exceptions)


def _largest(
    name: str, proto: ModelProto, samples: Iterable[Mapping[str, np.ndarray]]
) -> dict[str, float]:
    """The largest magnitude that each computed operand of a product takes over the samples."""
    import onnxruntime

    weights = {tensor.name for tensor in proto.graph.initializer}
    operands = dict.fromkeys(
        operand
        for node in proto.graph.node
        if node.op_type in _PRODUCTS
        for operand in node.input[:2]
        if operand not in weights
    )
    looked_at = ModelProto()
    looked_at.CopyFrom(proto)
    give(looked_at.graph, operands)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    largest = dict.fromkeys(operands, 0.0)
    try:
        session = onnxruntime.InferenceSession(
            looked_at.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        for sample in samples:
            for operand, array in zip(
                operands, session.run([*operands], dict(sample)), strict=True
            ):
                largest[operand] = max(largest[operand], float(np.abs(array).max(initial=0.0)))
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be calibrated for fp8 ({plain(error)})", "measure it in fp32"
        ) from error
    return largest


class _Quantising:
    """Puts a quantiser and its opposite before each operand of a product, one for all readers."""

    def __init__(self, proto: ModelProto, largest: Mapping[str, float]) -> None:
        self._graph, self._largest = proto.graph, largest
        self._weights = {tensor.name: tensor for tensor in proto.graph.initializer}
        self._nodes: list[NodeProto] = []
        self._quantised_names: set[str] = set()

    def all_products(self) -> None:
        for node in self._graph.node:
            if node.op_type in _PRODUCTS:
                data, weight = node.input[:2]
                weight_tensor = self._weights.get(weight)
                axis = (
                    _channels(node, len(weight_tensor.dims)) if weight_tensor is not None else None
                )
                node.input[0] = self._through_fp8(data, None)
                node.input[1] = self._through_fp8(weight, axis)
            self._nodes.append(node)
        del self._graph.node[:]
        self._graph.node.extend(self._nodes)

    def _through_fp8(self, operand: str, axis: int | None) -> str:
        """The operand after the way into fp8 and back; a weight has a scale for each channel of
        its `axis`, what is computed has one."""
        weight = self._weights.get(operand)
        quantised_name = f"{operand}_fp8" if axis is None else f"{operand}_fp8_by_{axis}"
        if quantised_name not in self._quantised_names:
            self._quantised_names.add(quantised_name)
            parts = [quantised_name, f"{quantised_name}_scale", f"{quantised_name}_zero"]
            if weight is None:
                scale = _scale(np.float32(self._largest[operand]))
                quantiser = helper.make_node(
                    "QuantizeLinear",
                    [operand, *parts[1:]],
                    parts[:1],
                    f"{quantised_name}_quantiser",
                )
                self._nodes.append(quantiser)
            else:
                array = numpy_helper.to_array(weight)
                other_axes = tuple(k for k in range(array.ndim) if k != axis)
                scales = _scale(np.abs(array).max(other_axes, initial=0.0, keepdims=True))
                scale = scales.ravel() if axis is not None else scales.reshape(())
                self._keep(quantised_name, (array / scales).astype(_FP8))
            self._keep(parts[1], scale)
            self._keep(parts[2], np.zeros(scale.shape, _FP8))
            back = helper.make_node("DequantizeLinear", parts, [f"{quantised_name}_back"])
            if axis is not None:
                back.attribute.append(helper.make_attribute("axis", axis))
            self._nodes.append(back)
        return f"{quantised_name}_back"

    def _keep(self, name: str, array: np.ndarray) -> None:
        self._graph.initializer.append(numpy_helper.from_array(array, name))


def _channels(node: NodeProto, rank: int) -> int:
    """Where the second operand of a product has the channels of its output."""
    if node.op_type == "Conv":
        return 0
    if node.op_type == "Gemm":
        is_transposed = any(a.name == "transB" and a.i for a in node.attribute)
        return 0 if is_transposed else 1
    return rank - 1


def _scale(largest: np.ndarray | np.float32) -> np.ndarray:
    """What fp8's largest number stands for; 1 where all is zero, or so small that float32 has no
    such scale."""
    scale = np.asarray(largest, np.float32) / np.float32(_LARGEST)
    return np.asarray(np.where(scale > 0, scale, 1.0), np.float32)
