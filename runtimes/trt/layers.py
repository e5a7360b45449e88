"""TensorRT's JSON of an engine's layers as values: what each is, reads, writes and was made of.

The names of the fields are those of TensorRT 10 (`Format/Datatype`) and 11 (`DataType`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runtimes.session.precision import UNKNOWN

_TYPES = (
    (re.compile(r"bf16|bfloat16", re.IGNORECASE), "bf16"),
    (re.compile(r"fp8|float8|e4m3|e5m2", re.IGNORECASE), "fp8"),
    (re.compile(r"fp4|float4|e2m1", re.IGNORECASE), "fp4"),
    (re.compile(r"fp16|half|float16", re.IGNORECASE), "fp16"),
    (re.compile(r"\bint8", re.IGNORECASE), "int8"),
    (re.compile(r"\bint4", re.IGNORECASE), "int4"),
    (re.compile(r"fp32|float32|\bfloat\b", re.IGNORECASE), "fp32"),
)
_NODE = re.compile(r"\[ONNX Layer: (.+?)\](?=\s*(?:[\x1e\x1f[]|$))")
_MOVES_ONLY = re.compile(r"Reformat|NoOp|Constant|Shuffle|Signal|Wait|Copy", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layer:
    """`nodes` are those of the graph that it was made of, where TensorRT tells them.

    `reads` and `writes` are the types of floats and quantised numbers, in the order of its tensors;
    those of other tensors, such as indices and shapes, are left out.
    """

    name: str
    kind: str
    tactic: str = ""
    nodes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def computes(self) -> bool:
        """Whether it does more than move data."""
        return not _MOVES_ONLY.search(self.kind)


def layers_of(described: str) -> tuple[Layer, ...]:
    """Those that are described; one of which there is a name alone is left out."""
    told = json.loads(described).get("Layers", ())
    return tuple(_layer(layer) for layer in told if isinstance(layer, dict))


def described_layers(described: str) -> tuple[Layer, ...]:
    """All layers; ValueError if the text has no details of them."""
    told = json.loads(described).get("Layers")
    if not told or not all(isinstance(layer, dict) for layer in told):
        raise ValueError("the engine was built without its layers' details")
    return layers_of(described)


def nodes_in(metadata: str) -> tuple[str, ...]:
    """The graph's nodes that TensorRT names so."""
    return tuple(_NODE.findall(metadata))


def _layer(told: Mapping[str, Any]) -> Layer:
    return Layer(
        name=str(told["Name"]),
        kind=str(told.get("LayerType", UNKNOWN)),
        tactic=str(told.get("TacticName") or ""),
        nodes=nodes_in(str(told.get("Metadata", ""))),
        reads=tuple(_types(told.get("Inputs", ()))),
        writes=tuple(_types(told.get("Outputs", ()))),
    )


def _types(tensors: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for tensor in tensors:
        name = _type_of(tensor)
        if name:
            yield name


def _type_of(tensor: Mapping[str, Any]) -> str:
    for field in ("DataType", "Format/Datatype", "Format"):
        text = str(tensor.get(field, ""))
        for pattern, name in _TYPES:
            if pattern.search(text):
                return name
    return ""
