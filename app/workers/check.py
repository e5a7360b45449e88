"""Outputs against the stored reference, with the tolerance of the precision that ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from app.cases.round import Check
from runtimes.base import Lane, Session

TOLERANCE: dict[str, float] = {
    "fp32": 1e-4,
    "tf32": 5e-3,
    "fp16": 1e-2,
    "bf16": 2e-2,
    "int8": 1e-1,
}
"""Largest accepted max|a-b| / max|b| by executed precision."""


_PART = 2**18


def check_session(
    session: Session,
    inputs: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    reference: str,
) -> Check:
    """The worst lane's errors: each is bound, its output buffers poisoned, run once and compared.

    Leaves the inputs bound.
    """
    tolerance = TOLERANCE.get(session.execution.precision, TOLERANCE["fp32"])
    checks = [
        replace(_check_lane(lane, inputs, expected, reference, tolerance), lane=number)
        for number, lane in enumerate(session.lanes)
    ]
    return max(checks, key=lambda check: (not check.output_ok, check.max_rel_error))


def _check_lane(
    lane: Lane,
    inputs: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    reference: str,
    tolerance: float,
) -> Check:
    lane.enter()
    lane.bind(inputs)
    lane.poison()
    lane.run()
    outputs = lane.outputs()
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
    """(max|a-b|, max|a-b| / max|b|, cosine) of one output.

    In parts, so that checking a large output does not take several times its memory.
    """
    if got is None or got.shape != wanted.shape:
        return np.inf, np.inf, 0.0
    absolute = scale = product = square_a = square_b = 0.0
    flat_a, flat_b = got.ravel(), wanted.ravel()
    for start in range(0, flat_b.size, _PART):
        a = flat_a[start : start + _PART].astype(np.float64)
        b = flat_b[start : start + _PART].astype(np.float64)
        differs = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if not np.isfinite(a[differs]).all() or not np.isfinite(b[differs]).all():
            return np.inf, np.inf, 0.0
        finite = np.isfinite(b)
        a, b = a[finite], b[finite]
        absolute = max(absolute, float(np.max(np.abs(a - b), initial=0.0)))
        scale = max(scale, float(np.max(np.abs(b), initial=0.0)))
        product += float(a @ b)
        square_a += float(a @ a)
        square_b += float(b @ b)
    if absolute == 0.0:
        return 0.0, 0.0, 1.0
    norms = float(np.sqrt(square_a) * np.sqrt(square_b))
    cosine = product / norms if norms else 0.0
    return absolute, absolute / scale if scale else np.inf, cosine
