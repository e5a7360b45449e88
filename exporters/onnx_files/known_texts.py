"""The texts that a graph's encoders know, from which its text inputs are drawn."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, NodeProto, TensorProto

from exporters.onnx_files.graph import constant_tensors

_TABLES = (
    *("keys_strings", "keys_tensor", "cats_strings", "pool_strings"),
    *("string_vocabulary", "classes_strings"),
)
"""Attributes that hold the texts which an encoder knows."""
_PASSES_ON = frozenset(
    (
        *("ArrayFeatureExtractor", "Concat", "Expand", "Flatten", "Gather", "Identity"),
        *("Reshape", "Slice", "Split", "Squeeze", "StringNormalizer", "Transpose", "Unsqueeze"),
        "Where",
    )
)
_NUMBERS = ("0", "1", "2")
_MOST = 1000


def words_of(graph: GraphProto, name: str) -> tuple[str, ...]:
    """The texts that encoders know which read this input, in order; () where none does.

    Texts that become numbers are numbers.
    """
    constants = constant_tensors([graph])
    derived_names, words = {name}, dict[str, None]()
    for node in graph.node:
        if derived_names.isdisjoint(node.input):
            continue
        words |= dict.fromkeys(_known(node, constants))
        if node.op_type in _PASSES_ON:
            derived_names.update(node.output)
    return tuple(words)[:_MOST]


def _known(node: NodeProto, constants: dict[str, TensorProto]) -> Iterator[str]:
    if node.op_type == "Cast":
        return iter(_NUMBERS)
    if node.op_type in ("Equal", "Where"):
        tables = [constants[name].string_data for name in node.input if name in constants]
    else:
        known = [a for a in node.attribute if a.name in _TABLES]
        tables = [texts for a in known for texts in (a.strings, a.t.string_data)]
    return (text.decode("utf-8", "replace") for texts in tables for text in texts)
