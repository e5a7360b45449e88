"""Inputs and outputs that are no single array of a type of numpy, as plain arrays: element types
that numpy lacks, texts, sequences, maps.

So stored references, comparisons and digests need numpy alone. Values of an element type that it
lacks are held as the narrowest type of numpy that has all of them; an engine has their bits.

A sequence `x` becomes `x.length` and the arrays of its entries, `x[0]`, `x[1]`; a map becomes
`x.keys` and `x.values`, sorted by key; a sequence of maps has `x.lengths` beside the two, its maps
one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exporters.types import TEXT, ExportedModel, TensorSpec


@dataclass(frozen=True)
class NarrowType:
    """One type by its number in ONNX's TensorProto.DataType.

    `held_as` is numpy's type of its values. A float of 8 bits has the `exponent_bits` and the
    `bias` of its format; `has_infinity` marks formats with infinities, `is_unsigned_zero` formats
    whose only NaN has the bits of a negative zero.
    """

    number: int
    held_as: str
    bits: int
    exponent_bits: int = 0
    bias: int = 0
    has_infinity: bool = False
    is_unsigned_zero: bool = False

    @cached_property
    def values(self) -> np.ndarray:
        """The value of each pattern of at most 8 bits."""
        patterns = np.arange(2**self.bits)
        if self.held_as != "float32":
            integers = np.where(patterns >= 2 ** (self.bits - 1), patterns - 2**self.bits, patterns)
            return (integers if self.held_as == "int8" else patterns).astype(self.held_as)
        mantissa_bits = self.bits - 1 - self.exponent_bits
        sign = np.where(patterns >> (self.bits - 1), -1.0, 1.0)
        exponents = (patterns >> mantissa_bits) & (2**self.exponent_bits - 1)
        fractions = (patterns & (2**mantissa_bits - 1)) / 2.0**mantissa_bits
        normal = np.ldexp(1 + fractions, exponents - self.bias)
        values = sign * np.where(exponents, normal, np.ldexp(fractions, 1 - self.bias))
        magnitudes = patterns & (2 ** (self.bits - 1) - 1)
        if self.is_unsigned_zero:
            values[2 ** (self.bits - 1)] = np.nan
        elif self.has_infinity:
            is_last = exponents == 2**self.exponent_bits - 1
            values = np.where(is_last, np.where(fractions == 0, sign * np.inf, np.nan), values)
        else:
            values = np.where(magnitudes == 2 ** (self.bits - 1) - 1, np.nan, values)
        return np.asarray(values, self.held_as)

    @cached_property
    def _finite(self) -> tuple[np.ndarray, np.ndarray]:
        """The finite values in ascending order, and their patterns."""
        patterns = np.flatnonzero(np.isfinite(self.values))
        order = np.argsort(self.values[patterns], kind="stable")
        return self.values[patterns][order], patterns[order].astype(np.uint8)

    def round(self, array: np.ndarray) -> np.ndarray:
        """Each number's nearest value of this type; finite numbers stay finite."""
        return self._values_of(self._patterns(array)).reshape(array.shape)

    def pack(self, array: np.ndarray) -> np.ndarray:
        """The bits as an engine reads them, in an array of the same shape; of a type of less than
        8 bits the first of its bytes are in use."""
        patterns = self._patterns(array)
        if self.bits >= _BYTE:
            return patterns.reshape(array.shape)
        shares = _BYTE // self.bits
        buffer = np.zeros((-(-array.size // shares), shares), np.uint8)
        buffer.ravel()[: array.size] = patterns.ravel()
        content = np.zeros(array.size, np.uint8)
        content[: len(buffer)] = np.bitwise_or.reduce(buffer << self._shifts, axis=1)
        return content.reshape(array.shape)

    def unpack(self, content: bytes, shape: Iterable[int]) -> np.ndarray:
        """The values of bits as an engine writes them."""
        shape = tuple(shape)
        count = int(np.prod(shape))
        if self.bits < _BYTE:
            pieces = np.frombuffer(content, np.uint8)[:, None] >> self._shifts
            patterns = (pieces & (2**self.bits - 1)).ravel()[:count]
        else:
            patterns = np.frombuffer(content, np.uint16 if self.bits == 16 else np.uint8)[:count]
        return self._values_of(patterns).reshape(shape)

    @property
    def _shifts(self) -> np.ndarray:
        """The places of the values that share a byte."""
        return np.arange(0, _BYTE, self.bits, dtype=np.uint8)

    def _patterns(self, array: np.ndarray) -> np.ndarray:
        if self.bits == 16:
            return _bfloat16_patterns(array)
        values, patterns = self._finite
        numbers = np.nan_to_num(np.asarray(array, np.float64), nan=0.0)
        numbers = np.clip(numbers, float(values[0]), float(values[-1]))
        upper = np.clip(np.searchsorted(values, numbers), 1, len(values) - 1)
        is_below = numbers - values[upper - 1] < values[upper] - numbers
        nearest = patterns[np.where(is_below, upper - 1, upper)]
        if self.held_as == "float32" and np.isnan(array).any():
            nan_pattern = np.uint8(np.flatnonzero(np.isnan(self.values))[0])
            nearest = np.where(np.isnan(array), nan_pattern, nearest)
        return np.asarray(nearest, np.uint8)

    def _values_of(self, patterns: np.ndarray) -> np.ndarray:
        if self.bits == 16:
            return (patterns.astype(np.uint32) << 16).view(np.float32)
        return self.values[patterns]


def _bfloat16_patterns(array: np.ndarray) -> np.ndarray:
    """The upper halves of float32 numbers, rounded to the nearest, ties to even."""
    numbers = np.ascontiguousarray(array, np.float32)
    limit = np.float32(3.3895313892515355e38)
    finite = np.where(np.isfinite(numbers), np.clip(numbers, -limit, limit), numbers)
    words = finite.view(np.uint32)
    upper_halves = (words + 0x7FFF + ((words >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), 0x7FC0, upper_halves).astype(np.uint16)


_BYTE = 8
NARROW_TYPES = {
    "bfloat16": NarrowType(16, "float32", 16),
    "float8e4m3fn": NarrowType(17, "float32", 8, 4, 7),
    "float8e4m3fnuz": NarrowType(18, "float32", 8, 4, 8, is_unsigned_zero=True),
    "float8e5m2": NarrowType(19, "float32", 8, 5, 15, has_infinity=True),
    "float8e5m2fnuz": NarrowType(20, "float32", 8, 5, 16, is_unsigned_zero=True),
    "uint4": NarrowType(21, "uint8", 4),
    "int4": NarrowType(22, "int8", 4),
    "uint2": NarrowType(25, "uint8", 2),
    "int2": NarrowType(26, "int8", 2),
}
"""By the name of the type in ONNX, in lower case."""


def widen(array: np.ndarray) -> np.ndarray:
    """An array of one of these types, as the package ml_dtypes has them, in its type of numpy."""
    narrow = NARROW_TYPES.get(array.dtype.name.replace("_", ""))
    return array if narrow is None else array.astype(narrow.held_as)


Arrays = Mapping[str, np.ndarray]


def is_plain(spec: TensorSpec) -> bool:
    """Whether an input or output is one array of numbers of a type of numpy."""
    try:
        return not (spec.owner or spec.element) and np.dtype(spec.dtype).kind in "fiubc"
    except TypeError:
        return False


def has_only_arrays(model: ExportedModel) -> bool:
    """Whether all inputs and outputs of a model are arrays of numbers, which can be bound."""
    return all(map(is_plain, (*model.inputs, *model.outputs)))


def arrays_of(name: str, value: object) -> dict[str, np.ndarray]:
    """The plain arrays of an output as an engine returns it."""
    if value is None:  # an optional value that is absent
        return {name: np.empty(0)}
    if isinstance(value, dict):
        keys = sorted(value)
        return {
            f"{name}.keys": _array(keys),
            f"{name}.values": _array([value[key] for key in keys]),
        }
    if not isinstance(value, list):
        return {name: _array(value)}
    if value and all(isinstance(entry, dict) for entry in value):
        return _arrays_of_maps(name, value)
    arrays = {f"{name}.length": np.array(len(value))}
    for place, entry in enumerate(value):
        arrays |= arrays_of(f"{name}[{place}]", entry)
    return arrays


def values_of(specs: Iterable[TensorSpec], arrays: Arrays) -> dict[str, object]:
    """What an engine is given for each input of a graph, from the arrays by the names of `specs`.

    Arrays without a spec are passed on as they are.
    """
    owners = {spec.name: spec.owner for spec in specs if spec.owner}
    values: dict[str, object] = {n: array for n, array in arrays.items() if n not in owners}
    for name, owner in owners.items():
        if name == f"{owner}.keys":
            contents = arrays[f"{owner}.values"].tolist()
            values[owner] = dict(zip(arrays[name].tolist(), contents, strict=True))
        elif name != f"{owner}.values":
            entries = values.setdefault(owner, [])
            assert isinstance(entries, list)
            entries.append(arrays[name])
    return values


def _arrays_of_maps(name: str, maps: list[dict[object, object]]) -> dict[str, np.ndarray]:
    parts = [arrays_of("", entry) for entry in maps]
    return {
        f"{name}.lengths": np.array([len(entry) for entry in maps]),
        f"{name}.keys": np.concatenate([part[".keys"] for part in parts]),
        f"{name}.values": np.concatenate([part[".values"] for part in parts]),
    }


def _array(value: object) -> np.ndarray:
    """As numbers, or as texts of one width, which need no pickle in a file."""
    array = widen(np.asarray(value))
    return array.astype(TEXT) if array.dtype.kind in "OSU" else array
