"""A float32 graph becomes one in fp16 or int8, and what would not run so is named.

The fp16 graph takes and gives float16, and no session of it is ever created here: ONNX
Runtime's CPU provider would compute it in float32, and dies of an fp16 LSTM. The int8 graph
takes and gives float32, quantised at its ends.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto

from exporters.cache import Entry, Store, key_of
from exporters.onnx_file import NotBenchmarkable
from exporters.onnx_part import reads
from exporters.onnx_shapes import node_name
from exporters.types import ExportError, Precision, TensorSpec
from exporters.validate import check_file
from exporters.versions import made_by

_MODEL = "model"
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
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
# With 8-bit operands on both sides; ONNX Runtime's quantiser fails on norms per channel, and
# quantising what is no matrix work between them saves the way back to float32.
_QUANTIZED_HERE = (
    "Add",
    "AveragePool",
    "Clip",
    "Concat",
    "Conv",
    "Flatten",
    "Gemm",
    "GlobalAveragePool",
    "MatMul",
    "MaxPool",
    "Pad",
    "Relu",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
)
_FIRST_OPSET_PER_CHANNEL = 13
_FIRST_IR_WITH_CONSTANTS = 4
_LARGEST_BYTES = 2**31 - 2**20

Samples = Callable[[], Sequence[Mapping[str, np.ndarray]]]


@dataclass(frozen=True, slots=True)
class Converted:
    """A graph in another precision; `exceptions` names the nodes that run in a wider type."""

    path: Path
    opset: int
    exceptions: tuple[str, ...]
    stored: bool


def converted(
    store: Store, name: str, graph: Path, precision: Precision, calibration: str, samples: Samples
) -> Converted:
    """The graph in `precision`, from the store where it has it.

    `calibration` stands for the samples in the key. NotBenchmarkable (status `unsupported`)
    for a graph that cannot be had so, told without creating a session where an operator
    alone decides it.
    """
    key = key_of(
        graph=graph.stem,
        precision=precision,
        calibration=calibration if precision == "int8" else "",
        versions=made_by("precision", packages=("onnx", "onnxruntime")),
    )
    entry = store.get(key)
    if entry is not None:
        return _result(entry, stored=True)
    with store.scratch() as folder:
        if precision == "fp16":
            path, exceptions = _to_fp16(name, graph, folder)
        else:
            path, exceptions = _to_int8(name, graph, folder, samples)
        try:
            check_file(path)
        except ExportError as error:
            raise NotBenchmarkable(
                f"{name} has no valid graph in {precision} ({error.cause})", "measure it in fp32"
            ) from error
        opset = _opset(onnx.load(path, load_external_data=False))
        facts = {"opset": opset, "exceptions": exceptions}
        entry = store.put(key, facts, {_MODEL: path})
        return _result(entry, stored=False)


def _result(entry: Entry, stored: bool) -> Converted:
    facts = entry.facts
    return Converted(entry.files[_MODEL], facts["opset"], tuple(facts["exceptions"]), stored)


def cast_specs(specs: Sequence[TensorSpec], precision: Precision) -> tuple[TensorSpec, ...]:
    """The graph's inputs or outputs in this precision."""
    return tuple(
        replace(spec, dtype="float16") if precision == "fp16" and spec.dtype == "float32" else spec
        for spec in specs
    )


def cast_inputs(
    arrays: Mapping[str, np.ndarray], specs: Sequence[TensorSpec]
) -> dict[str, np.ndarray]:
    """Arrays in the dtypes of the specs."""
    return {spec.name: arrays[spec.name].astype(spec.dtype) for spec in specs}


def _to_fp16(name: str, graph: Path, folder: Path) -> tuple[Path, list[str]]:
    from onnxruntime.transformers.float16 import convert_float_to_float16
    from onnxruntime.transformers.onnx_model import OnnxModel

    proto = _loaded(name, graph)
    if _has(proto, TensorProto.FLOAT16) and not _has(proto, TensorProto.FLOAT):
        return _saved(proto, folder), []
    _tidy_weights(proto)
    try:
        with _quiet():
            nodes = len(proto.graph.node)
            proto = convert_float_to_float16(proto)
        if len(proto.graph.node) > nodes:
            # Casts around the nodes that it leaves in float32 come last in its result.
            OnnxModel.graph_topological_sort(proto.graph, is_deterministic=True)
        inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be converted to fp16 ({_sentence(error)})", "measure it in fp32"
        ) from error
    wide = {
        value.name
        for value in (*inferred.graph.value_info, *inferred.graph.output)
        if value.type.tensor_type.elem_type == TensorProto.FLOAT
    }
    exceptions = [
        _named(node)
        for node in proto.graph.node
        if node.op_type not in ("Cast", "DequantizeLinear") and wide & set(node.output)
    ]
    proto.graph.ClearField("value_info")
    return _saved(proto, folder), exceptions


def _to_int8(name: str, graph: Path, folder: Path, samples: Samples) -> tuple[Path, list[str]]:
    proto = _loaded(name, graph)
    operators = {node.op_type for node in proto.graph.node}
    for node in proto.graph.node:
        if node.op_type in _RECURRENT:
            raise NotBenchmarkable(
                f"ONNX Runtime leaves the {_named(node)} of an int8 graph in fp32",
                f"measure {name} in fp32",
            )
    if operators & _QUANTIZED_OPS:
        path = _saved(proto, folder)
    else:
        if not any(_is_matrix_op(op) for op in operators):
            raise NotBenchmarkable(
                f"{name} has no Conv, Gemm or MatMul that could run in int8", "measure it in fp32"
            )
        path = _quantized(name, proto, folder, samples())
    matrix, wide = _executed_matrix_nodes(path, folder)
    if len(wide) == matrix:
        raise NotBenchmarkable(
            f"no Conv, Gemm or MatMul of {name} would run in int8 ({', '.join(wide[:5])} stay in "
            "fp32)",
            "measure it in fp32",
        )
    return path, wide


def _quantized(
    name: str, proto: ModelProto, folder: Path, samples: Sequence[Mapping[str, np.ndarray]]
) -> Path:
    """QDQ with 8-bit activations between their calibrated extremes, weights per channel.

    Activations are unsigned: of the signed ones ONNX Runtime 1.31 leaves Conv nodes in fp32.
    """
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    if _has(proto, TensorProto.FLOAT16) and not _has(proto, TensorProto.FLOAT):
        raise NotBenchmarkable(
            f"{name} holds its weights in fp16", "give the fp32 graph that it was made from"
        )
    _tidy_weights(proto)
    source, prepared, path = (folder / f"{step}.onnx" for step in ("source", "prepared", "qdq"))
    try:
        with _quiet():
            if _opset(proto) < _FIRST_OPSET_PER_CHANNEL:
                proto = onnx.version_converter.convert_version(proto, _FIRST_OPSET_PER_CHANNEL)
            onnx.save(proto, source)
            quant_pre_process(source, prepared, skip_symbolic_shape=True)
            quantize_static(
                prepared,
                path,
                _Reader(samples),
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=list(_QUANTIZED_HERE),
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )
    except Exception as error:
        raise NotBenchmarkable(
            f"{name} cannot be quantised ({_sentence(error)})", "measure it in fp32"
        ) from error
    quantized = onnx.load(path)
    quantized.graph.ClearField("value_info")
    _restore_head(quantized, proto)
    return _saved(quantized, folder)


def _tidy_weights(proto: ModelProto) -> None:
    """Take weights off the inputs, where IR 3 lists them, and those away that no node reads."""
    graph = proto.graph
    weights = {tensor.name for tensor in graph.initializer}
    given = [value for value in graph.input if value.name not in weights]
    graph.ClearField("input")
    graph.input.extend(given)
    read = {name for node in graph.node for name in reads(node)}
    read |= {value.name for value in graph.output}
    for place in reversed(range(len(graph.initializer))):
        if graph.initializer[place].name not in read:
            del graph.initializer[place]
    proto.ir_version = max(proto.ir_version, _FIRST_IR_WITH_CONSTANTS)


def _restore_head(quantized: ModelProto, proto: ModelProto) -> None:
    """The original's metadata, names and versions in place of the tools' own."""
    quantized.ClearField("metadata_props")
    quantized.metadata_props.extend(proto.metadata_props)
    quantized.ir_version = proto.ir_version
    quantized.producer_name = proto.producer_name
    quantized.producer_version = proto.producer_version
    used = {node.domain for node in quantized.graph.node} | {""}
    kept = [opset for opset in quantized.opset_import if opset.domain in used]
    quantized.ClearField("opset_import")
    quantized.opset_import.extend(kept)


def _executed_matrix_nodes(path: Path, folder: Path) -> tuple[int, list[str]]:
    """How many matrix nodes ONNX Runtime's optimised graph has, and those not in int8."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    optimized = folder / "optimized.onnx"
    options.optimized_model_filepath = str(optimized)
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    nodes = [node for node in onnx.load(optimized).graph.node if _is_matrix_op(node.op_type)]
    wide = [_named(node) for node in nodes if node.op_type not in _INT8_MATRIX_OPS]
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


def _loaded(name: str, graph: Path) -> ModelProto:
    """The whole graph, external weights included."""
    proto = onnx.load(graph)
    if proto.ByteSize() > _LARGEST_BYTES:
        raise NotBenchmarkable(
            f"{name} has more than 2 GiB of weights, too many to be converted here",
            "convert it yourself and give that file",
        )
    return proto


def _saved(proto: ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString(deterministic=True))
    return path


def _has(proto: ModelProto, element: int) -> bool:
    graph = proto.graph
    held = {tensor.data_type for tensor in graph.initializer}
    held |= {v.type.tensor_type.elem_type for v in (*graph.input, *graph.output)}
    held |= {a.t.data_type for node in graph.node for a in node.attribute if a.HasField("t")}
    return element in held


def _opset(proto: ModelProto) -> int:
    return next(o.version for o in proto.opset_import if o.domain in ("", "ai.onnx"))


def _is_matrix_op(op: str) -> bool:
    return any(part in op for part in _MATRIX_OPS)


def _named(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {node_name(node)!r}"


def _sentence(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the converters' advice: they warn of rounding, and log what else one could do."""
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
