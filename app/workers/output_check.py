"""Outputs against the stored references, with the tolerance of the arithmetic that made them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import isinf

import numpy as np

from app.cases.round import Check
from exporters.agreement import Bound, difference, scale_of, tolerance_of
from exporters.types import ExportedModel, Reference
from runtimes.base import Arrays, Lane


def check_lanes(
    lanes: Iterable[Lane],
    precision: str,
    reference: Reference,
    model: ExportedModel,
    tolerance: float | None,
) -> Check:
    """The worst lane's errors: each is run once, as by `outputs_of`, and compared."""
    outputs = outputs_of(lanes, reference.inputs)
    return check_outputs(outputs, precision, reference, model, tolerance)


def check_outputs(
    outputs_of_lanes: Iterable[Arrays],
    precision: str,
    reference: Reference,
    model: ExportedModel,
    tolerance: float | None,
) -> Check:
    """The worst lane's errors.

    Outputs are right if those of all lanes agree with one reference; the errors are from the
    first such, else from the nearest. `tolerance` None is that of the executed type, `precision`,
    or of the graph's narrowest, whichever is coarser: an engine may compute a narrow graph in a
    wider type.
    """
    types = {*precision.split("+"), model.narrowest}
    if model.precision == "bf16":
        types.add("bf16 tensors")
    limit = tolerance_of(types, model.depth, model.outputs) if tolerance is None else tolerance
    steps, scale = "int8" in types, scale_of(reference.inputs)
    reference_names, random = reference.by or (model.reference,), set(model.random_outputs)
    expected = {
        name: {output: array for output, array in arrays.items() if output not in random}
        for name, arrays in {reference_names[0]: reference.outputs, **reference.others}.items()
    }
    checks: dict[str, list[Check]] = {name: [] for name in expected}
    for number, outputs in enumerate(outputs_of_lanes):
        for name, reference_outputs in expected.items():
            comparison = compare(outputs, reference_outputs, name, limit, steps, scale)
            checks[name].append(replace(comparison, lane=number))
    # One that vouches for some of the outputs is no support, and counts where it dissents.
    whole = {
        name: worst(lane_checks)
        for name, lane_checks in checks.items()
        if not any(expected[name].keys() < other.keys() for other in expected.values())
    }
    agreeing = [name for name, check in whole.items() if check.output_ok]
    nearest = min(whole.values(), key=lambda check: (not check.output_ok, check.max_rel_error))
    return replace(
        whole[agreeing[0]] if agreeing else nearest,
        references=(
            *reference_names,
            *(n for n in reference.others if n in whole or not worst(checks[n]).output_ok),
        ),
        agrees_with=(
            *(reference_names if reference_names[0] in agreeing else ()),
            *(n for n in agreeing if n != reference_names[0]),
        ),
        missing=reference.missing,
        disagreements=reference.disagreements,
    )


def worst(checks: Iterable[Check]) -> Check:
    """The one that is farthest off, a wrong one before any other; with what all agree with."""
    checks = list(checks)
    return replace(
        max(checks, key=lambda check: (not check.output_ok, check.max_rel_error)),
        agrees_with=common(check.agrees_with for check in checks),
    )


def common(agreeing: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The references that are in each of these, in the order of the first."""
    first, *rest = agreeing
    return tuple(name for name in first if all(name in names for names in rest))


def outputs_of(lanes: Iterable[Lane], inputs: Mapping[str, np.ndarray]) -> Iterator[Arrays]:
    """Those of each lane in turn: it is bound, its output buffers are poisoned, and it runs once.
    Leaves the inputs bound."""
    for lane in lanes:
        lane.enter()
        lane.bind(inputs)
        lane.poison()
        lane.run()
        yield lane.outputs()


def compare(
    actual: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    reference: str,
    tolerance: float,
    steps: bool = False,
    inputs_scale: float = 1.0,
) -> Check:
    """The worst output's errors; a missing, misshapen or non-finite output is infinitely wrong.

    `tolerance` and `steps` are as of a `Bound`; `inputs_scale` measures outputs of which every
    expected value is zero.
    """
    bound = Bound(tolerance, steps)
    worst = Check(reference, 0.0, 0.0, 1.0, tolerance, True)
    nans = []
    for name, reference_output in expected.items():
        deviation = difference(actual.get(name), reference_output, inputs_scale)
        if deviation.nans:
            nans.append(name)
        check = Check(
            reference,
            deviation.absolute,
            deviation.relative,
            deviation.cosine,
            tolerance,
            bound.holds(deviation, reference_output),
            name,
            unequal=deviation.unequal / max(reference_output.size, 1)
            if bound.is_exact(reference_output)
            else None,
        )
        if (not check.output_ok, check.max_rel_error) >= (not worst.output_ok, worst.max_rel_error):
            worst = replace(check, cosine=min(check.cosine, worst.cosine))
    return replace(worst, nans=tuple(nans))


def mismatch_text(check: Check, lanes: int) -> str:
    """One sentence about a check that failed."""
    place = f" of session {check.lane + 1} of {lanes}" if lanes > 1 else ""
    place = f" at batch {check.batch}" if check.batch else place
    place = f" at {check.shape}" if check.shape else place
    reference_text = f"the {check.reference} reference"
    if check.disagreements:
        reference_text = f"every reference, from the nearest ({check.reference})"
    prefix = f"output {check.worst_output!r}{place} differs from {reference_text}"
    if check.unequal is not None:
        return (
            f"{prefix} in {100 * check.unequal:.3g} % of its elements, and integers must be equal"
        )
    if isinf(check.max_abs_error):
        return f"{prefix}: one is missing, of another shape, NaN or infinite where the other is not"
    return (
        f"{prefix} by {check.max_rel_error:.2g} of its largest value, "
        f"and {check.tolerance:.2g} is allowed"
    )
