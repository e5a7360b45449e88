"""A float32 graph in another precision, from the store where it has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.cache import Store
from exporters.codec import from_json
from exporters.file_access import file_sha256
from exporters.precision.fp8 import to_fp8
from exporters.precision.graphs import MODEL, Conversion
from exporters.precision.half_precision import to_bf16, to_fp16
from exporters.precision.int8 import to_int8
from exporters.steps import done
from exporters.types import Precision
from exporters.user_arrays import Calibration

_PACKAGES = ("onnx", "onnxruntime")


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
    if precision == "fp16":
        result = done(store, to_fp16, name, graph, key_facts=key_facts, packages=_PACKAGES)
    elif precision == "bf16":
        result = done(store, to_bf16, name, graph, key_facts=key_facts, packages=_PACKAGES)
    elif precision == "fp8":
        key_facts["calibration"] = calibration.identity
        result = done(
            store, to_fp8, name, graph, calibration, key_facts=key_facts, packages=_PACKAGES
        )
    else:
        key_facts["calibration"] = calibration.identity
        key_facts["operators"] = [file_sha256(Path(library)) for library in custom_ops]
        result = done(
            store,
            to_int8,
            name,
            graph,
            calibration,
            custom_ops,
            key_facts=key_facts,
            packages=_PACKAGES,
        )
    facts = from_json(Conversion, result.entry.facts)
    return Converted(result.entry.files[MODEL], facts.opset, facts.exceptions, result.stored)
