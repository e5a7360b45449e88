"""A float32 graph in another precision, from the store where it has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporters.cache import Store
from exporters.codec import from_json
from exporters.precision.fp16 import to_fp16
from exporters.precision.graphs import MODEL, Conversion
from exporters.precision.int8 import to_int8
from exporters.steps import done
from exporters.types import Precision
from exporters.user_data import Calibration

_PACKAGES = ("onnx", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Converted:
    """A graph in its precision; `exceptions` names the nodes that run in a wider type."""

    path: Path
    opset: int
    exceptions: tuple[str, ...]
    stored: bool


def converted(
    store: Store, name: str, graph: Path, precision: Precision, calibration: Calibration
) -> Converted:
    """The graph in fp16 or int8, the latter calibrated on the samples.

    NotBenchmarkable (status `unsupported`) for a graph that cannot be had so, told without
    creating a session where an operator alone decides it.
    """
    about = {"graph": graph.stem, "precision": precision}
    if precision == "fp16":
        result = done(store, to_fp16, name, graph, about=about, packages=_PACKAGES)
    else:
        about["calibration"] = calibration.identity
        result = done(store, to_int8, name, graph, calibration, about=about, packages=_PACKAGES)
    facts = from_json(Conversion, result.entry.facts)
    return Converted(result.entry.files[MODEL], facts.opset, facts.exceptions, result.stored)
