"""Outputs against the stored reference, with the tolerance of the precision that ran."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.measure.job import Check
from runtimes.base import Session

TOLERANCE: dict[str, float] = {
    "fp32": 1e-4,
    "tf32": 5e-3,
    "fp16": 1e-2,
    "bf16": 2e-2,
    "int8": 1e-1,
}
"""Largest accepted max|a-b| / max|b| by executed precision."""


def check_session(
    session: Session,
    inputs: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    reference: str,
) -> Check:
    """Bind, poison the output buffers, run once and compare; leaves the inputs bound."""
    session.bind(inputs)
    session.poison()
    session.run()
    outputs = session.outputs()
    tolerance = TOLERANCE.get(session.execution.precision, TOLERANCE["fp32"])
    if any(output.dtype == np.float16 for output in outputs.values()):
        # A half has 11 bits of mantissa, whatever the engine computed in.
        tolerance = max(tolerance, TOLERANCE["fp16"])
    return compare(outputs, expected, reference, tolerance)


def compare(
    actual: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    reference: str,
    tolerance: float,
) -> Check:
    """The worst output's errors; a missing, misshapen or non-finite output is infinitely wrong."""
    worst = Check(reference, 0.0, 0.0, 1.0, tolerance, True)
    for name, wanted in expected.items():
        got = actual.get(name)
        absolute, relative, cosine = _errors(got, wanted)
        if relative >= worst.max_rel_error:
            worst = Check(
                reference,
                absolute,
                relative,
                min(cosine, worst.cosine),
                tolerance,
                relative <= tolerance,
                name,
            )
    return worst


def _errors(got: np.ndarray | None, wanted: np.ndarray) -> tuple[float, float, float]:
    """(max|a-b|, max|a-b| / max|b|, cosine) of one output."""
    if got is None or got.shape != wanted.shape:
        return np.inf, np.inf, 0.0
    a = got.astype(np.float64, copy=False).ravel()
    b = wanted.astype(np.float64, copy=False).ravel()
    if a.size == 0:
        return 0.0, 0.0, 1.0
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0, 0.0, 1.0
    if not np.isfinite(a[~same]).all() or not np.isfinite(b[~same]).all():
        return np.inf, np.inf, 0.0
    finite = np.isfinite(b)
    absolute = float(np.max(np.abs(a[~same] - b[~same])))
    scale = float(np.max(np.abs(b[finite])))
    norms = float(np.linalg.norm(a[finite]) * np.linalg.norm(b[finite]))
    cosine = float(a[finite] @ b[finite]) / norms if norms else 0.0
    return absolute, absolute / scale if scale else np.inf, cosine
