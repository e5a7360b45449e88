"""Outputs against the stored references, with the tolerance of the arithmetic that made them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import isinf

import numpy as np

from app.cases.round import Check
from exporters.agreement import (
    LOST,
    MOST_LOST,
    ROUNDING,
    RUNGS,
    Bound,
    compared,
    difference,
    is_permitted_choice,
    scale_of,
    step_of,
    tolerance_of,
)
from exporters.types import (
    EVALUATED,
    NO_LEEWAY,
    PACKAGED,
    Disagreement,
    ExportedModel,
    Leeway,
    Reference,
    Silence,
)
from runtimes.base import Arrays, Lane

_FAMILIES = {
    "ort": "ONNX Runtime",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "tensorrt": "TensorRT",
    "nvtensorrt": "TensorRT",
    "torch": "PyTorch",
}
"""How a word of a runtime's or a reference's name begins, and whose graph code or kernels that is.
What is not here, as packaged data and ONNX's evaluator, stands alone."""


_TORCH = frozenset({"PyTorch"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """`is_disputed`: right, though references contradict it that could not be put down as wrong;
    `only_own`: right by the engine's own references alone."""

    is_right: bool
    is_disputed: bool = False
    only_own: bool = False


def families(name: str) -> frozenset[str]:
    """Those of a runtime, with its device, or of a reference: an execution provider has two."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    found = {family for key, family in _FAMILIES.items() for word in words if word.startswith(key)}
    return frozenset(found or {name})


def verdict(
    agreements: Mapping[str, bool],
    conflicts: Iterable[Disagreement],
    runtime: str,
    is_integer: bool,
) -> Verdict:
    """Of the outputs of a runtime, from whether each reference agrees with them.

    One independent reference is enough to acquit; a second opinion against it, of two that agree
    with each other, leaves them disputed. Without one they are wrong if two references that agree
    contradict them, the own one included, or what the model's makers say (packaged data, the torch
    module), or the own reference where there is no other, or ONNX's evaluator in integer
    arithmetic, which has one answer. `conflicts` are the references that disagree.
    """
    own = families(runtime)
    independent = [name for name in agreements if not families(name) & own]
    against = [name for name, agrees in agreements.items() if not agrees]
    apart = {frozenset((conflict.first, conflict.second)) for conflict in conflicts}
    has_second_opinion = any(frozenset(pair) not in apart for pair in combinations(against, 2))
    if any(agreements[name] for name in independent):
        return Verdict(True, is_disputed=has_second_opinion)
    is_wrong = has_second_opinion or any(
        _decides(name, independent, is_integer) for name in against
    )
    if is_wrong:
        return Verdict(False)
    return Verdict(True, is_disputed=bool(against), only_own=len(against) < len(agreements))


def _decides(name: str, independent: Collection[str], is_integer: bool) -> bool:
    """Whether a reference that contradicts outputs is enough, where no independent one supports
    them."""
    return (
        name == PACKAGED
        or families(name) == _TORCH
        or (not independent)
        or (is_integer and name == EVALUATED)
    )


@dataclass(frozen=True, slots=True)
class Allowances:
    """What the graph says of its outputs.

    `range_steps` has those whose range is known beforehand, with a step of it: a slice below that
    has nothing to lose.
    """

    range_steps: Mapping[str, float] = field(default_factory=dict)
    leeway: Leeway = NO_LEEWAY


NO_ALLOWANCES = Allowances()


_SLICE_FACTOR = 1000.0
"""The largest value of an output is some tens of times the root mean square of a slice, and fast
convolutions are off by some tens of units more in one."""


def check_lanes(
    lanes: Iterable[Lane],
    precision: str,
    reference: Reference,
    model: ExportedModel,
    tolerance: float | None,
    runtime: str = "",
) -> Check:
    """The worst lane's errors: each is run once, as by `outputs_of`, and compared."""
    outputs = outputs_of(lanes, reference.inputs)
    return check_outputs(outputs, precision, reference, model, tolerance, runtime)


def check_outputs(
    outputs_of_lanes: Iterable[Arrays],
    precision: str,
    reference: Reference,
    model: ExportedModel,
    tolerance: float | None,
    runtime: str = "",
) -> Check:
    """The worst lane's errors, and whether they are right (`verdict`).

    A reference agrees if the outputs of all lanes do; the errors are from the first such, an
    independent one before others, else from the nearest. `tolerance` None is that of the executed
    type, `precision`, or of the graph's narrowest, whichever is coarser: an engine may compute a
    narrow graph in a wider type. `runtime` is whose outputs they are.
    """
    types = {*precision.split("+"), model.narrowest}
    if model.precision == "bf16":
        types.add("bf16 tensors")
    limit = tolerance
    if limit is None:
        limit = tolerance_of(types, model.depth, model.outputs, reference.rounding)
    steps, scale = "int8" in types, scale_of(reference.inputs)
    allowances = Allowances(
        dict.fromkeys(model.bounded_outputs, step_of(types)),
        reference.leeway,
    )
    reference_names, random = reference.by or (model.reference,), set(model.random_outputs)
    expected = {
        name: {output: array for output, array in arrays.items() if output not in random}
        for name, arrays in {reference_names[0]: reference.outputs, **reference.others}.items()
    }
    checks: dict[str, list[Check]] = {name: [] for name in expected}
    for number, outputs in enumerate(outputs_of_lanes):
        for name, reference_outputs in expected.items():
            comparison = compare(outputs, reference_outputs, name, limit, steps, scale, allowances)
            checks[name].append(replace(comparison, lane=number))
    # One that vouches for some of the outputs is no support, and counts where it dissents.
    whole = {
        name: worst(lane_checks)
        for name, lane_checks in checks.items()
        if not any(expected[name].keys() < other.keys() for other in expected.values())
    }
    dissenting = [n for n in checks if n not in whole and not worst(checks[n]).output_ok]
    agreeing, own = [name for name, check in whole.items() if check.output_ok], families(runtime)
    shown = min(
        whole.values(),
        key=lambda check: (
            not check.output_ok,
            0.0 if check.output_ok else check.max_rel_error,
            bool(families(check.reference) & own),
        ),
    )
    # Those that are one with the first agree where it does.
    agreements = dict.fromkeys(reference_names, reference_names[0] in agreeing)
    agreements |= {name: name in agreeing for name in (*whole, *dissenting)}
    outcome = verdict(agreements, reference.disagreements, runtime, model.is_integer)
    return replace(
        shown,
        output_ok=outcome.is_right,
        only_own=outcome.only_own,
        disputed=outcome.is_disputed,
        references=tuple(agreements),
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
        only_own=any(check.only_own for check in checks),
        disputed=any(check.disputed for check in checks),
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
    allowances: Allowances = NO_ALLOWANCES,
) -> Check:
    """The worst output's errors; a missing, misshapen or non-finite output is infinitely wrong.

    `tolerance` and `steps` are as of a `Bound`; `inputs_scale` measures outputs of which every
    expected value is zero.
    """
    bound = Bound(tolerance, steps)
    worst = Check(reference, 0.0, 0.0, 1.0, tolerance, True)
    nans: list[str] = []
    silent: dict[str, Silence] = dict(allowances.leeway.silent)
    for name, expected_array in expected.items():
        array = actual.get(name)
        is_quantised = steps and expected_array.dtype.kind == "f"
        if is_quantised and array is not None and array.shape == expected_array.shape:
            # No integer stands for NaN: what it becomes in a quantised graph is not defined.
            array = np.where(np.isnan(expected_array), expected_array, array)
        deviation = difference(array, expected_array, inputs_scale)
        if not bound.holds(deviation, expected_array):
            array, excused = with_leeway(array, expected_array, name, tolerance, allowances.leeway)
            deviation = difference(array, expected_array, inputs_scale)
            if excused:
                silent[name] = excused
        elif silent.get(name) == "undefined":
            del silent[name]
        if deviation.nans:
            nans.append(name)
        if deviation.nans == expected_array.size:
            silent[name] = "empty"
        check = Check(
            reference,
            deviation.absolute,
            deviation.relative,
            deviation.cosine,
            tolerance,
            bound.holds(deviation, expected_array),
            name,
            unequal=deviation.unequal / max(expected_array.size, 1)
            if bound.is_exact(expected_array)
            else None,
        )
        if array is not None and check.output_ok and expected_array.dtype.kind in "fc":
            check = with_slices(check, array, expected_array, allowances.range_steps.get(name, 0.0))
        if (not check.output_ok, check.max_rel_error) >= (not worst.output_ok, worst.max_rel_error):
            worst = replace(check, cosine=min(check.cosine, worst.cosine))
    # One that never changes, beside others that do, is a constant of the graph.
    if not expected.keys() <= silent.keys():
        silent = {name: why for name, why in silent.items() if why != "same"}
    silent = {name: why for name, why in silent.items() if name in expected}
    return replace(worst, nans=tuple(nans), silent=silent)


def with_leeway(
    actual: np.ndarray | None, expected: np.ndarray, name: str, tolerance: float, leeway: Leeway
) -> tuple[np.ndarray | None, Silence | None]:
    """An output that is off, with what is expected wherever it may differ, and why nothing of it
    is left to compare.

    Indices may differ where the values that they choose are within the tolerance of each other,
    what follows from other decisions where it changes at the tolerance, and all of it where ONNX
    leaves it open.
    """
    if leeway.silent.get(name) == "undefined":
        return expected, "undefined"
    if actual is None:
        return None, None
    values = leeway.candidates.get(name)
    if values is not None:
        axis = leeway.axes.get(name)
        is_permitted = is_permitted_choice(actual, expected, values, axis, tolerance)
        return (expected if is_permitted else actual), None
    first_rungs = leeway.unsettled.get(name)
    if first_rungs is None:
        return actual, None
    may_change = first_rungs < sum(rung <= tolerance for rung in RUNGS)
    if may_change.all():
        return expected, "unsettled"
    if may_change.shape != actual.shape:
        return actual, None
    return np.where(may_change, expected, actual), None


def with_slices(check: Check, actual: np.ndarray, expected: np.ndarray, step: float) -> Check:
    """The check of a float output, after each of its slices has been judged by its own scale.

    In float32 no slice may be off by more than a thousand times what the largest value may, at
    lowered precision one in ten may be lost (`slices.LOST`); a larger tolerance holds for slices
    too.
    """
    scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    found = compared(actual, expected, max(ROUNDING * scale, step))
    if found is None:
        return check
    limit = max(min(LOST, _SLICE_FACTOR * check.tolerance), check.tolerance)
    is_wrong = found.lost > MOST_LOST if limit >= LOST else found.error > limit
    if check.tolerance > LOST:
        is_wrong = found.error > limit
    return replace(
        check,
        output_ok=not is_wrong,
        slice=found.place,
        slice_error=found.error,
        slices_lost=found.lost,
    )


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
    if check.max_rel_error <= check.tolerance:
        return (
            f"{prefix} by {check.slice_error:.2g} of its own scale at {check.slice}; "
            f"{100 * check.slices_lost:.3g} % of the slices along an axis are lost"
        )
    return (
        f"{prefix} by {check.max_rel_error:.2g} of its largest value, "
        f"and {check.tolerance:.2g} is allowed"
    )
