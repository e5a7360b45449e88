"""The step from a float32 graph to float16: it takes and gives float16 too.

No session of it is ever created here: ONNX Runtime's CPU provider would compute it in
float32, and dies of an fp16 LSTM.
"""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto
from onnx.inliner import inline_local_functions

from exporters.complaint import first_line
from exporters.made import Made
from exporters.precision.graphs import (
    checked,
    constants_as_tensors,
    is_half_already,
    loaded,
    quiet,
    saved,
    tidy_weights,
    titled,
)
from exporters.types import NotBenchmarkable


def to_fp16(folder: Path, name: str, graph: Path) -> Made:
    """The graph in float16; NotBenchmarkable where the converter fails on it."""
    from onnxruntime.transformers.float16 import convert_float_to_float16
    from onnxruntime.transformers.onnx_model import OnnxModel

    proto = loaded(name, graph)
    if is_half_already(proto):
        return checked(name, saved(proto, folder), "fp16", [])
    if proto.functions:
        proto = inline_local_functions(proto)
    tidy_weights(proto)
    constants_as_tensors(proto)
    try:
        with quiet():
            nodes = len(proto.graph.node)
            proto = convert_float_to_float16(proto)
        if len(proto.graph.node) > nodes:
            # Casts around the nodes that it leaves in float32 come last in its result.
            OnnxModel.graph_topological_sort(proto.graph, is_deterministic=True)
        inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be converted to fp16 ({first_line(error)})", "measure it in fp32"
        ) from error
    wide = {
        value.name
        for value in (*inferred.graph.value_info, *inferred.graph.output)
        if value.type.tensor_type.elem_type == TensorProto.FLOAT
    }
    exceptions = [
        titled(node)
        for node in proto.graph.node
        if node.op_type not in ("Cast", "DequantizeLinear") and wide & set(node.output)
    ]
    proto.graph.ClearField("value_info")
    return checked(name, saved(proto, folder), "fp16", exceptions)
