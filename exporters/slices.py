"""Slices of an output, each judged by its own scale: beside large values a slice of small ones is
lost unseen.

The error of a slice is the root of the normalised mean square error, sqrt(sum (a-b)^2 / sum b^2);
-20 log10 of it is the signal to quantisation noise ratio.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
