"""Code snippets: how a program uses a runtime with given settings, as text to copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exporters.types import ExportedModel
from runtimes.options import Settings


def quoted(text: str, quote: str) -> str:
    """The text between two of `quote`, in which what does not print, and bytes that are no text,
    are octal."""
    return quote + "".join(_char(char, quote) for char in text) + quote


def _char(char: str, quote: str) -> str:
    if char in ("\\", quote):
        return f"\\{char}"
    if char.isprintable():
        return char
    # Always of three digits: a hexadecimal escape would take digits that follow it.
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Used:
    """A model and its settings, `options` whole."""

    model: ExportedModel
    settings: Settings


@dataclass(frozen=True, slots=True)
class Usage:
    """A program in Python, and Triton's model configuration; each empty where there is none."""

    python: str = ""
    triton: str = ""


_TYPES = {
    name: f"TYPE_{name.upper().replace('FLOAT', 'FP')}"
    for name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
}


def triton_config(
    setup: Used,
    backend: str,
    parameters: Mapping[str, str],
    untold: Mapping[str, str],
    instances: int,
) -> str:
    """A `config.pbtxt` of the model with its shapes as they are, and a backend's parameters;
    `untold` is what was measured with and no parameter says."""
    model = setup.model
    lines = [f'backend: "{backend}"', 'default_model_filename: "model.onnx"', "max_batch_size: 0"]
    for kind, specs in (("input", model.inputs), ("output", model.outputs)):
        for spec in specs:
            dims = ", ".join(
                str(model.axes.get(size, -1) if isinstance(size, str) else size)
                for size in spec.shape
            )
            name = quoted(spec.name, '"')
            kept_as = _TYPES.get(spec.dtype, "TYPE_INVALID")
            lines.append(f"{kind} {{ name: {name} data_type: {kept_as} dims: [ {dims} ] }}")
    lines.append(f"instance_group {{ count: {instances} kind: KIND_CPU }}")
    lines += [
        f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}'
        for key, value in parameters.items()
    ]
    if untold:
        option_text = ", ".join(f"{name}={value}" for name, value in untold.items())
        lines.append(f"# measured with, and no parameter of this backend: {option_text}")
    return "\n".join(lines) + "\n"
