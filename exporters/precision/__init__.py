"""A float32 graph in another precision, from the store where it has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.cache import Store, done
from exporters.codec import from_json
from exporters.file_access import file_sha256
from exporters.precision.fp8 import to_fp8
from exporters.precision.graphs import MODEL, Conversion
from exporters.precision.half_precision import to_bf16, to_fp16
from exporters.precision.int8 import to_int8
from exporters.types import Made, Precision
from exporters.user_arrays import Calibration

_PACKAGES = ("onnx", "onnxruntime")
_STEPS: Mapping[str, Callable[..., Made]] = {
    "fp16": to_fp16,
    "bf16": to_bf16,
    "fp8": to_fp8,
    "int8": to_int8,
}


@dataclass(frozen=True, slots=True)
class Converted:
    """A graph in its precision; `exceptions` names the nodes that run in a wider type."""

    path: Path
    opset: int
    exceptions: tuple[str, ...]
    stored: bool


def converted(
    store: Store,
    name: str,
    graph: Path,
    precision: Precision,
    calibration: Calibration,
    custom_ops: Sequence[str] = (),
) -> Converted:
    """The graph in fp16 or bf16, or in int8 or fp8, which are calibrated on the samples.

    NotBenchmarkable (status `unsupported`) for a graph that cannot be had so, told without
    creating a session where an operator alone decides it.
    """
    key_facts: dict[str, Any] = {"graph": graph.stem, "precision": precision}
    arguments: list[Any] = [name, graph]
    if precision in ("int8", "fp8"):
        key_facts["calibration"] = calibration.identity
        arguments.append(calibration)
    if precision == "int8":
        key_facts["operators"] = [file_sha256(Path(library)) for library in custom_ops]
        arguments.append(custom_ops)
    step = _STEPS[precision]
    result = done(store, step, *arguments, key_facts=key_facts, packages=_PACKAGES)
    facts = from_json(Conversion, result.entry.facts)
    return Converted(result.entry.files[MODEL], facts.opset, facts.exceptions, result.stored)
