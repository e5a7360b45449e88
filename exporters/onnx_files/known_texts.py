"""The texts that a graph's encoders know, from which its text inputs are drawn."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, numpy_helper

_TABLES = (
    "keys_strings",
    "keys_tensor",
    "cats_strings",
    "pool_strings",
    "string_vocabulary",
    "classes_strings",
)
"""Attributes that hold the texts which an encoder knows."""
_PASSES_ON = frozenset(
    {
        "ArrayFeatureExtractor",
        "Concat",
        "Expand",
        "Flatten",
        "Gather",
        "Identity",
        "Reshape",
        "Slice",
        "Split",
        "Squeeze",
        "StringNormalizer",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
_NUMBERS = ("0", "1", "2")
_MOST = 1000


def words_of(graph: GraphProto, name: str) -> tuple[str, ...]:
    """The texts that encoders know which read this input, in order; () where none does.

    Texts that become numbers are numbers.
    """
    constants = {t.name: t for t in graph.initializer if t.data_type == TensorProto.STRING}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.t.data_type == TensorProto.STRING:
                constants[node.output[0]] = attribute.t
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
        yield from _NUMBERS
    elif node.op_type in ("Equal", "Where"):
        for name in node.input:
            if name in constants:
                yield from _texts(constants[name])
    for attribute in node.attribute:
        if attribute.name not in _TABLES:
            continue
        if attribute.type == AttributeProto.STRINGS:
            yield from (text.decode("utf-8", "replace") for text in attribute.strings)
        elif attribute.t.data_type == TensorProto.STRING:
            yield from _texts(attribute.t)


def _texts(tensor: TensorProto) -> Iterator[str]:
    for text in numpy_helper.to_array(tensor).ravel():
        yield text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
