"""A graph run by ONNX Runtime as it is written, with no rewriting: one of its references.

It also knows operators of other domains and of libraries. Engines are imported in the export
process, where this runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exporters.complaint import first_line
from exporters.structured import arrays_of, values_of
from exporters.types import ExportError, TensorSpec

if TYPE_CHECKING:
    import onnxruntime

_LOG_FATAL = 4
_NOISE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : |Load model from .*? failed: ?")


class Unoptimised:
    """One file on the CPU provider, opened for each run.

    So its weights are not in memory beside those that ONNX's evaluator then reads. `was_open`
    says that ONNX Runtime has taken the graph.
    """

    def __init__(
        self,
        path: Path,
        outputs: Sequence[str],
        inputs: Sequence[TensorSpec],
        custom_ops: Sequence[str],
    ) -> None:
        self._path = path
        self._inputs = tuple(inputs)
        self._outputs = list(outputs)
        self._custom_ops = tuple(custom_ops)
        self.was_open = False

    def outputs(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name; raises what ONNX Runtime raises, ExportError for a library."""
        session = opened(self._path, self._custom_ops)
        self.was_open = True
        values = session.run(self._outputs, values_of(self._inputs, inputs))
        arrays: dict[str, np.ndarray] = {}
        for name, value in zip(self._outputs, values, strict=True):
            arrays |= arrays_of(name, value)
        return arrays


def opened(
    model: Path | bytes, custom_ops: Sequence[str], entries: Mapping[str, str] | None = None
) -> onnxruntime.InferenceSession:
    """A session that runs the graph as it is written; `entries` are session settings by key."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _LOG_FATAL
    options.intra_op_num_threads = os.cpu_count() or 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for key, value in (entries or {}).items():
        options.add_session_config_entry(key, value)
    register_operators(options, custom_ops)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def register_operators(options: onnxruntime.SessionOptions, libraries: Sequence[str]) -> None:
    """Make the operators of these libraries known to a session; ExportError if one is none."""
    for library in libraries:
        try:
            options.register_custom_ops_library(library)
        except Exception as error:
            raise ExportError(
                f"ONNX Runtime cannot take the operators of {Path(library).name} ({plain(error)})",
                "give --custom-ops a library built for this ONNX Runtime",
            ) from error


def plain(error: Exception) -> str:
    """What ONNX Runtime complains of, without its codes and paths."""
    return _NOISE.sub("", first_line(error)).rstrip(".")
