"""Disagreements that are understood: which draws, what is seen, why, and where that is settled."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """`kinds` and `cause` are patterns of a draw's kind and of its whole disagreement."""

    kinds: str
    cause: str
    reason: str
    source: str


KNOWN = (
    Known(
        "card (MaxPool|GlobalMaxPool|ReduceMax|ReduceMin|ReduceLogSumExp)",
        "nan instead of .*",
        "ONNX Runtime passes over NaN in a maximum; numpy and torch do not, nor does the card",
        "onnx/reference/ops/op_reduce_max.py",
    ),
    Known(
        "card Reduce(Max|Min)",
        r"\w+ \((.*, )?0(,.*)?\) instead of \w+ \((.*, )?0(,.*)?\)",
        "ONNX Runtime gives an output without elements the shape of the input",
        "onnxruntime/core/providers/cpu/reduction/reduction_ops.cc",
    ),
    Known(
        "card MeanVarianceNormalization",
        ".* instead of nan at .*",
        "ONNX's function takes E[x]^2 from E[x^2], which may be less by rounding; the card centres",
        "onnx/defs/nn/defs.cc, MeanVarianceNormalization",
    ),
)


def reason_for(kind: str, cause: str) -> str:
    """Why this disagreement is known; empty if it is not."""
    for known in KNOWN:
        if re.fullmatch(known.kinds, kind) and re.fullmatch(known.cause, cause):
            return known.reason
    return ""
