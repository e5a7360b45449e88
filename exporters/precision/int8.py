"""Step from a float32 graph to int8: prepared for ONNX Runtime's quantiser, calibrated and
quantised, float32 at its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from exporters.onnx_files.engine import plain, register_operators
from exporters.onnx_files.graph import all_nodes, attributes, node_name, reads
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
from exporters.types import Made, NotBenchmarkable, first_line
from exporters.user_arrays import Calibration

QUANTIZED_HERE = (
    *("Add", "AveragePool", "Clip", "Concat", "Conv", "Flatten", "Gemm", "GlobalAveragePool"),
    *("MatMul", "MaxPool", "Pad", "Relu", "Reshape", "Slice", "Split", "Squeeze", "Transpose"),
    "Unsqueeze",
)
"""With 8-bit operands on both sides. The quantiser fails on norms per channel, and quantising what
is no matrix work between them saves the way back to float32."""
_PRODUCTS = ("Conv", "Gemm", "MatMul")
_JOINING = ("Add", "Concat")
_ASK_SHAPES = ("Shape", "Size")
_EXTREME = 1e4
"""What masks begin at: BERT's own is -10000."""
_BOUNDED_OPS = ("Clip", "Max", "MaxPool", "Min", "Relu", "Sigmoid", "Softmax", "Tanh")
"""What they give is not extreme where an operand is."""
_MOVE_SCORES = (
    *("Add", "Concat", "Flatten", "Pad", "Reshape", "Slice", "Split", "Squeeze", "Transpose"),
    "Unsqueeze",
)
"""Behind the last product or pool, what they give a Softmax are its scores."""
_KEEP_SCORES = ("Cast", "Div", "Mul", "Sub", "Where")
"""Not quantised, and what lies before them may be the scores of a Softmax too."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """The nodes to leave in float32, by name, and what the quantiser is to do with a tensor."""

    left: list[str]
    overrides: Mapping[str, list[dict[str, Any]]]


def prepare(path: Path) -> Preparation:
    """Rewrite the graph in the file; every node has a name afterwards."""
    proto = onnx.load(path)
    graph = proto.graph
    nodes = {node.name for node in graph.node}
    for node in graph.node:
        node.name = node.name or _free(node_name(node), nodes)
    _part_inputs_from_outputs(graph)
    _part_biases(graph)
    _part_weights(graph)
    left = {*_sums_with_shapes(graph), *_limits_that_matter(graph)}
    left |= {*_before_softmax(graph), *_extreme_nodes(graph)}
    onnx.save(proto, path)
    return Preparation(sorted(left), _overrides(graph))


def _overrides(graph: GraphProto) -> dict[str, list[dict[str, Any]]]:
    """ONNX Runtime's kernel of a quantised Softmax overflows to 0 with a scale below 1/256, and
    that of a product takes no scales by channel of a stack of matrices."""
    shares: dict[str, Any] = {"rmin": np.float32(0), "rmax": np.float32(1)}
    overrides = {n.output[0]: [shares] for n in graph.node if n.op_type == "Softmax"}
    stacked_weights = {name for name, array in _weights(graph).items() if array.ndim > 2}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in stacked_weights:
            overrides[node.input[1]] = [{"symmetric": True}]
    return overrides


def _free(name: str, used_names: set[str]) -> str:
    """The name, or one like it that is not taken; it is taken afterwards."""
    while name in used_names:
        name += "_"
    used_names.add(name)
    return name


def _tensors(graph: GraphProto) -> set[str]:
    """The names of all tensors of the graph itself."""
    names = {value.name for value in (*graph.input, *graph.initializer)}
    return names | {name for node in graph.node for name in (*node.input, *node.output)}


def _weights(graph: GraphProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def _part_inputs_from_outputs(graph: GraphProto) -> None:
    """An input that is an output too is read through an Identity, and such a weight has a copy:
    the quantiser would write the output itself, from a tensor that there is not."""
    ends = {value.name for value in graph.output}
    weights = {tensor.name: tensor for tensor in graph.initializer}
    input_names = [*(value.name for value in graph.input), *weights]
    for name in dict.fromkeys(name for name in input_names if name in ends):
        if not any(name in node.input for node in graph.node):
            continue
        inner = _free(f"{name}_inside", _tensors(graph))
        for node in graph.node:
            node.input[:] = [inner if read == name else read for read in node.input]
        if name in weights:
            copy = graph.initializer.add()
            copy.CopyFrom(weights[name])
            copy.name = inner
        else:
            graph.node.insert(0, helper.make_node("Identity", [name], [inner], inner))


def _part_biases(graph: GraphProto) -> None:
    """A Gemm's bias takes its factor beta, which the quantiser would drop. It is added by a node
    of its own where it is computed, is a mask or is no vector of the columns: beside a computed
    one ONNX Runtime has no product in 8 bits, a mask of the lowest number would decide the
    product's scales, and the quantiser fails on a bias of another shape."""
    weights = _weights(graph)
    for place in reversed(range(len(graph.node))):
        node = graph.node[place]
        if node.op_type != "Gemm" or len(node.input) < 3 or not node.input[2]:
            continue
        facts = attributes(node)
        beta = np.float32(facts.get("beta", 1.0))
        bias_name, bias = node.input[2], weights.get(node.input[2])
        if bias is None and beta != 1:
            continue
        if bias is not None:
            if _is_vector(bias, weights.get(node.input[1]), facts):
                if beta != 1:
                    node.input[2] = _scale_bias(graph, node, bias, beta)
                continue
            bias_name = _scale_bias(graph, node, bias, beta)
        product = _free(f"{node.output[0]}_product", _tensors(graph))
        add = helper.make_node("Add", [product, bias_name], node.output, f"{node.name}_bias")
        node.output[0] = product
        del node.input[2:]
        graph.node.insert(place + 1, add)


def _is_vector(bias: np.ndarray, weight: np.ndarray | None, facts: Mapping[str, Any]) -> bool:
    """Whether it has one number of usual size for each column of the product."""
    if weight is None or _is_extreme(bias):
        return False
    return bias.shape == (weight.shape[0 if facts.get("transB") else 1],)


def _scale_bias(graph: GraphProto, node: NodeProto, bias: np.ndarray, beta: np.float32) -> str:
    """The name of a new weight, beta times the bias; the node's beta is 1 afterwards."""
    name = _free(f"{node.output[0]}_bias", _tensors(graph))
    graph.initializer.append(numpy_helper.from_array(np.asarray(beta * bias), name))
    others = [attribute for attribute in node.attribute if attribute.name != "beta"]
    del node.attribute[:]
    node.attribute.extend([*others, helper.make_attribute("beta", 1.0)])
    return name


def _part_weights(graph: GraphProto) -> None:
    """A weight that two nodes read with its channels along different axes, or as a weight and as
    something else, is held twice: the quantiser scales it along one axis for both."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    copies: dict[tuple[str, str], str] = {}
    first: dict[str, str] = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            if name not in weights:
                continue
            use = _use(node, place)
            if first.setdefault(name, use) == use:
                continue
            if (name, use) not in copies:
                copies[name, use] = _free(f"{name}_{use}", _tensors(graph))
                copy = graph.initializer.add()
                copy.CopyFrom(weights[name])
                copy.name = copies[name, use]
            node.input[place] = copies[name, use]


def _use(node: NodeProto, place: int) -> str:
    """How the quantiser treats a weight at this place: by the axis of its channels."""
    if node.op_type not in _PRODUCTS or place == 0:
        return "value"
    if place == 2:
        return "bias"
    is_transposed = any(a.name == "transB" and a.i for a in node.attribute)
    return "rows" if node.op_type == "Conv" or is_transposed else "columns"


def _before_softmax(graph: GraphProto) -> Iterator[str]:
    """The nodes that add and move the scores of a Softmax.

    Eight bits of scores that a mask has lowered spare nothing of the scores.
    """
    maker = {name: node for node in graph.node for name in node.output}
    waiting = [node.input[0] for node in graph.node if node.op_type in ("Softmax", "LogSoftmax")]
    visited: set[str] = set()
    while waiting:
        node = maker.get(waiting.pop())
        handles_scores = node is not None and node.op_type in (*_MOVE_SCORES, *_KEEP_SCORES)
        if node is None or node.name in visited or not handles_scores:
            continue
        visited.add(node.name)
        waiting += node.input
        if node.op_type in _MOVE_SCORES:
            yield node.name


def _extreme_nodes(graph: GraphProto) -> Iterator[str]:
    """The nodes that move or add what stands for infinity, such as a mask or what a MaxPool is
    padded with: one step of 8 bits would be larger than all other values."""
    extreme = {name for name, array in _weights(graph).items() if _is_extreme(array)}
    for node in graph.node:
        data = [*node.input[:1], *([] if node.op_type in _BOUNDED_OPS else node.input[1:])]
        tensors = [a.t for a in node.attribute if a.HasField("t")]
        reads_it = bool(extreme.intersection(data))
        gives_it = reads_it or any(_is_extreme(numpy_helper.to_array(t)) for t in tensors)
        if reads_it and node.op_type in QUANTIZED_HERE and node.op_type not in _PRODUCTS:
            yield node.name
        if gives_it and node.op_type not in (*_BOUNDED_OPS, *_PRODUCTS):
            extreme.update(node.output)


def _is_extreme(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool(np.any(np.abs(array) >= _EXTREME))


def _sums_with_shapes(graph: GraphProto) -> Iterator[str]:
    """The nodes that add or join data with what the inputs' shapes alone decide, as positions or
    kinds of tokens.

    With fixed axes that operand is a constant, of which 8 bits spare nothing, and OpenVINO 2026.4
    fails on an Add that has it quantised.
    """
    weights = {tensor.name for tensor in graph.initializer}
    data_names = {value.name for value in graph.input} - weights
    shape_names: set[str] = set()
    for node in graph.node:
        read = set(reads(node))
        if node.op_type in _ASK_SHAPES or (read & shape_names and not read & data_names):
            shape_names.update(node.output)
        elif read & data_names:
            data_names.update(node.output)
            if node.op_type in _JOINING and read & shape_names:
                yield node.name


def _limits_that_matter(graph: GraphProto) -> Iterator[str]:
    """The Relu and Clip nodes that can't become the range of the tensor they read.

    The quantiser gives that tensor the range of their output and takes the nodes away. So they
    stay where a graph's output or an inner graph shows the tensor, and where a bound is not known
    or excludes zero, which every range contains.
    """
    weights = _weights(graph)
    visible_names = {value.name for value in graph.output}
    visible_names |= {name for node in graph.node for name in set(reads(node)) - {*node.input}}
    for node in graph.node:
        if node.op_type not in ("Clip", "Relu"):
            continue
        low, high = (
            weights.get(name) if name else np.float32(0) for name in [*node.input[1:], "", ""][:2]
        )
        has_limits = low is not None and high is not None
        if node.input[0] in visible_names or not has_limits or np.any(low > 0) or np.any(high < 0):  # type: ignore[operator]
            yield node.name


_MATRIX_OPS = ("Conv", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "Attention", "Einsum")
_INT8_MATRIX_OPS = {"ConvInteger", "DynamicQuantizeMatMul", "MatMulInteger", "QAttention"}
_INT8_MATRIX_OPS |= {"MatMulIntegerToFloat", "QGemm", "QLinearConv", "QLinearMatMul"}
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
    known_domains = {*_KNOWN_DOMAINS, *(function.domain for function in proto.functions)}
    for node in all_nodes(proto):
        if node.domain not in known_domains:
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
    source, prepared_path, path = (
        folder / f"{step}.onnx" for step in ("source", "prepared", "qdq")
    )
    try:
        with quiet():
            if opset_of(proto) < _FIRST_OPSET_PER_CHANNEL:
                proto = onnx.version_converter.convert_version(proto, _FIRST_OPSET_PER_CHANNEL)
            onnx.save(proto, source)
            quant_pre_process(source, prepared_path, skip_symbolic_shape=True)
            preparation = prepare(prepared_path)
            quantize_static(
                prepared_path,
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
    optimized_path = folder / "optimized.onnx"
    options.optimized_model_filepath = str(optimized_path)
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NotBenchmarkable(
            f"ONNX Runtime does not take {name} in int8 ({plain(error)})", "measure it in fp32"
        ) from error
    nodes = [node for node in onnx.load(optimized_path).graph.node if _is_matrix_op(node.op_type)]
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
