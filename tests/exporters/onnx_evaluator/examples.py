"""A node for each row of the table whose operator has no generator: ONNX's evaluator errs on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TypeProto, helper, parser

Example = tuple[ModelProto, dict[str, Any]]
ML = "ai.onnx.ml"
_IR_VERSION = 10


def example(
    op: str, inputs: Sequence[Any], opset: int = 22, outputs: int = 1, **attributes: Any
) -> Example:
    """A graph of one such node and its inputs, of which None is left out; in opset 3 it is of
    ai.onnx.ml."""
    domain = ML if opset <= 5 else ""
    names = ["" if value is None else f"x{place}" for place, value in enumerate(inputs)]
    feeds = {n: v for n, v in zip(names, inputs, strict=True) if n}
    results = [f"y{place}" for place in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_value_info(name, _type(value)) for name, value in feeds.items()],
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    opsets = [helper.make_opsetid("", 22 if domain else opset)]
    opsets += [helper.make_opsetid(domain, opset)] if domain else []
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
    return onnx.shape_inference.infer_shapes(model), feeds


def _type(value: Any) -> TypeProto:
    if isinstance(value, dict):
        number = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
        return helper.make_map_type_proto(onnx.TensorProto.STRING, number)
    if isinstance(value, list):
        return helper.make_sequence_type_proto(_type(value[0]))
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_type_proto(kind, value.shape)


def loop(condition: str, scanned: str) -> Example:
    """x doubled three times; `scanned` is the text of what a turn gives beside the next x."""
    gives, takes, end = "", "", ""
    if scanned:
        gives, takes, end = ", float[1,2] turn_x", ", all", ", float[3,1,2] all"
    model = parser.parse_model(f"""
        <ir_version: {_IR_VERSION}, opset_import: ["" : 22]>
        loop (int64 turns, bool go, float[1,2] x) => (float[1,2] y{end}) {{
            y{takes} = Loop (turns, {condition}, x) <body = body
                (int64 turn, bool in, float[1,2] state) => (bool out, float[1,2] next{gives}) {{
                out = Identity (in) next = Add (state, state) {scanned} }}>
        }}""")
    feeds = {"turns": np.array(3), "go": np.array(True), "x": ONE}
    return model, feeds


def reals(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Numbers between -2 and 2, the same at each call."""
    return np.random.default_rng(1).uniform(-2, 2, shape).astype(dtype)


def texts(*values: str) -> np.ndarray:
    return np.array(values, object)


ONE, WHOLE = reals(1, 2), np.array([[1, 2]])
_HEADS = reals(1, 1, 2, 2)
_SUPPORTS: dict[str, Any] = {
    "kernel_type": "LINEAR",
    "kernel_params": [0.5, 0.0, 2.0],
    "support_vectors": [1.0, -0.5, -1.5, 0.7, 0.2, 1.1],
}
_TREE: dict[str, Any] = {
    "nodes_splits": helper.make_tensor("splits", 1, [1], [0.0]),
    "nodes_modes": helper.make_tensor("modes", 2, [1], [0]),
    "nodes_featureids": [0],
    "nodes_truenodeids": [0],
    "nodes_trueleafs": [1],
    "nodes_falsenodeids": [1],
    "nodes_falseleafs": [1],
    "tree_roots": [0],
    "leaf_targetids": [0, 0],
    "leaf_weights": helper.make_tensor("weights", 1, [2], [0.3, 1.7]),
}
EXAMPLES = (
    example("AffineGrid", [reals(1, 2, 3), np.array([1, 1, 1, 2])], align_corners=1),
    example("Attention", [3 * _HEADS] * 3, 23, 4, softcap=0.5),
    example("GridSample", [reals(1, 1, 4, 4), reals(1, 3, 3, 2)], mode="cubic",
            padding_mode="border"),
    example("GridSample", [reals(1, 1, 99, 99, dtype=float), reals(1, 9, 9, 2, dtype=float)]),
    example("DequantizeLinear", [WHOLE.astype(np.uint8), np.array([0.5, 2], np.float32)], 13,
            axis=1),
    loop("go", "turn_x = Identity (state)"),
    loop("", ""),
    example("Optional", [ONE]),
    example("RoiAlign", [reals(1, 1, 6, 6), np.array([[0, 0, 4, 4]], np.float32), np.array([0])],
            10, output_height=2, output_width=2),
    example("SequenceInsert", [[ONE, ONE], ONE + 1, np.array(2)]),
    example("Shape", [ONE], end=-3),
    example("StringNormalizer", [texts("é", "a")], case_change_action="UPPER", locale="C"),
    example("StringSplit", [texts(" a b ")], outputs=2, maxsplit=1),
    example("Unique", [np.array([[3, 1, 3], [2, 1, 2]])], outputs=4, sorted=0,
            axis=1),
    example("Scaler", [WHOLE], 3, offset=[0.5], scale=[2.0]),
    example("Normalizer", [np.array([[-3, 1]], np.float32)], 3, norm="MAX"),
    example("LinearRegressor", [ONE], 3, coefficients=[1.0, 2.0], targets=1),
    example("LinearClassifier", [reals(3, 2)], 3, 2, coefficients=[0.1, 0.2, 0.3, -0.4],
            intercepts=[0.4, 0.5], classlabels_ints=[0, 1], post_transform="PROBIT"),
    example("DictVectorizer", [{"b": 2.0}], 3, string_vocabulary=["a", "b"]),
    example("OneHotEncoder", [np.array([0.5, 1], np.float32)], 3, cats_int64s=[0, 1], zeros=1),
    example("SVMClassifier", [reals(3, 2)], 3, 2, classlabels_ints=[0, 1], rho=[0.3],
            coefficients=[0.5, 1.0, 0.7], vectors_per_class=[1, 2], **_SUPPORTS),
    example("SVMClassifier", [reals(3, 2)], 3, 2, classlabels_ints=[0, 1, 2], rho=[0.3, 0.1, 0.2],
            coefficients=[0.5, -1.0, 0.7, 0.2, 0.4, -0.6], vectors_per_class=[1, 1, 1],
            prob_a=[-1.0, -0.5, -0.7], prob_b=[0.1, 0.2, 0.3], **_SUPPORTS),
    example("TreeEnsemble", [ONE], 5, n_targets=1, post_transform=4, **_TREE),
    example("ZipMap", [reals(2, 2)], 1, classlabels_strings=["a", "b"]),
)  # fmt: skip
