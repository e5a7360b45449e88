"""One draw in fp16, bf16, int8 or fp8 beside the same graph in float32.

Both are run by ONNX Runtime's CPU provider with its optimisations off, int8 with them on, since
they make the integer products, and with an entry that keeps these from saturating on a processor
without VNNI. It has no products in bf16: there each node computes in float32 from bf16 operands,
and what it gives is rounded to bf16.

A converter may be right and its outputs far away: a Relu that keeps only a small remainder of its
input leaves the rounding error as it was and removes the values that made it small. Such an output
is ill-conditioned: errors of one rounding step move it by more than is allowed (`sensitivity`). It
is not compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

from exporters.agreement import difference, tolerance_of
from exporters.inputs import cast_inputs
from exporters.onnx_files.counts import arithmetic
from exporters.onnx_files.graph import graphs_of
from exporters.precision.fp8 import to_fp8
from exporters.precision.graphs import MODEL
from exporters.precision.half_precision import all_tensors, to_bf16, to_fp16
from exporters.precision.int8 import to_int8
from exporters.types import NotBenchmarkable, Precision, TensorSpec
from exporters.user_arrays import Calibration
from runtimes.onnxruntime.opening import WIDE_SUMS, WIDENING_FAULT
from runtimes.session.precision import saturates_int8
from tests.differential_lowered.card import Outcome, quiet_options
from tests.differential_lowered.graphs import Dice, Draw

PRECISIONS: tuple[Precision, ...] = ("fp16", "bf16", "int8", "fp8")
_SAMPLES = 8
_PRODUCTS = ("Conv", "Gemm", "MatMul")
"""The operators whose first two operands every precision rounds."""
_UNIT: Mapping[Precision, float] = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp8": 2.0**-4}
"""Half a unit in the last place as a part of the value, at most."""
_LEVELS = 127
"""Steps of int8 from 0 to the largest value of a tensor."""
_RUNS = 8


def compare(draw: Draw, precision: Precision, dice: Dice) -> Outcome:
    """Convert the graph and run both; fed with a sample of what it is calibrated on."""
    try:
        expected = run(draw.proto, draw.feeds)
    except Exception:
        return Outcome("not comparable")
    if any(not np.isfinite(array).all() for array in expected):
        return Outcome("not comparable")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.onnx"
        onnx.save(draw.proto, path)
        cache_dir = Path(folder) / "made"
        cache_dir.mkdir()
        try:
            converted_model = _converted(draw, path, cache_dir, precision, dice)
        except NotBenchmarkable as error:
            reason = str(error)
            is_refused = any(words in reason for words in _REFUSALS)
            return Outcome("left to the CPU" if is_refused else "disagrees", reason)
        try:
            actual_outputs = _compute(converted_model, draw.feeds, precision)
        except Exception as error:
            if saturates_int8() and WIDENING_FAULT in str(error):
                return Outcome("not comparable")
            return Outcome("disagrees", f"{type(error).__name__}: {str(error)[:300]}")
    types = ("bf16", "bf16 tensors") if precision == "bf16" else (precision,)
    tolerance = tolerance_of(types, arithmetic(converted_model).depth, ())
    shares = sensitivity(draw.proto, draw.feeds, precision)
    for value, actual, expected_output in zip(
        draw.proto.graph.output, actual_outputs, expected, strict=True
    ):
        off = difference(np.asarray(actual), expected_output).relative
        if off > tolerance >= shares[value.name]:
            return Outcome(
                "disagrees", f"{value.name} is off by {off:.3g}, {tolerance:.3g} allowed"
            )
    for name, share in shares.items():
        if share > tolerance:
            cause = f"one rounding step moves {name} by {share:.3g}, {tolerance:.3g} allowed"
            return Outcome("ill-conditioned", cause)
    return Outcome("agrees")


_REFUSALS = (
    *("would run in int8", "could run in int8", "could become fp8", "cannot be written in opset"),
    "leaves the",
)
"""What a conversion says of a graph that it rightly refuses."""


def run(
    proto: ModelProto, feeds: Mapping[str, np.ndarray], optimised: bool = False
) -> list[np.ndarray]:
    return [np.asarray(a) for a in _session(proto, optimised).run(None, dict(feeds))]


def _session(proto: ModelProto, optimised: bool = False) -> onnxruntime.InferenceSession:
    options = quiet_options(optimised)
    if saturates_int8():
        options.add_session_config_entry(WIDE_SUMS, "1")
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _converted(
    draw: Draw, path: Path, folder: Path, precision: Precision, dice: Dice
) -> ModelProto:
    def samples() -> list[dict[str, np.ndarray]]:
        inputs = [
            {
                n: np.asarray(dice.rng.standard_normal(a.shape), np.float32)
                for n, a in draw.feeds.items()
            }
            for _ in range(_SAMPLES)
        ]
        return [dict(draw.feeds), *inputs]

    calibration = Calibration("drawn", samples)
    match precision:
        case "fp16":
            result = to_fp16(folder, draw.kind, path)
        case "bf16":
            result = to_bf16(folder, draw.kind, path)
        case "int8":
            result = to_int8(folder, draw.kind, path, calibration, ())
        case _:
            result = to_fp8(folder, draw.kind, path, calibration)
    return onnx.load(result.files[MODEL])


def _compute(
    proto: ModelProto, feeds: Mapping[str, np.ndarray], precision: Precision
) -> list[np.ndarray]:
    if precision == "bf16":
        return run(widened(proto, TensorProto.BFLOAT16), feeds)
    specs = [
        TensorSpec(
            value.name,
            helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name,
            feeds[value.name].shape,
        )
        for value in proto.graph.input
    ]
    fed = cast_inputs(feeds, specs)
    if precision == "fp16":
        proto, fed = widened(proto, TensorProto.FLOAT16), cast_inputs(fed, _wide(specs))
    outputs = run(proto, fed, optimised=precision == "int8")
    return [np.asarray(array, np.float32) for array in outputs]


def _wide(specs: Sequence[TensorSpec]) -> list[TensorSpec]:
    return [replace(spec, dtype="float32") for spec in specs]


def widened(proto: ModelProto, narrow_type: int) -> ModelProto:
    """A graph of half precision as one of float32 whose tensors are rounded after each node."""
    inferred_graph = onnx.shape_inference.infer_shapes(proto).graph
    values = (*inferred_graph.value_info, *inferred_graph.output, *inferred_graph.input)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    wide_proto = ModelProto()
    wide_proto.CopyFrom(proto)
    graph = wide_proto.graph
    graph.ClearField("value_info")
    ends = [*graph.input, *(end for inner in graphs_of(graph) for end in inner.output)]
    for value in ends:
        if value.type.tensor_type.elem_type == narrow_type:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for tensor in all_tensors(wide_proto):
        if tensor.data_type == narrow_type:
            array = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    nodes = []
    for inner in graphs_of(graph):
        for node in inner.node:
            for attribute in node.attribute:
                if attribute.name == "to" and attribute.i == narrow_type:
                    attribute.i = TensorProto.FLOAT
    for node in graph.node:
        narrow = [name for name in node.output if types.get(name) == narrow_type]
        node.output[:] = [f"{name}_exact" if name in narrow else name for name in node.output]
        nodes.append(node)
        for name in narrow:
            short = f"{name}_short"
            nodes.append(helper.make_node("Cast", [f"{name}_exact"], [short], to=narrow_type))
            nodes.append(helper.make_node("Cast", [short], [name], to=TensorProto.FLOAT))
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    return wide_proto


def sensitivity(
    proto: ModelProto, feeds: Mapping[str, np.ndarray], precision: Precision
) -> dict[str, float]:
    """The largest relative difference of each output, by its name, in runs whose products have
    operands that are off by a random part of a rounding step."""
    noisy_proto, operands = _with_disturbances(proto)
    session = _session(noisy_proto)
    none = {_disturbance(name): np.zeros(1, np.float32) for name in operands}
    names = [value.name for value in proto.graph.output]
    arrays = [np.asarray(a) for a in session.run([*names, *operands], {**feeds, **none})]
    exact = dict(zip(names, arrays[: len(names)], strict=True))
    values = dict(zip(operands, arrays[len(names) :], strict=True))
    rng = np.random.default_rng(0)
    largest = dict.fromkeys(names, 0.0)
    for _ in range(_RUNS):
        noise = {_disturbance(n): _rounding(array, precision, rng) for n, array in values.items()}
        for name, array in zip(names, session.run(names, {**feeds, **noise}), strict=True):
            off = difference(np.asarray(array), exact[name]).relative
            largest[name] = max(largest[name], off)
    return largest


def _rounding(array: np.ndarray, precision: Precision, rng: np.random.Generator) -> np.ndarray:
    """An error that rounding may make; zero stays exact, as in each of the formats."""
    if precision in _UNIT:
        step = 2 * _UNIT[precision] * np.abs(array)
    else:
        step = np.abs(array).max(initial=0) / _LEVELS * (array != 0)
    return np.asarray(step * rng.uniform(-0.5, 0.5, array.shape), np.float32)


def _with_disturbances(proto: ModelProto) -> tuple[ModelProto, list[str]]:
    """The graph with an input for each operand of a product that is added to it there, and the
    operands, which are outputs too."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    graph = copy.graph
    ends = {value.name for value in graph.output}
    operands: dict[str, None] = {}
    nodes = []
    for node in graph.node:
        if node.op_type in _PRODUCTS:
            for place, name in enumerate(node.input[:2]):
                if name not in operands:
                    operands[name] = None
                    sum_ = helper.make_node("Add", [name, _disturbance(name)], [_noisy_name(name)])
                    nodes.append(sum_)
                node.input[place] = _noisy_name(name)
        nodes.append(node)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    for name in operands:
        kind = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        graph.input.append(helper.make_value_info(_disturbance(name), kind))
        if name not in ends:
            graph.output.append(helper.make_value_info(name, kind))
    return copy, list(operands)


def _disturbance(name: str) -> str:
    return f"{name}_disturbance"


def _noisy_name(name: str) -> str:
    return f"{name}_disturbed"
