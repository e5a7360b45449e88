"""ONNX's reference evaluator, with operators of ours where it differs from the definition.

Needs onnx and numpy alone, so that whoever checks a graph and whoever folds its constants agree.
It takes the defaults of attributes from the version of an operator that the graph is in, and
refuses what it would pass over in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from onnx import NodeProto, helper
from onnx.defs import OpSchema, get_schema
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from exporters.semantics.control import Loop
from exporters.semantics.indexing import GatherElements, Scatter, Unsqueeze
from exporters.semantics.normalising import (
    BatchNormalization,
    Hardmax,
    LogSoftmax,
    LpNormalization,
    Softmax,
)
from exporters.semantics.pointwise import DequantizeLinear, Mean
from exporters.semantics.pooling import AveragePool, MaxPool, RoiAlign
from exporters.semantics.resizing import GridSample, Resize, Upsample

_ALWAYS = 2**31
_MENDED: Mapping[str, tuple[type[OpRun], int]] = {
    "AveragePool": (AveragePool, _ALWAYS),
    "BatchNormalization": (BatchNormalization, 14),
    "DequantizeLinear": (DequantizeLinear, 19),
    "GatherElements": (GatherElements, _ALWAYS),
    "GridSample": (GridSample, 20),
    "Hardmax": (Hardmax, _ALWAYS),
    "LogSoftmax": (LogSoftmax, _ALWAYS),
    "Loop": (Loop, _ALWAYS),
    "LpNormalization": (LpNormalization, _ALWAYS),
    "MaxPool": (MaxPool, _ALWAYS),
    "Mean": (Mean, _ALWAYS),
    "Resize": (Resize, _ALWAYS),
    "RoiAlign": (RoiAlign, 16),
    "Scatter": (Scatter, 11),
    "Softmax": (Softmax, _ALWAYS),
    "Unsqueeze": (Unsqueeze, 13),
    "Upsample": (Upsample, 10),
}
"""Operators of ours, each for the opsets below a number."""

_RECURRENT_DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "GRU": ("Sigmoid", "Tanh"),
}
"""The activations that onnx's evaluator computes with, whatever the node asks for."""


RANDOM = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
"""Operators that draw. A seed is not heeded: no two engines make the same of it."""


class Evaluator(ReferenceEvaluator):
    """As its base, for graphs, inner graphs and functions alike.

    NotImplementedError, when made or run, for what it does not know or would get wrong.
    """

    def _load_impl(self, node: NodeProto, input_types: Any = None) -> Any:
        if node.domain:
            return super()._load_impl(node, input_types)
        version = self.opsets.get("", 0)
        mended, below = _MENDED.get(node.op_type, (None, 0))
        if mended is not None and version < below:
            schema = get_schema(node.op_type, version, "")
            return _with_schema(mended, schema)
        ignored = _passed_over(node)
        if ignored:
            raise NotImplementedError(f"it does not heed {ignored} of {node.op_type}")
        implementation = super()._load_impl(node, input_types)
        if node.op_type in RANDOM:
            return lambda drawing, settings: implementation(_unseeded(drawing), settings)
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
    newest, own = get_schema(op, ""), get_schema(op, version, "")
    return _Defaults({**newest.attributes, **own.attributes})


def _with_schema(implementation: type[OpRun], schema: OpSchema | _Defaults) -> type[OpRun]:
    """The implementation with these defaults, where onnx's evaluator gives the newest ones."""
    return type(implementation.__name__, (implementation,), {"op_schema": schema})


def _unseeded(node: NodeProto) -> NodeProto:
    other = NodeProto()
    other.CopyFrom(node)
    other.ClearField("attribute")
    other.attribute.extend(a for a in node.attribute if a.name != "seed")
    return other


def _passed_over(node: NodeProto) -> str:
    """What onnx's recurrent operators are given and do not use; empty for nothing."""
    if node.op_type not in ("LSTM", "GRU", "RNN"):
        return ""
    if len(node.input) > 4 and node.input[4]:
        return "sequence_lens"
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    for name in ("clip", "input_forget"):
        if given.get(name):
            return name
    usual = _RECURRENT_DEFAULTS.get(node.op_type)
    asked = tuple(name.decode() for name in given.get("activations", ()))
    others = usual is not None and asked not in ((), usual, usual * 2)
    return "activations" if others else ""
