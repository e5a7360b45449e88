"""Outputs against the stored reference, with the tolerance of the arithmetic that made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isinf

import numpy as np

from app.cases.round import Check
from exporters.agreement import Difference, difference, tolerance_of
from exporters.types import ExportedModel, Reference
from runtimes.base import Lane, Session


def check_session(
    session: Session,
    inputs: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    model: ExportedModel,
    tolerance: float | None,
) -> Check:
    """The worst lane's errors, as `check_lanes`."""
    told = session.execution.precision
    return check_lanes(session.lanes, told, Reference(inputs, expected), model, tolerance)


def check_lanes(
    lanes: Iterable[Lane],
    precision: str,
    reference: Reference,
    model: ExportedModel,
    tolerance: float | None,
) -> Check:
    """The worst lane's errors: each is bound, its output buffers poisoned, run once and compared.

    `tolerance` None is that of the executed type, `precision`, or of the graph's narrowest,
    whichever is coarser: an engine may compute a narrow graph in a wider type. Leaves the inputs
    bound.
    """
    types, inputs = {*precision.split("+"), model.narrowest}, reference.inputs
    if model.precision == "bf16":
        types.add("bf16 tensors")
    allowed = tolerance_of(types, model.depth, model.outputs) if tolerance is None else tolerance
    steps = "int8" in types
    checks = [
        replace(
            compare(_run(lane, inputs), reference.outputs, model.reference, allowed, steps),
            lane=number,
        )
        for number, lane in enumerate(lanes)
    ]
    return worst(checks)


def worst(checks: Iterable[Check]) -> Check:
    """The one that is farthest off, a wrong one before any other."""
    return max(checks, key=lambda check: (not check.output_ok, check.max_rel_error))


def _run(lane: Lane, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    lane.enter()
    lane.bind(inputs)
    lane.poison()
    lane.run()
    return lane.outputs()


def compare(
    actual: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    reference: str,
    tolerance: float,
    steps: bool = False,
) -> Check:
    """The worst output's errors; a missing, misshapen or non-finite output is infinitely wrong.

    Integers and booleans must be equal, whatever the tolerance: they are indices, masks and
    classes. With `steps`, those of 8 bits are numbers that a quantised graph has rounded.
    """
    worst = Check(reference, 0.0, 0.0, 1.0, tolerance, True)
    nans = []
    for name, wanted in expected.items():
        found = difference(actual.get(name), wanted)
        if found.nans:
            nans.append(name)
        exact = wanted.dtype.kind in "iub" and not (steps and wanted.dtype.itemsize == 1)
        check = _check(name, found, wanted.size, reference, tolerance, exact)
        if (not check.output_ok, check.max_rel_error) >= (not worst.output_ok, worst.max_rel_error):
            worst = replace(check, cosine=min(check.cosine, worst.cosine))
    return replace(worst, nans=tuple(nans))


def _check(
    name: str, found: Difference, size: int, reference: str, tolerance: float, exact: bool
) -> Check:
    right = not found.unequal if exact else found.relative <= tolerance
    return Check(
        reference,
        found.absolute,
        found.relative,
        found.cosine,
        tolerance,
        right,
        name,
        unequal=found.unequal / max(size, 1) if exact else None,
    )


def why_wrong(check: Check, lanes: int) -> str:
    """One sentence about a check that failed."""
    where = f" of session {check.lane + 1} of {lanes}" if lanes > 1 else ""
    where = f" at batch {check.batch}" if check.batch else where
    where = f" at {check.shape}" if check.shape else where
    said = f"output {check.worst_output!r}{where} differs from the {check.reference} reference"
    if check.unequal is not None:
        return f"{said} in {100 * check.unequal:.3g} % of its elements, and integers must be equal"
    if isinf(check.max_abs_error):
        return f"{said}: one is missing, of another shape, NaN or infinite where the other is not"
    return (
        f"{said} by {check.max_rel_error:.2g} of its largest value, "
        f"and {check.tolerance:.2g} is allowed"
    )
