"""Disagreements that are explained: a condition for each, its reason and its source."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from onnx import ModelProto, helper, numpy_helper

from tests.differential.agreement import Agreement, compare

FILE = Path(__file__).with_name("known_disagreements.toml")


@dataclass(frozen=True, slots=True)
class Known:
    """One line of the file: the condition is a Python expression over the node (see `facts`).

    `crash`: it explains that the engine ends its process, and no outputs.
    """

    operators: tuple[str, ...]
    when: str
    reason: str
    source: str
    crash: bool
    code: CodeType

    def holds(self, facts: Mapping[str, Any]) -> bool:
        return facts["operator"] in self.operators and bool(eval(self.code, {"np": np, **facts}))


@cache
def entries() -> tuple[Known, ...]:
    """All lines of the file."""
    with FILE.open("rb") as file:
        lines = tomllib.load(file)["known"]
    return tuple(
        Known(
            tuple(line["operators"].split()),
            line["when"],
            line["reason"],
            line["source"],
            line.get("crash", False),
            compile(line["when"], FILE.name, "eval"),
        )
        for line in lines
    )


def facts(
    operator: str,
    opset: int,
    model: ModelProto,
    inputs: Mapping[str, Any],
    agreement: Agreement | None = None,
    our_outputs: list[Any] | None = None,
    their_outputs: list[Any] | None = None,
) -> dict[str, Any]:
    """The names that a condition may use.

    operator, opset; `a`, the node's attributes; `x`, its inputs in order (None where left out);
    `worst`, the largest difference; `fault`; `our_outputs` and `their_outputs`, the outputs, of
    which there are none of an engine that crashed; `agree(keep)`, whether the outputs agree where
    `keep(ours, theirs)` is true.
    """
    (node,) = model.graph.node
    weights = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    values = {**inputs, **weights}
    attributes = {p.name: helper.get_attribute_value(p) for p in node.attribute}
    texts = {n: v.decode() if isinstance(v, bytes) else v for n, v in attributes.items()}
    distance = agreement or Agreement()
    pairs = list(zip(our_outputs or [], their_outputs or [], strict=False))

    def agree(keep: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> bool:
        masked_pairs = ((np.where(keep(a, b), a, b), b) for a, b in pairs)
        return not any(compare(a, b).fault for a, b in masked_pairs)

    return {
        "operator": operator,
        "opset": opset,
        "a": texts,
        "x": [values.get(name) for name in node.input] + [None] * 8,
        "worst": distance.worst,
        "fault": distance.fault,
        "ours": our_outputs or [],
        "theirs": their_outputs or [],
        "outputs": len(node.output),
        "agree": agree,
    }


def reason_for(
    operator: str,
    opset: int,
    model: ModelProto,
    inputs: Mapping[str, Any],
    agreement: Agreement,
    our_outputs: list[Any],
    their_outputs: list[Any],
    *,
    crash: bool = False,
) -> Known | None:
    """The line that explains a disagreement, or a crash."""
    names = facts(operator, opset, model, inputs, agreement, our_outputs, their_outputs)
    return next((entry for entry in entries() if entry.crash == crash and entry.holds(names)), None)
