"""Small ONNX graphs, sessions on the simulated card, and who took which node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser

from runtimes.fpga import provider
from runtimes.fpga.provider.abi import PROVIDER_NAME

CPU = "CPUExecutionProvider"
WEIGHTS = (np.random.default_rng(0).normal(size=(16, 8)) / 4).astype(np.float32)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[int | str | None]],
    outputs: Mapping[str, Sequence[int | str | None] | None],
    constants: Mapping[str, np.ndarray] | None = None,
    opset: int = 20,
    types: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of float32 tensors, save where `types` says otherwise."""
    types = types or {}

    def values(
        shapes: Mapping[str, Sequence[int | str | None] | None],
    ) -> list[onnx.ValueInfoProto]:
        return [
            helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), shape)
            for name, shape in shapes.items()
        ]

    initializers = [numpy_helper.from_array(a, name) for name, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), initializers)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def of_text(text: str, **constants: object) -> onnx.ModelProto:
    """A model of ONNX's text, as `(float[2,4] x) => (float[2,4] y) { y = Relu(x) }`."""
    graph = parser.parse_graph(f"g {text}")
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in arrays.items())
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def mlp(batch: int | str = 2) -> onnx.ModelProto:
    text = f"(float[{batch},16] x) => (float[{batch},8] y) {{ h = MatMul(x, w) y = Relu(h) }}"
    return of_text(text, w=WEIGHTS)


def rows(seed: int = 0, count: int = 2) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)}


def quiet_options() -> onnxruntime.SessionOptions:
    """Options of a session that tells who took which node and logs nothing."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return options


def card_session(
    graph: onnx.ModelProto | Path,
    texts: Mapping[str, str] | None = None,
    options: onnxruntime.SessionOptions | None = None,
) -> onnxruntime.InferenceSession:
    """A session that offers every node to the card first."""
    options = options or quiet_options()
    options.add_provider_for_devices([provider.device()], dict(texts or {}))
    source = graph if isinstance(graph, Path) else graph.SerializeToString()
    return onnxruntime.InferenceSession(source, options)


def cpu_session(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(proto.SerializeToString(), quiet_options(), providers=[CPU])


def taken(session: onnxruntime.InferenceSession, name: str = PROVIDER_NAME) -> list[str]:
    """The operators that provider `name` was assigned, sorted."""
    return sorted(
        node.op_type
        for part in session.get_provider_graph_assignment_info()
        if part.ep_name == name
        for node in part.get_nodes()
    )


def disagreement(actual: np.ndarray, expected: np.ndarray) -> str:
    """Why `actual` is not `expected` within bf16's tolerance; empty if it is.

    Infinities and NaN must be in the same places; of the rest the largest difference may
    be 2 % of the largest expected value, and the cosine at least 0.999.
    """
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True):
        return "infinities or NaN are elsewhere"
    a, b = actual[finite].astype(np.float64), expected[finite].astype(np.float64)
    if not np.isfinite(a).all():
        return "infinities or NaN where there should be none"
    largest = np.abs(b).max(initial=0)
    if not largest:
        return "" if not np.abs(a).max(initial=0) else "values instead of zeros"
    error = np.abs(a - b).max() / largest
    cosine = (a @ b) / max(np.sqrt((a @ a) * (b @ b)), 1e-300)
    return "" if error <= 2e-2 and cosine >= 0.999 else f"error {error:.3g}, cosine {cosine:.5f}"
