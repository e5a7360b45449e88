"""Operators of ai.onnx.ml that onnx's evaluator gets wrong, all of which give float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.aionnxml.op_linear_classifier import (
    LinearClassifier as _OnnxLinearClassifier,
)
from onnx.reference.ops.aionnxml.op_tree_ensemble_classifier import (
    TreeEnsembleClassifier as _OnnxTreeEnsembleClassifier,
)
from onnx.reference.ops.aionnxml.op_tree_ensemble_regressor import (
    TreeEnsembleRegressor as _OnnxTreeEnsembleRegressor,
)


class _MlOperator(OpRun):
    op_domain = "ai.onnx.ml"


class FeatureVectorizer(_MlOperator):
    """Rows side by side, cut or filled up to their widths."""

    def _run(
        self, *parts: np.ndarray, inputdimensions: Sequence[int] | None = None
    ) -> tuple[np.ndarray, ...]:
        widths = inputdimensions or [part.shape[-1] for part in parts]
        rows = [part.reshape(-1, part.shape[-1]).astype(np.float32) for part in parts]
        columns = [
            np.pad(part[:, :width], ((0, 0), (0, max(0, width - part.shape[1]))))
            for part, width in zip(rows, widths, strict=True)
        ]
        return (np.concatenate(columns, 1),)


class LinearRegressor(_MlOperator):
    """Products and intercepts, of which there may be none; onnx's gives NaN then."""

    def _run(
        self,
        x: np.ndarray,
        coefficients: Sequence[float] = (),
        intercepts: Sequence[float] | None = None,
        post_transform: str = "NONE",
        targets: int = 1,
    ) -> tuple[np.ndarray, ...]:
        if post_transform != "NONE":
            raise NotImplementedError(f"it does not know {post_transform} of LinearRegressor")
        weights = np.asarray(coefficients, np.float64).reshape(targets, -1)
        score = x.reshape(-1, weights.shape[1]).astype(np.float64) @ weights.T
        return ((score + np.asarray(intercepts or 0.0)).astype(np.float32),)


class LinearClassifier(_OnnxLinearClassifier):
    """One row of coefficients for two classes has no definition but that of an engine."""

    def _run(  # type: ignore[override]
        self,
        x: np.ndarray,
        coefficients: Sequence[float] = (),
        intercepts: Sequence[float] | None = None,
        **settings: Any,
    ) -> tuple[np.ndarray, ...]:
        rows = len(coefficients) // x.shape[-1]
        if rows == 1:
            raise NotImplementedError("it does not know LinearClassifier with one row")
        if intercepts is None:
            intercepts = [0.0] * rows
        arguments = {"coefficients": coefficients, "intercepts": intercepts, **settings}
        labels, scores = super()._run(x, **arguments)  # type: ignore[no-untyped-call]
        return labels, scores.astype(np.float32)


class Normalizer(_MlOperator):
    """Each row over its largest element, its sum of absolute values or its length."""

    def _run(self, x: np.ndarray, norm: str = "MAX") -> tuple[np.ndarray, ...]:
        wide = x.astype(np.float64)
        if norm == "MAX":
            size = wide.max(-1, keepdims=True)
        else:
            size = np.linalg.norm(wide, {"L1": 1, "L2": 2}[norm], -1, keepdims=True)
        return ((wide / np.where(size == 0, 1.0, size)).astype(np.float32),)


class Scaler(_MlOperator):
    """(x - offset) * scale, in float32 whatever the type of x."""

    def _run(
        self,
        x: np.ndarray,
        offset: Sequence[float] = (0.0,),
        scale: Sequence[float] = (1.0,),
    ) -> tuple[np.ndarray, ...]:
        difference = x.astype(np.float64) - np.asarray(offset)
        return ((difference * np.asarray(scale)).astype(np.float32),)


class TreeEnsembleRegressor(_OnnxTreeEnsembleRegressor):
    """In float32 whatever the type of x."""

    def _run(self, x: np.ndarray, **settings: Any) -> tuple[np.ndarray, ...]:  # type: ignore[override]
        _refuse_gaps(settings, "target", range(settings["n_targets"]))
        (prediction,) = super()._run(x.astype(np.float64), **settings)  # type: ignore[no-untyped-call]
        return (prediction.astype(np.float32),)


class TreeEnsembleClassifier(_OnnxTreeEnsembleClassifier):
    """onnx's takes leaves of one class alone for a model of two, however many there are."""

    def _run(self, x: np.ndarray, **settings: Any) -> tuple[np.ndarray, ...]:  # type: ignore[override]
        labels = settings["classlabels_int64s"] or settings["classlabels_strings"]
        _refuse_gaps(settings, "class", range(len(labels)))
        prediction, scores = super()._run(x, **settings)  # type: ignore[no-untyped-call]
        return prediction, scores.astype(np.float32)


def _refuse_gaps(settings: Mapping[str, Any], kind: str, expected: range) -> None:
    """Refuse trees by which a row may have no score for something: ONNX does not define that."""
    ids: dict[tuple[int, int], set[int]] = {}
    trees, nodes = settings[f"{kind}_treeids"], settings[f"{kind}_nodeids"]
    for tree, node, identifier in zip(trees, nodes, settings[f"{kind}_ids"], strict=True):
        ids.setdefault((tree, node), set()).add(identifier)
    by_tree: dict[int, set[int]] = {}
    for tree, node, mode in zip(
        settings["nodes_treeids"], settings["nodes_nodeids"], settings["nodes_modes"], strict=True
    ):
        if mode == "LEAF":
            node_ids = ids.get((tree, node), set())
            by_tree[tree] = by_tree.get(tree, node_ids) & node_ids
    if set().union(*by_tree.values()) != set(expected):
        raise NotImplementedError(f"it does not know trees that may leave out a {kind}")
