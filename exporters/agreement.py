"""Comparison of outputs with expected ones, whole and by slices, and of a model's references with
each other.

A slice is judged by its own scale: beside large values one of small ones is lost unseen. Its error
is the root of the normalised mean square error, sqrt(sum (a-b)^2 / sum b^2); -20 log10 of it is the
signal to quantisation noise ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import sqrt

import numpy as np

from exporters.types import EVALUATED, UNOPTIMISED, Disagreement, Reference, TensorSpec, first_line

TOLERANCE: dict[str, float] = {
    "fp32": 1e-4,
    "tf32": 5e-3,
    "fp16": 1e-2,
    "bf16": 2e-2,
    "int8": 1e-1,
    "fp8": 2.0**-2,
    "bf16 tensors": 8e-2,
}
"""Largest accepted max|a-b| / max|b| by type; above each lies what a few products in it round off:
units in the last place of 2^-24, 2^-11, 2^-11, 2^-8, steps of 1 in 255, and 2^-3. What stores in
bf16 all that lies between its products too has eight times fp16's, as its units are."""
_BY_DEPTH = {"bf16": 2.0**-8, "fp8": 2.0**-2}
"""What one product may be off by in a row of many: one and two distances of neighbours in E8M7 and
E4M3, relative to the smaller."""
_MOST = 0.5
"""Outputs of zeros are off by 1: what may be off by more than half of that is hardly checked."""
_PART = 2**18
_SMALLEST_NORMAL = {"float32": 2.0**-126, "float64": 2.0**-1022}
_ZERO = 2.0**-72
"""What an output of zeros is measured by, times its inputs' scale: float32 rounded three times."""


_ROUNDED_TO = {
    "float16": "fp16",
    "bfloat16": "bf16",
    **dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"), "fp8"),
}
"""The types of outputs that are coarser than what they may be computed in."""


_AMPLIFIED = ("tf32", "fp16", "bf16")
_USUAL_ROUNDING = TOLERANCE["fp16"] * 2.0**-13
"""What float32 references may be apart where fp16's tolerance holds: its units are 2^13 larger."""


def tolerance_of(
    types: Iterable[str], depth: int, outputs: Iterable[TensorSpec], rounding: float = 0.0
) -> float:
    """What outputs may be off by: of the coarsest of the types that they were computed in.

    An output in float16 has 11 bits of mantissa, whatever it was computed in, in bfloat16 8 and in
    float8 3 or 4. The errors of `depth` products in a row are independent and add up to the root of
    their number (N. Higham and T. Mary, A new approach to probabilistic rounding error analysis,
    2019), so that deep graphs are given 2^-8 sqrt(depth) in bf16, 2^-2 sqrt(depth) in fp8 (E4M3),
    where that is more, and never more than 0.5. The other types' bounds are above theirs at any
    depth that there is. Types that are not known count for nothing.

    Some networks amplify what is rounded off, in each precision by the same factor, and the
    references in float32 show it: they are `rounding` apart (`Reference`). Where that is more than
    2^-13 of fp16's tolerance, those of tf32, fp16 and bf16 grow by the same ratio. References that
    are one differ by `AS_ONE` at most, so it is 8.2 at most.

    No factor bounds a rounded sum relative to its value, since terms cancel; it has a distribution.
    A number is rounded by an even share of its distance d to its neighbour, so by d / sqrt(12) in
    the root mean square, and d is 2^-3 of 1 to 2 in fp8: with significands as they are in Benford's
    law, E[1/m^2] = 0.541 and the error is 0.0265 of the number. A product has two such operands and
    a sum of products with random signs the same share of its own spread: 0.0375. The largest error
    of n outputs is compared with the largest of them. Both are maxima of n normal values, and the
    former exceeds t times the latter with a probability that falls with (0.0375 / t)^n. With
    t = 2^-3, the distance itself, a right engine is called wrong in 2.4 % of products with 4
    outputs and in 0.14 % with 10; with 2^-2 in 0.19 % and 4 in a million. A graph with fewer
    outputs needs --tolerance. bf16 has 2 x 2^-8 or more in the same way up to a depth of 6.
    """
    type_names = {*types, *(_ROUNDED_TO.get(spec.element or spec.dtype, "") for spec in outputs)}
    growth = max(1.0, rounding / _USUAL_ROUNDING)
    tolerances = [
        TOLERANCE[name] * (growth if name in _AMPLIFIED else 1.0)
        for name in type_names
        if name in TOLERANCE
    ]
    deep = [share * sqrt(depth) for name, share in _BY_DEPTH.items() if name in type_names]
    return min(_MOST, max([TOLERANCE["fp32"], *deep, *tolerances]))


_STEPS = {"tf32": 2.0**-10, "fp16": 2.0**-10, "bf16": 2.0**-7, "int8": 1 / 255, "fp8": 2.0**-3}


def step_of(types: Iterable[str]) -> float:
    """A step of a range of 1 in the coarsest of these types; 0 of those with finer ones."""
    return max((_STEPS[name] for name in types if name in _STEPS), default=0.0)


@dataclass(frozen=True, slots=True)
class Difference:
    """One output: max|a-b|, that over max|b|, their cosine, and the elements that are not equal.

    `nans` are the elements that are NaN on both sides, which is equal, `steps_off` those off by
    more than 1. A missing or misshapen output, and one that is finite where the other is not, is
    infinitely far.
    """

    absolute: float
    relative: float
    cosine: float
    unequal: int
    nans: int = 0
    steps_off: int = 0


_STEPS_OFF = 0.05


@dataclass(frozen=True, slots=True)
class Bound:
    """How far one set of outputs may be from another.

    Integers, booleans and texts must be equal: they are indices, masks and classes. With `steps`,
    integers of 8 bits are numbers that a quantised graph has rounded: at most one in twenty may be
    off by more than a step.
    """

    tolerance: float
    steps: bool = False

    def is_exact(self, expected: np.ndarray) -> bool:
        """Whether each element of this output must be equal."""
        return expected.dtype.kind in "iubU" and not (self.steps and expected.dtype.itemsize == 1)

    def holds(self, distance: Difference, expected: np.ndarray) -> bool:
        """Whether an output with this difference from `expected` is within the bound."""
        if self.is_exact(expected):
            return not distance.unequal
        is_stepped = expected.dtype.kind in "iu" and distance.steps_off > _STEPS_OFF * expected.size
        return distance.relative <= self.tolerance and not is_stepped


def scale_of(inputs: Mapping[str, np.ndarray]) -> float:
    """The largest magnitude among floating-point inputs, 1 where that says nothing."""
    largest = 0.0
    for array in inputs.values():
        if array.dtype.kind not in "fc":
            continue
        flat = array.ravel()
        for start in range(0, flat.size, _PART):
            magnitudes = np.abs(flat[start : start + _PART])
            finite = magnitudes[np.isfinite(magnitudes)]
            largest = max(largest, float(np.max(finite, initial=0.0)))
    return largest or 1.0


def _difference_of_texts(actual: np.ndarray, expected: np.ndarray) -> Difference:
    if actual.dtype.kind != expected.dtype.kind:
        return Difference(np.inf, np.inf, 0.0, expected.size)
    unequal = int((actual != expected).sum())
    return Difference(float(unequal > 0), float(unequal > 0), float(unequal == 0), unequal)


def difference(
    actual: np.ndarray | None, expected: np.ndarray, inputs_scale: float = 1.0
) -> Difference:
    """Of two arrays of one shape, in double precision; integers are compared exactly.

    A difference below the smallest normal number of float32, or of float64, is none, since
    engines may flush such values to zero. Where every expected value is zero, the error is
    relative to 2^-72 of `inputs_scale`: with inputs of 1, 1e-30 passes for zero, and 1e-20 does
    not.
    """
    if actual is None or actual.shape != expected.shape:
        return Difference(np.inf, np.inf, 0.0, expected.size)
    if "U" in (actual.dtype.kind, expected.dtype.kind):
        return _difference_of_texts(actual, expected)
    kind = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
    absolute = scale = product = square_a = square_b = 0.0
    unequal, nans, steps_off, is_infinite = 0, 0, 0, False
    flat_a, flat_b = actual.ravel(), expected.ravel()
    for start in range(0, flat_b.size, _PART):
        part_a, part_b = flat_a[start : start + _PART], flat_b[start : start + _PART]
        a, b = part_a.astype(kind), part_b.astype(kind)
        both_nan = np.isnan(a) & np.isnan(b)
        differs = ~((part_a == part_b) | both_nan)
        nans += int(both_nan.sum())
        unequal += int(differs.sum())
        is_infinite |= not (np.isfinite(a[differs]).all() and np.isfinite(b[differs]).all())
        finite = np.isfinite(b) & np.isfinite(a)
        a, b = a[finite], b[finite]
        steps_off += int((np.abs(a - b) > 1.0).sum())
        absolute = max(absolute, float(np.max(np.abs(a - b), initial=0.0)))
        scale = max(scale, float(np.max(np.abs(b), initial=0.0)))
        product += float(np.vdot(b, a).real)
        square_a += float(np.vdot(a, a).real)
        square_b += float(np.vdot(b, b).real)
    if is_infinite:
        return Difference(np.inf, np.inf, 0.0, unequal, nans)
    if absolute == 0.0:
        return Difference(0.0, 0.0, 1.0, unequal, nans)
    norms = float(np.sqrt(square_a) * np.sqrt(square_b))
    cosine = product / norms if norms else 0.0
    relative = absolute / (scale or _ZERO * inputs_scale)
    if absolute < _SMALLEST_NORMAL.get(expected.dtype.name, 0.0):
        relative = 0.0
    return Difference(absolute, relative, cosine, unequal, nans, steps_off)


Arrays = Mapping[str, np.ndarray]
Outputs = Mapping[str, Arrays]
"""By the name of a reference."""
NO_OUTPUTS: Outputs = {}
Node = tuple[str, str]
"""A node's name and its operator."""

RUNGS = tuple(sorted({*TOLERANCE.values(), _MOST}))
"""The tolerances that rows have by themselves."""
AS_ONE = TOLERANCE["fp32"] / 10
"""References that differ by no more are one: a tenth of the least that any row is allowed."""


@dataclass(frozen=True, slots=True)
class Computed:
    """Outputs by reference, in the order of preference, and why others could not be had.

    A reference that lacks some of the outputs stands behind one that has them all.
    """

    outputs: Outputs
    missing: Mapping[str, str] = field(default_factory=dict)


def reconciled(
    inputs: Arrays,
    references: Computed,
    bound: Bound,
    first_difference: Callable[[], Node | None],
) -> Reference:
    """The references as one value; `first_difference` is asked for the node where ONNX's evaluator
    and ONNX Runtime part, if these two differ by more than the bound allows."""
    names = list(references.outputs)
    first, scale = names[0], scale_of(inputs)
    close_bound = Bound(min(AS_ONE, bound.tolerance))
    disagreements = []
    for left_name, other in combinations(names, 2):
        conflict = disagreement(left_name, other, references.outputs, bound, scale)
        if conflict is not None:
            if {left_name, other} == {EVALUATED, UNOPTIMISED}:
                conflict = _locate_node(conflict, first_difference)
            disagreements.append(conflict)
    equal = tuple(
        name
        for name in names
        if name == first
        or (
            references.outputs[name].keys() == references.outputs[first].keys()
            and disagreement(name, first, references.outputs, close_bound, scale) is None
        )
    )
    return Reference(
        inputs,
        references.outputs[first],
        equal,
        {name: references.outputs[name] for name in names if name not in equal},
        references.missing,
        tuple(disagreements),
        rounding=max(
            (
                difference(references.outputs[name][output], array, scale).relative
                for name in equal[1:]
                for output, array in references.outputs[first].items()
                if array.dtype.kind == "f"
            ),
            default=0.0,
        ),
    )


def is_permitted_choice(
    actual: np.ndarray,
    expected: np.ndarray,
    values: np.ndarray,
    axis: int | None,
    tolerance: float,
) -> bool:
    """Whether each index that differs chooses a value within the tolerance of the expected one.

    `values` are [places, values]; with `axis`, both arrays have several indices along it.
    """
    if actual.shape != expected.shape or actual.dtype.kind not in "iu":
        return False
    if axis is not None:
        actual, expected = np.moveaxis(actual, axis, -1), np.moveaxis(expected, axis, -1)
    if expected.size % max(len(values), 1):
        return False
    rows = [array.reshape(len(values), -1).astype(np.int64) for array in (actual, expected)]
    if any(((row < 0) | (row >= values.shape[1])).any() for row in rows):
        return False
    first, second = (np.take_along_axis(values, row, 1).astype(np.float64) for row in rows)
    scale = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    return bool((np.abs(first - second) <= tolerance * scale).all())


def two_agree(outputs: Outputs, bound: Bound, scale: float) -> bool:
    """Whether there are two references within the bound of each other."""
    pairs = combinations(outputs, 2)
    return any(
        disagreement(left_name, other, outputs, bound, scale) is None for left_name, other in pairs
    )


def disagreement(
    left_name: str, other: str, outputs: Outputs, bound: Bound, scale: float
) -> Disagreement | None:
    """The worst output in which two references differ by more than the bound; None if none does.

    What one of them does not vouch for is passed over.
    """
    worst: tuple[float, Disagreement] | None = None
    for name, expected in outputs[other].items():
        if name not in outputs[left_name]:
            continue
        distance = difference(outputs[left_name][name], expected, scale)
        if bound.holds(distance, expected):
            continue
        relative = distance.relative if np.isfinite(distance.relative) else None
        unequal = distance.unequal / max(expected.size, 1) if bound.is_exact(expected) else None
        if worst is None or distance.relative > worst[0]:
            worst = distance.relative, Disagreement(left_name, other, name, relative, unequal)
    return None if worst is None else worst[1]


def _locate_node(found: Disagreement, first_difference: Callable[[], Node | None]) -> Disagreement:
    """With the node, or why there is none: all values of a graph can be too much to hold."""
    try:
        node = first_difference()
    except Exception as error:
        return replace(found, no_node=first_line(error))
    if node is None:
        return replace(found, no_node="no value between inputs and outputs differs so much")
    return replace(found, node=node[0], operator=node[1])


SMALLEST = 16
"""A slice of fewer elements has no scale of its own."""
LOST = 0.5
"""An error of half the signal, 6 dB: what is left says little of what was computed."""
MOST_LOST = 0.1
"""The share of slices along one axis that may be lost at lowered precision."""
ROUNDING = 2.0**-18
"""What sums of float32 round off, over the largest value of the whole output: a fast convolution
computes a small channel from sums of large terms."""
_BLOCK = 2**18


@dataclass(frozen=True, slots=True)
class Slices:
    """The slice that is farthest off, and the largest share of slices along an axis that are lost.

    `axis` is None for the whole output. `error` is infinite where there was no signal.
    """

    axis: int | None
    index: int
    error: float
    lost: float

    @property
    def place(self) -> str:
        """`axis 1, index 3`."""
        if self.axis is None:
            return "the whole output"
        return f"axis {self.axis}, index {self.index}"


def compared(actual: np.ndarray, expected: np.ndarray, floor: float) -> Slices | None:
    """Of two arrays of one shape; None where no slice says anything.

    Slices lie along every axis of size above 1, if they have `SMALLEST` elements. One whose signal
    is below `floor`, in the root mean square, has nothing to lose, and an error below it is none.
    """
    worst: Slices | None = None
    most_lost = 0.0
    for axis, errors, signals, count in _energies(actual, expected):
        audible = signals > floor**2 * count
        if not audible.any():
            continue
        heard = np.where(errors > floor**2 * count, errors, 0.0)[audible]
        shares = np.sqrt(heard / signals[audible])
        most_lost = max(most_lost, float(np.mean(shares > LOST)))
        place = int(np.argmax(shares))
        if worst is None or shares[place] > worst.error:
            index = int(np.flatnonzero(audible)[place])
            worst = Slices(axis, index, float(shares[place]), 0.0)
    return None if worst is None else Slices(worst.axis, worst.index, worst.error, most_lost)


def _energies(
    actual: np.ndarray, expected: np.ndarray
) -> Iterator[tuple[int | None, np.ndarray, np.ndarray, int]]:
    """For the whole and each axis: error and signal energy of its slices, and their elements.

    What is not finite on either side is left out.
    """
    if expected.size < SMALLEST:
        return
    axes = [
        axis
        for axis, size in enumerate(expected.shape)
        if size > 1 and expected.size // size >= SMALLEST
    ]
    errors = {axis: np.zeros(expected.shape[axis]) for axis in axes}
    signals = {axis: np.zeros(expected.shape[axis]) for axis in axes}
    total = np.zeros((2, 1))
    first = expected.reshape(expected.shape[0], -1) if expected.ndim else expected.reshape(1, 1)
    rows = max(1, _BLOCK // first.shape[1])
    for start in range(0, len(first), rows):
        part = slice(start, start + rows)
        b = expected[part].astype(np.float64) if expected.ndim else expected.astype(np.float64)
        a = actual[part].astype(np.float64) if expected.ndim else actual.astype(np.float64)
        finite = np.isfinite(a) & np.isfinite(b)
        wrong = np.where(finite, np.square(np.where(finite, a - b, 0.0)), 0.0)
        right = np.where(finite, np.square(np.where(finite, b, 0.0)), 0.0)
        total += [[wrong.sum()], [right.sum()]]
        for axis in axes:
            others = tuple(other for other in range(expected.ndim) if other != axis)
            place = part if axis == 0 else slice(None)
            errors[axis][place] += wrong.sum(axis=others)
            signals[axis][place] += right.sum(axis=others)
    yield None, total[0], total[1], expected.size
    for axis in axes:
        yield axis, errors[axis], signals[axis], expected.size // expected.shape[axis]
