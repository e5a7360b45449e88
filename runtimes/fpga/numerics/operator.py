"""Kernels: how one is made and found for each ONNX operator, and rounding to bfloat16."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from runtimes.fpga.graph.graph import AttributeValue, Node

_HALF = np.uint32(0x7FFF)
_KEPT_BITS = np.uint32(0xFFFF0000)
_UNIT_BIT = np.uint32(1)
_SHIFT = np.uint32(16)

LARGEST = np.float32((2 - 2**-7) * 2.0**127)
"""The largest finite bf16."""


def finite_bf16(array: np.ndarray | np.float32) -> np.ndarray:
    """As `round_bf16`, but what is finite stays finite: the lowest float32, with which attention
    is masked, becomes the lowest bf16."""
    rounded_array = round_bf16(array)
    return np.where(np.isfinite(array), np.clip(rounded_array, -LARGEST, LARGEST), rounded_array)


def round_bf16(values: np.ndarray | np.float32) -> np.ndarray:
    """The nearest bf16 of each value, ties to even, as a new float32 array of that shape.

    Values beyond the largest bf16 become infinite; NaN stays NaN.
    """
    single = np.ascontiguousarray(values, np.float32)
    bits = single.view(np.uint32)
    rounded_bits = bits >> _SHIFT
    rounded_bits &= _UNIT_BIT
    rounded_bits += _HALF
    rounded_bits += bits
    rounded_bits &= _KEPT_BITS
    result = rounded_bits.view(np.float32).reshape(np.shape(values))
    # The carry can run from a NaN's payload into its exponent and sign.
    nan = np.isnan(single)
    if nan.any():
        result[nan.reshape(result.shape)] = np.nan
    return result


Kernel = Callable[..., np.ndarray | tuple[np.ndarray, ...]]
"""Takes the node's inputs by position (None where absent), gives its outputs in float32."""

NEWEST_OPSET = 26
"""The last opset whose operators the makers were written for."""


class Refused(Exception):
    """Why a node can't be computed on the card, as the end of a sentence about the node."""


@dataclass(frozen=True, slots=True)
class Call:
    """A node as its maker sees it; shapes and constants are by input position.

    `constants` holds None for a tensor that only arrives at run time; both hold None for
    an input that is not there.
    """

    node: Node
    shapes: tuple[tuple[int, ...] | None, ...]
    constants: tuple[np.ndarray | None, ...]
    output_shapes: tuple[tuple[int, ...], ...]

    @property
    def since(self) -> int:
        return self.node.since_version

    def has(self, index: int) -> bool:
        """Whether the optional input at `index` is there."""
        return index < len(self.node.inputs) and bool(self.node.inputs[index])

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of a required input."""
        shape = self.shapes[index] if index < len(self.shapes) else None
        if shape is None:
            raise Refused(f"its input {index} is missing")
        return shape

    def constant(self, index: int, label: str) -> np.ndarray | None:
        """An input that must be known before the run; None if it is not there."""
        if not self.has(index):
            return None
        array = self.constants[index]
        if array is None:
            raise Refused(f"its {label} is no constant")
        return array

    def attribute(self, name: str, default: AttributeValue | None = None) -> AttributeValue | None:
        return self.node.attributes.get(name, default)

    def integer(self, name: str, default: int) -> int:
        return int(cast(int, self.attribute(name, default)))

    def number(self, name: str, default: float) -> np.float32:
        return np.float32(cast(float, self.attribute(name, default)))

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list attribute; None if it is not given."""
        return self.node.integers(name)

    def text(self, name: str, default: str) -> str:
        return str(self.attribute(name, default))

    def axis(self, default: int) -> int:
        """The attribute `axis` of the first input, counted from the front."""
        rank = len(self.shape(0))
        axis = self.integer("axis", default)
        if not -rank <= axis < max(rank, 1):
            raise Refused(f"its axis {axis} is outside of {rank} dimensions")
        return axis % rank if rank else 0

    def integers_or_input(self, name: str, index: int) -> tuple[int, ...] | None:
        """A list that older opsets give as an attribute and newer ones as a constant input."""
        integers = self.integers(name)
        if integers is not None:
            return integers
        array = self.constant(index, name)
        return None if array is None else tuple(int(v) for v in np.ravel(array))


Maker = Callable[[Call], Kernel]


@dataclass(frozen=True, slots=True)
class Operator:
    """A maker with the first version of the operator that it holds for.

    `exact` says that outputs hold nothing but values that need no rounding; such an operator
    takes masks too, where ONNX's does. `indices` are the input positions that may hold
    integers which only arrive at run time.
    """

    make: Maker
    oldest: int
    exact: bool
    indices: tuple[int, ...]


OPERATORS: dict[str, Operator] = {}


def operator(
    *names: str, oldest: int = 1, exact: bool = False, indices: tuple[int, ...] = ()
) -> Callable[[Maker], Maker]:
    """Enter a maker for the ONNX operators called `names`."""

    def enter(make: Maker) -> Maker:
        for name in names:
            OPERATORS[name] = Operator(make, oldest, exact, indices)
        return make

    return enter
