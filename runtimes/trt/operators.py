"""From TensorRT's JSON of an engine's layers to the precision and the time of each.

The names of the fields are those of TensorRT 10 (`Format/Datatype`) and 11 (`DataType`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from runtimes.execution import NodePlacement, OpTime
from runtimes.session.precision import INTEGER, NARROWEST_FIRST, UNKNOWN

_TYPES = (
    (re.compile(r"bf16|bfloat16", re.IGNORECASE), "bf16"),
    (re.compile(r"fp16|half|float16", re.IGNORECASE), "fp16"),
    (re.compile(r"\bint8", re.IGNORECASE), "int8"),
    (re.compile(r"fp32|float32|\bfloat\b", re.IGNORECASE), "fp32"),
)
# TensorRT joins the nodes of a fused layer with one of these.
_SEPARATORS = re.compile("[\x1e\x1f]")
_NODE = re.compile(r"\[ONNX Layer: (.+)\]")
_MOVES_ONLY = re.compile(r"Reformat|NoOp|Constant|Shuffle|Signal|Wait|Copy", re.IGNORECASE)


def placement(described: str, provider: str) -> tuple[NodePlacement, ...]:
    """One entry a layer that computes; ValueError if the text has no details of layers."""
    layers = json.loads(described).get("Layers")
    if not layers or not all(isinstance(layer, dict) for layer in layers):
        raise ValueError("the engine was built without its layers' details")
    return tuple(
        NodePlacement(str(layer["Name"]), str(layer["LayerType"]), provider, _precision(layer))
        for layer in layers
        if not _MOVES_ONLY.search(str(layer["LayerType"]))
    )


def op_times(described: str, spent_ms: Sequence[Mapping[str, float]]) -> tuple[OpTime, ...]:
    """The median times of the layers from `spent_ms`, what each took in each run.

    A layer is the work of the ONNX nodes that it was made of, where TensorRT tells them, and
    goes by the name of its kernel, where it has one of its own.
    """
    told = json.loads(described).get("Layers", ())
    layers = {str(layer["Name"]): layer for layer in told if isinstance(layer, dict)}
    return tuple(
        _op_time(name, layers.get(name, {}), median(run.get(name, 0.0) for run in spent_ms) * 1e3)
        for name in dict.fromkeys(name for run in spent_ms for name in run)
    )


def _op_time(name: str, layer: Mapping[str, Any], time_us: float) -> OpTime:
    parts = map(_NODE.fullmatch, _SEPARATORS.split(str(layer.get("Metadata", ""))))
    nodes = [part[1] for part in parts if part]
    return OpTime(
        node=" + ".join(nodes) or name,
        op=str(layer.get("LayerType", UNKNOWN)),
        time_us=time_us,
        engine_name=str(layer.get("TacticName") or name),
        holds=tuple(nodes),
    )


def _precision(layer: Mapping[str, Any]) -> str:
    """The narrowest float or int8 that a layer reads, else the widest that it writes."""
    read = [name for name in map(_type_of, layer.get("Inputs", ())) if name]
    written = [name for name in map(_type_of, layer.get("Outputs", ())) if name]
    if read:
        return min(read, key=NARROWEST_FIRST.index)
    return max(written, key=NARROWEST_FIRST.index, default=INTEGER)


def _type_of(tensor: Mapping[str, Any]) -> str | None:
    for text in _texts(tensor):
        for pattern, name in _TYPES:
            if pattern.search(text):
                return name
    return None


def _texts(tensor: Mapping[str, Any]) -> Iterator[str]:
    for field in ("DataType", "Format/Datatype", "Format"):
        if field in tensor:
            yield str(tensor[field])
