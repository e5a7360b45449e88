"""Proof that a graph is what its definition says: ONNX's full checker, and its numbers.

ONNX Runtime's CPU provider runs the file beside the torch module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from exporters.agreement import difference
from exporters.complaint import first_line
from exporters.types import ExportError


def check_file(path: Path, called: str = "") -> None:
    """ONNX's full check, shape inference included; ExportError carries its first sentence.

    `called` is what the file is to the user, its own name if empty.
    """
    import onnx

    try:
        # What is written in C takes no name that is no text, so such a file is given whole.
        onnx.checker.check_model(path if _is_text(path) else path.read_bytes(), full_check=True)
    except Exception as error:
        raise ExportError(
            f"{called or path.name} is not a valid ONNX graph ({first_line(error)})",
            "export the file again",
        ) from error


def _is_text(path: Path) -> bool:
    try:
        return bool(str(path).encode("utf-8"))
    except UnicodeEncodeError:
        return False


def check_numbers(
    path: Path,
    name: str,
    points: Sequence[tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]],
    tolerance: float,
) -> bool:
    """Run the file, as it is written, on each (inputs, expected outputs); False if none can.

    ExportError where an output is off by more than `tolerance`, as max|a-b| / max|b|. What
    ONNX Runtime has no kernel for, as for products in bf16 on a CPU, is no fault of the graph.
    """
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = os.cpu_count() or 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        results = [session.run(list(expected), dict(inputs)) for inputs, expected in points]
    except NoKernel:
        return False
    except Exception as error:
        raise ExportError(
            f"the graph of {name} does not run ({first_line(error)})",
            "report it with the definition",
        ) from error
    for result, (inputs, expected) in zip(results, points, strict=True):
        for output, got in zip(expected, result, strict=True):
            error_ratio = relative_error(got, expected[output])
            if not error_ratio <= tolerance:
                shapes = {tensor: array.shape for tensor, array in inputs.items()}
                apart = (
                    f"by {error_ratio:.2g} of the largest value"
                    if isfinite(error_ratio)
                    else "in type or shape, or is finite where that is not,"
                )
                raise ExportError(
                    f"output {output!r} of the graph of {name} differs from its torch module "
                    f"{apart} at {shapes}",
                    f"a graph of its types may differ by {tolerance:g}",
                )
    return True


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    """max|got - expected| / max|expected|; infinite where shape, dtype or NaNs differ."""
    if got.dtype != expected.dtype:
        return float("inf")
    return difference(got, expected).relative
