"""Small networks of the kinds that users have, with open axes, states, texts, external data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
WIDTH = 16
_DRAW = np.random.default_rng(0)


def _weights(*shape: int) -> np.ndarray:
    return _DRAW.standard_normal(shape).astype(np.float32) * np.float32(0.1)


def _info(name: str, kind: int, *shape: int | str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _save(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    weights: dict[str, Any] | None = None,
    *,
    opset: int = 17,
    domain: str = "",
    external: bool = False,
) -> None:
    initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 2 if domain == "ai.onnx.ml" else 1))
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options: dict[str, Any] = {}
    if external:
        options = {
            "save_as_external_data": True,
            "location": f"{path.stem}.data",
            "size_threshold": 0,
        }
    onnx.save(model, path, **options)


def write_networks(folder: Path) -> list[str]:
    """Write them; the names of the files."""
    node = helper.make_node
    _save(
        folder / "encoder.onnx",
        [
            node("Gather", ["table", "input_ids"], ["e"]),
            node("Cast", ["attention_mask"], ["m"], to=FLOAT),
            node("Unsqueeze", ["m", "last"], ["m3"]),
            node("Mul", ["e", "m3"], ["em"]),
            node("MatMul", ["em", "w"], ["y"]),
        ],
        [_info(name, INT64, "batch", "sequence") for name in ("input_ids", "attention_mask")],
        [_info("y", FLOAT, "batch", "sequence", WIDTH)],
        {"table": _weights(100, 32), "w": _weights(32, WIDTH), "last": np.array([2])},
    )
    _save(
        folder / "images_opset_11.onnx",
        [
            node("Conv", ["x", "w"], ["c"], strides=[2, 2]),
            node("GlobalAveragePool", ["c"], ["y"]),
        ],
        [_info("x", FLOAT, "N", 3, "height", "width")],
        [_info("y", FLOAT, "N", 8, 1, 1)],
        {"w": _weights(8, 3, 3, 3)},
        opset=11,
    )
    _save(
        folder / "texts.onnx",
        [
            node(
                "LabelEncoder",
                ["city"],
                ["n"],
                domain="ai.onnx.ml",
                keys_strings=["a", "b"],
                values_int64s=[0, 1],
            ),
            node("Cast", ["n"], ["y"], to=FLOAT),
        ],
        [_info("city", STRING, "rows", 1)],
        [_info("y", FLOAT, "rows", 1)],
        domain="ai.onnx.ml",
    )
    _save(
        folder / "boxes.onnx",
        [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["y"])],
        [_info("boxes", FLOAT, 1, 50, 4), _info("scores", FLOAT, 1, 1, 50)],
        [_info("y", INT64, "found", 3)],
        {
            "most": np.array([10]),
            "overlap": np.array([0.5], np.float32),
            "least": np.array([0.0], np.float32),
        },
    )
    _save(
        folder / "state.onnx",
        [node("GRU", ["x", "w", "r", "", "", "h0"], ["y", "hn"], hidden_size=WIDTH)],
        [_info("x", FLOAT, "T", "batch", 8), _info("h0", FLOAT, 1, "batch", WIDTH)],
        [_info("y", FLOAT, "T", 1, "batch", WIDTH), _info("hn", FLOAT, 1, "batch", WIDTH)],
        {"w": _weights(1, 3 * WIDTH, 8), "r": _weights(1, 3 * WIDTH, WIDTH)},
    )
    _save(
        folder / "quantised.onnx",
        [
            node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
            node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
            node("DequantizeLinear", ["wq", "scale", "zero"], ["w"]),
            node("MatMul", ["d", "w"], ["y"]),
        ],
        [_info("x", FLOAT, "batch", 32)],
        [_info("y", FLOAT, "batch", 8)],
        {
            "scale": np.float32(0.02),
            "zero": np.int8(0),
            "wq": _DRAW.integers(-127, 127, (32, 8)).astype(np.int8),
        },
    )
    _save(
        folder / "decoder.onnx",
        [
            node("Gather", ["table", "input_ids"], ["e"]),
            node("Concat", ["past", "e"], ["present"], axis=1),
            node("Transpose", ["present"], ["keys"], perm=[0, 2, 1]),
            node("MatMul", ["e", "keys"], ["s"]),
            node("Cast", ["attention_mask"], ["m"], to=FLOAT),
            node("Unsqueeze", ["m", "middle"], ["m3"]),
            node("Add", ["s", "m3"], ["sm"]),
            node("Softmax", ["sm"], ["p"], axis=-1),
            node("MatMul", ["p", "present"], ["y"]),
        ],
        [
            _info("input_ids", INT64, "batch", "sequence"),
            _info("attention_mask", INT64, "batch", "total_sequence"),
            _info("past", FLOAT, "batch", "past_sequence", WIDTH),
        ],
        [
            _info("y", FLOAT, "batch", "sequence", WIDTH),
            _info("present", FLOAT, "batch", "total_sequence", WIDTH),
        ],
        {"table": _weights(100, WIDTH), "middle": np.array([1])},
    )
    dense = [_info("x", FLOAT, "batch", 64)], [_info("y", FLOAT, "batch", 32)]
    _save(
        folder / "external.onnx",
        [node("MatMul", ["x", "w"], ["y"])],
        *dense,
        {"w": _weights(64, 32)},
        external=True,
    )
    _save(
        folder / "vendor_operator.onnx",
        [node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft", transB=1)],
        *dense,
        {"w": _weights(32, 64)},
        domain="com.microsoft",
    )
    _save(
        folder / "audio.onnx",
        [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=WIDTH)],
        [_info("x", FLOAT, "frames", 1, 40)],
        [_info("y", FLOAT, "frames", 1, 1, WIDTH)],
        {"w": _weights(1, 4 * WIDTH, 40), "r": _weights(1, 4 * WIDTH, WIDTH)},
    )
    return sorted(path.name for path in folder.glob("*.onnx"))
