"""ONNX's numbers of element types, as ONNX Runtime's C interface counts them."""

from __future__ import annotations

from collections.abc import Mapping

from runtimes.faults import Unsupported

ELEMENT_TYPES: Mapping[int, str] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}
"""ONNXTensorElementDataType to numpy's name; a number that is missing here has none."""


def no_numbers(name: str, kind: str) -> Unsupported:
    """What an output is answered with that is no plain array of numbers."""
    return Unsupported(
        f"output {name!r} is a {kind}, which is no array of numbers",
        "use a graph whose outputs are numeric tensors",
    )
