"""ONNX's reference evaluator, with operators of ours where it differs from the definition.

Needs onnx and numpy alone, so that whoever checks a graph and whoever folds its constants agree.
It takes the defaults of attributes from the version of an operator that the graph is in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import NodeProto
from onnx.defs import OpSchema, get_schema
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from exporters.semantics.control import Loop, Optional, Scan, SequenceInsert
from exporters.semantics.convolution import (
    AveragePool,
    ConvTranspose,
    DeformConv,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
    MaxRoiPool,
    RoiAlign,
)
from exporters.semantics.elements import (
    Clip,
    DequantizeLinear,
    Det,
    Dropout,
    Flatten,
    GatherElements,
    Mean,
    OneHot,
    Scatter,
    Shape,
    Slice,
    Softsign,
    Squeeze,
    StringNormalizer,
    StringSplit,
    Unique,
    Unsqueeze,
)
from exporters.semantics.images import AffineGrid, GridSample, NonMaxSuppression, Resize, Upsample
from exporters.semantics.normalisation import (
    LRN,
    Attention,
    BatchNormalization,
    Hardmax,
    InstanceNormalization,
    LayerNormalization,
    LogSoftmax,
    LpNormalization,
    MeanVarianceNormalization,
    ReduceLogSum,
    ReduceLogSumExp,
    ReduceSumSquare,
    Softmax,
)
from exporters.semantics.random_operators import RANDOM
from exporters.semantics.recurrence import GRU, LSTM, RNN
from exporters.semantics.traditional_ml import (
    FeatureVectorizer,
    LinearClassifier,
    LinearRegressor,
    Normalizer,
    Scaler,
    TreeEnsembleClassifier,
    TreeEnsembleRegressor,
)

_ALWAYS = 2**31
_FIXED_OPERATORS: Mapping[str, tuple[type[OpRun], int]] = {
    "AffineGrid": (AffineGrid, _ALWAYS),
    "Attention": (Attention, _ALWAYS),
    "AveragePool": (AveragePool, _ALWAYS),
    "BatchNormalization": (BatchNormalization, _ALWAYS),
    "Clip": (Clip, _ALWAYS),
    "ConvTranspose": (ConvTranspose, _ALWAYS),
    "DeformConv": (DeformConv, _ALWAYS),
    "DequantizeLinear": (DequantizeLinear, 19),
    "Det": (Det, _ALWAYS),
    "Dropout": (Dropout, 12),
    "Flatten": (Flatten, _ALWAYS),
    "GRU": (GRU, _ALWAYS),
    "GatherElements": (GatherElements, _ALWAYS),
    "GlobalLpPool": (GlobalLpPool, _ALWAYS),
    "GlobalMaxPool": (GlobalMaxPool, _ALWAYS),
    "GridSample": (GridSample, _ALWAYS),
    "Hardmax": (Hardmax, _ALWAYS),
    "InstanceNormalization": (InstanceNormalization, _ALWAYS),
    "LRN": (LRN, _ALWAYS),
    "LSTM": (LSTM, _ALWAYS),
    "LayerNormalization": (LayerNormalization, _ALWAYS),
    "LogSoftmax": (LogSoftmax, _ALWAYS),
    "Loop": (Loop, _ALWAYS),
    "LpNormalization": (LpNormalization, _ALWAYS),
    "LpPool": (LpPool, _ALWAYS),
    "MaxPool": (MaxPool, _ALWAYS),
    "MaxRoiPool": (MaxRoiPool, _ALWAYS),
    "Mean": (Mean, _ALWAYS),
    "MeanVarianceNormalization": (MeanVarianceNormalization, _ALWAYS),
    "NonMaxSuppression": (NonMaxSuppression, _ALWAYS),
    "OneHot": (OneHot, _ALWAYS),
    "Optional": (Optional, _ALWAYS),
    "RNN": (RNN, _ALWAYS),
    "ReduceLogSum": (ReduceLogSum, _ALWAYS),
    "ReduceLogSumExp": (ReduceLogSumExp, _ALWAYS),
    "ReduceSumSquare": (ReduceSumSquare, _ALWAYS),
    "Resize": (Resize, _ALWAYS),
    "RoiAlign": (RoiAlign, 16),
    "Scan": (Scan, _ALWAYS),
    "Scatter": (Scatter, 11),
    "SequenceInsert": (SequenceInsert, _ALWAYS),
    "Shape": (Shape, _ALWAYS),
    "Slice": (Slice, _ALWAYS),
    "Softmax": (Softmax, _ALWAYS),
    "Softsign": (Softsign, _ALWAYS),
    "Squeeze": (Squeeze, 13),
    "StringNormalizer": (StringNormalizer, _ALWAYS),
    "StringSplit": (StringSplit, _ALWAYS),
    "Unique": (Unique, _ALWAYS),
    "Unsqueeze": (Unsqueeze, 13),
    "Upsample": (Upsample, 10),
}
"""Operators of ours, each for the opsets below a number."""
_ML_OPERATORS: Mapping[str, type[OpRun]] = {
    "FeatureVectorizer": FeatureVectorizer,
    "LinearClassifier": LinearClassifier,
    "LinearRegressor": LinearRegressor,
    "Normalizer": Normalizer,
    "Scaler": Scaler,
    "TreeEnsembleClassifier": TreeEnsembleClassifier,
    "TreeEnsembleRegressor": TreeEnsembleRegressor,
}
"""Operators of ours in the domain ai.onnx.ml, for all its versions."""
_LEARNED_DOMAIN = "ai.onnx.ml"
_QUANTISED_OPERATORS = frozenset({"QuantizeLinear", "QLinearMatMul"})
"""Operators whose integers depend on the precision of the quotient."""


class Evaluator(ReferenceEvaluator):
    """As its base, for graphs, inner graphs and functions alike.

    NotImplementedError, when made or run, for what it does not know or would get wrong.
    """

    def _load_impl(self, node: NodeProto, input_types: Any = None) -> Any:
        if node.domain == _LEARNED_DOMAIN and node.op_type in _ML_OPERATORS:
            schema = get_schema(node.op_type, self.opsets.get(node.domain, 1), node.domain)
            return _with_schema(_ML_OPERATORS[node.op_type], schema)
        if node.domain:
            return super()._load_impl(node, input_types)
        version = self.opsets.get("", 0)
        operator_class, first_right_version = _FIXED_OPERATORS.get(node.op_type, (None, 0))
        if operator_class is not None and version < first_right_version:
            schema = get_schema(node.op_type, version, "")
            return _with_schema(operator_class, schema)
        implementation = super()._load_impl(node, input_types)
        if node.op_type in RANDOM or node.op_type == "Dropout":
            return lambda drawing, settings: implementation(_without_seed(drawing), settings)
        if node.op_type in _QUANTISED_OPERATORS:
            return _in_single_precision(implementation)
        # One that bears a version in its name has the defaults of that version.
        if getattr(implementation, "__name__", "") == node.op_type:
            return _with_schema(implementation, _with_newer(node.op_type, version))
        return implementation


@dataclass(frozen=True, slots=True)
class _Defaults:
    """The part of a schema that an operator takes its defaults from."""

    attributes: Mapping[str, OpSchema.Attribute]


@cache
def _with_newer(op: str, version: int) -> _Defaults:
    """The defaults of this version, and of attributes that came later and stand for what was."""
    newest, own_schema = get_schema(op, ""), get_schema(op, version, "")
    return _Defaults({**newest.attributes, **own_schema.attributes})


def _with_schema(implementation: type[OpRun], schema: OpSchema | _Defaults) -> type[OpRun]:
    """The implementation with these defaults, where onnx's evaluator gives the newest ones."""
    return type(implementation.__name__, (implementation,), {"op_schema": schema})


def _in_single_precision(implementation: type[OpRun]) -> type[OpRun]:
    """The implementation with inputs in half precision widened, as engines compute with them."""

    compute: Any = implementation._run

    def _run(self: OpRun, *inputs: Any, **settings: Any) -> Any:
        wide = (x.astype(np.float32) if _is_half(x) else x for x in inputs)
        return compute(self, *wide, **settings)

    return type(implementation.__name__, (implementation,), {"_run": _run})


def _is_half(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float16


def _without_seed(node: NodeProto) -> NodeProto:
    other = NodeProto()
    other.CopyFrom(node)
    other.ClearField("attribute")
    other.attribute.extend(a for a in node.attribute if a.name != "seed")
    return other
