"""Disagreements that are understood: which draws, what is seen, why, and where that is settled."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.differential_lowered.card import EMPTY


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
        r"card Reduce\w+",
        rf"(\w+) \(.*\) instead of \1 \(.*\){EMPTY}",
        "ONNX Runtime 1.31.1 keeps axes of a tensor without elements that are to be reduced",
        "ONNX operator text: the reduced dimension has size 1 or is pruned, and each reduction but "
        "ReduceMean has a value for an empty set, which test_reductions.py holds the card to",
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
    for rule in KNOWN:
        if re.fullmatch(rule.kinds, kind) and re.fullmatch(rule.cause, cause):
            return rule.reason
    return ""
