"""Input data from a seed or from examples, each tensor by its dtype, shape and range; and data in
a precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from exporters.types import TEXT, Precision, TensorSpec

Arrays = Mapping[str, np.ndarray]
NO_EXAMPLES: Arrays = {}
WORDS = ("alpha", "beta", "gamma", "delta")
"""What texts are drawn from where the graph compares them with none of its own."""
_LARGEST_BF16 = (2.0 - 2.0**-7) * 2.0**127
"""A graph in bf16 takes float32 and casts it, which makes infinity of more than this."""


def seeded_inputs(
    specs: Sequence[TensorSpec], axes: Mapping[str, int], seed: int, examples: Arrays = NO_EXAMPLES
) -> dict[str, np.ndarray]:
    """One array for each spec at this point of the axes; the same for the same arguments.

    What has an example is the example, repeated or cut along the axes. Other floats are
    standard normal, or uniform in [low, high) where the spec bounds them; integers are uniform
    in [low, high), booleans and unbounded integers in {0, 1}; texts are from the spec's words.
    """
    rng = np.random.default_rng(seed)
    return {
        spec.name: _fitted(examples[spec.name], spec.shape_at(axes))
        if spec.name in examples
        else _draw(spec, axes, rng)
        for spec in specs
    }


def _fitted(example: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The example with its entries repeated, or cut off, in each dimension of another size.

    Always a copy: a module may write to what it is given.
    """
    example = example.copy()
    for position, size in enumerate(shape):
        if example.shape[position] != size:
            example = example.take(np.arange(size) % example.shape[position], position)
    return example


def _draw(spec: TensorSpec, axes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray:
    dtype, shape = np.dtype(spec.dtype), spec.shape_at(axes)
    if spec.dtype == TEXT:
        words = np.array(spec.words or WORDS)
        if spec.count_up:
            return np.resize(words, shape)
        return words[rng.integers(0, len(words), shape)]
    offset = sum(axes[size] if isinstance(size, str) else size for size in spec.offset)
    if spec.count_up:
        length = shape[-1] if shape else 1
        counted = (np.arange(length) + offset) % int(spec.high or max(length + offset, 1))
        return np.broadcast_to(counted.astype(dtype).reshape(shape[-1:]), shape).copy()
    if spec.low is None or spec.high is None:
        values = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
    elif dtype.kind == "f":
        values = rng.uniform(spec.low, spec.high, shape)
    else:
        values = rng.integers(int(spec.low), int(spec.high), shape) + offset
    return np.asarray(values, dtype)


def cast_specs(specs: Sequence[TensorSpec], precision: Precision) -> tuple[TensorSpec, ...]:
    """A graph's inputs or outputs in this precision: float16 for float32 in fp16."""
    return tuple(
        replace(spec, dtype="float16") if precision == "fp16" and spec.dtype == "float32" else spec
        for spec in specs
    )


def cast_inputs(
    arrays: Mapping[str, np.ndarray], specs: Sequence[TensorSpec], precision: Precision = "fp32"
) -> dict[str, np.ndarray]:
    """Arrays in the dtypes of the specs, for a graph in this precision; a float that is finite
    stays finite in it."""
    return {spec.name: _cast(arrays[spec.name], spec, precision) for spec in specs}


def limited_inputs(
    arrays: Mapping[str, np.ndarray], specs: Sequence[TensorSpec], precision: Precision
) -> tuple[str, ...]:
    """The inputs of which `cast_inputs` limits finite values."""
    return tuple(
        spec.name for spec in specs if _overflows(arrays[spec.name], largest_of(spec, precision))
    )


def largest_of(spec: TensorSpec, precision: Precision) -> float:
    """The largest finite number that a graph in this precision holds of a floating-point input;
    infinite for another."""
    dtype = np.dtype(spec.dtype)
    if dtype.kind != "f":
        return np.inf
    narrowed = precision == "bf16" and dtype == np.float32
    return _LARGEST_BF16 if narrowed else float(np.finfo(dtype).max)


def _overflows(array: np.ndarray, largest: float) -> bool:
    if array.dtype.kind != "f" or float(np.finfo(array.dtype).max) <= largest:
        return False
    return bool((np.isfinite(array) & (np.abs(array) > largest)).any())


def _cast(array: np.ndarray, spec: TensorSpec, precision: Precision) -> np.ndarray:
    """The lowest float32, with which attention is masked, would be minus infinity in float16, and
    in bfloat16 too."""
    largest = largest_of(spec, precision)
    if _overflows(array, largest):
        array = np.where(np.isfinite(array), np.clip(array, -largest, largest), array)
    return array.astype(np.dtype(spec.dtype))
