"""Validation of exported graphs: ONNX's full checker and the outputs, within a time limit."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from exporters.agreement import difference, scale_of
from exporters.types import ExportError, first_line

if TYPE_CHECKING:
    from onnx import ModelProto

T = TypeVar("T")

EVALUATOR_LIMIT_S = 60.0
"""What ONNX's evaluator may take at a point for which there is another reference."""


class TooSlow(Exception):
    """The time limit ended the computation."""


class _Interruption(BaseException):
    """Raised in the thread of a computation; no `except Exception` of a library stops it."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work`, or what it raises; TooSlow once it has taken `seconds`.

    It ends after the call into a library that it is in, so a single long one delays that.
    """
    results: list[T] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as fault:
            faults.append(fault)

    thread = Thread(target=run, name="limited", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        thread_id = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, ctypes.py_object(_Interruption))
        thread.join()
    if results:
        return results[0]
    if isinstance(faults[0], _Interruption):
        raise TooSlow(f"it took longer than {seconds:g} s")
    raise faults[0]


def check_file(path: Path, label: str = "") -> None:
    """ONNX's full check, shape inference included; ExportError carries its first sentence.

    `label` is what the file is to the user, its own name if empty.
    """
    complaint = objection(path)
    if complaint:
        raise ExportError(
            f"{label or path.name} is not a valid ONNX graph ({complaint})",
            "export the file again",
        )


def objection(path: Path) -> str:
    """What ONNX's full check objects to; "" where it accepts the file.

    An IR version later than onnx knows is none: each engine decides for itself.
    """
    import onnx

    try:
        if model := _model_at_known_version(path):
            onnx.checker.check_model(model, full_check=True)
            return ""
        # What is written in C takes no name that is no text, so such a file is given whole.
        onnx.checker.check_model(path if _is_text(path) else path.read_bytes(), full_check=True)
    except Exception as error:
        return first_line(error) or type(error).__name__
    return ""


def _model_at_known_version(path: Path) -> ModelProto | None:
    """A graph of a later IR version than onnx knows, at the latest that it does; else None."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    if model.ir_version <= onnx.IR_VERSION:
        return None
    model.ir_version = onnx.IR_VERSION
    return model


def _is_text(path: Path) -> bool:
    try:
        return bool(str(path).encode("utf-8"))
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Numbers:
    """Whether ONNX Runtime runs a graph, and whether its outputs alone are wrong."""

    runs: bool
    is_disputed: bool = False


def check_numbers(
    path: Path,
    name: str,
    points: Sequence[tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]],
    tolerance: float,
) -> Numbers:
    """Run the file, as it is written, on each (inputs, expected outputs).

    ExportError where an output is off by more than `tolerance`, as max|a-b| / max|b|, unless
    ONNX's evaluator gives every expected output there: then the graph is right, and ONNX
    Runtime's result is disputed. What ONNX Runtime has no kernel for, as for products in bf16 on
    a CPU, is no fault of the graph.
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
        return Numbers(runs=False)
    except Exception as error:
        raise ExportError(
            f"the graph of {name} does not run ({first_line(error)})",
            "report it with the definition",
        ) from error
    is_disputed = False
    for result, (inputs, expected) in zip(results, points, strict=True):
        actual = dict(zip(expected, result, strict=True))
        fault = _fault(name, actual, inputs, expected, tolerance)
        if fault is None:
            continue
        if not _is_evaluated_so(path, inputs, expected, tolerance):
            raise fault
        is_disputed = True
    return Numbers(runs=True, is_disputed=is_disputed)


def _fault(
    name: str,
    actual: Mapping[str, np.ndarray],
    inputs: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    tolerance: float,
) -> ExportError | None:
    """Of the first output that is off; None where all are within the tolerance."""
    for output, expected_output in expected.items():
        error_ratio = relative_error(actual[output], expected_output, scale_of(inputs))
        if not error_ratio <= tolerance:
            shapes = {tensor: array.shape for tensor, array in inputs.items()}
            discrepancy = (
                f"by {error_ratio:.2g} of the largest value"
                if isfinite(error_ratio)
                else "in type or shape, or is finite where that is not,"
            )
            return ExportError(
                f"output {output!r} of the graph of {name} differs from its torch module "
                f"{discrepancy} at {shapes}",
                f"a graph of its types may differ by {tolerance:g}",
            )
    return None


def _is_evaluated_so(
    path: Path,
    inputs: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    tolerance: float,
) -> bool:
    """Whether ONNX's evaluator gives these outputs; not if it can't, or takes too long."""
    from exporters.onnx_evaluator.evaluator import Evaluator

    def run_evaluator() -> list[object]:
        with np.errstate(all="ignore"):
            return [*Evaluator(str(path)).run(list(expected), dict(inputs))]

    try:
        values = within(EVALUATOR_LIMIT_S, run_evaluator)
    except Exception:
        return False
    actual = {name: np.asarray(value) for name, value in zip(expected, values, strict=True)}
    return _fault("", actual, inputs, expected, tolerance) is None


def relative_error(actual: np.ndarray, expected: np.ndarray, inputs_scale: float = 1.0) -> float:
    """max|got - expected| / max|expected|; infinite where shape, dtype or NaNs differ."""
    if actual.dtype != expected.dtype:
        return float("inf")
    return difference(actual, expected, inputs_scale).relative
