"""Input data of a model: requested ranges and states, values drawn from a seed or from examples,
and their description in rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.plain_arrays import NARROW_TYPES
from exporters.types import (
    TEXT,
    Dimension,
    ExportError,
    Precision,
    Reference,
    StatePair,
    TensorSpec,
    nearest,
)

Arrays = Mapping[str, np.ndarray]
NO_EXAMPLES: Arrays = {}
SCORE, LOWER_SCORES = 0.25, (0.05, 0.01, 0.0)
"""The usual least score of what a detector finds, and what is drawn where none reaches it."""
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
        spec.name: _fit_shape(examples[spec.name], spec.shape_at(axes))
        if spec.name in examples
        else _draw(spec, axes, rng)
        for spec in specs
    }


def _fit_shape(example: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
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
    limit = min((int(_sum((size,), axes)) for size in spec.within), default=None)
    if spec.fill:
        return _fill(spec, axes, limit)
    if spec.count_up:
        offset = _sum(spec.offset, axes)
        length = shape[-1] if shape else 1
        positions = (np.arange(length) + offset) % int(spec.high or max(length + offset, 1))
        return np.broadcast_to(positions.astype(dtype).reshape(shape[-1:]), shape).copy()
    if dtype.kind == "f":
        if spec.low is None or spec.high is None:
            return np.asarray(rng.standard_normal(shape), dtype)
        return np.asarray(rng.uniform(spec.low, spec.high, shape), dtype)
    low, high = int(spec.low or 0), 2 if spec.high is None else int(spec.high)
    if limit is not None:
        high = max(limit if spec.high is None else min(high, limit), low + 1)
        if len(shape) == 1 and shape[0] == limit == high and not low:
            return np.asarray(rng.permutation(limit), dtype)  # the order of what it indexes
    return np.asarray(rng.integers(low, high, shape), dtype)


def _sum(terms: Sequence[Dimension | float], axes: Mapping[str, int]) -> float | int:
    return sum(axes[term] if isinstance(term, str) else term for term in terms)


def _fill(spec: TensorSpec, axes: Mapping[str, int], limit: int | None) -> np.ndarray:
    """The spec's values in turn along the last axis."""
    values = [_sum(terms, axes) for terms in spec.fill]
    if limit is not None:
        values = [min(value, limit) for value in values]
    shape = spec.shape_at(axes)
    array = np.resize(np.array(values, np.dtype(spec.dtype)), shape[-1:])
    return np.broadcast_to(array, shape).copy()


def cast_specs(specs: Sequence[TensorSpec], precision: Precision) -> tuple[TensorSpec, ...]:
    """A graph's inputs or outputs in this precision: float16 for float32 in fp16."""
    return tuple(
        replace(spec, dtype="float16")
        if precision == "fp16" and spec.dtype == "float32" and not spec.element
        else spec
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
    is_narrowed = precision == "bf16" and dtype == np.float32
    return _LARGEST_BF16 if is_narrowed else float(np.finfo(dtype).max)


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
    array = array.astype(np.dtype(spec.dtype))
    return NARROW_TYPES[spec.element].round(array) if spec.element else array


def in_ranges(
    specs: Sequence[TensorSpec], ranges: Mapping[str, tuple[float, float]], model: str
) -> tuple[TensorSpec, ...]:
    """The inputs, those with a range drawn in it; integers take both of its ends.

    ExportError for a name that is no input, and for values that a table does not have.
    """
    _refuse_unknown(ranges, [spec.name for spec in specs], "input", "--input-range", model)
    return tuple(
        _in_range(spec, *ranges[spec.name], model) if spec.name in ranges else spec
        for spec in specs
    )


def paired(
    inputs: Sequence[TensorSpec],
    outputs: Sequence[str],
    states: Mapping[str, str],
    model: str,
) -> tuple[StatePair, ...]:
    """The pairs of `states`, which maps outputs to the inputs that they become."""
    _refuse_unknown(states, outputs, "output", "--state", model)
    _refuse_unknown(states.values(), [spec.name for spec in inputs], "input", "--state", model)
    return tuple(StatePair(input_name, output) for output, input_name in states.items())


def refuse_unfit_states(
    pairs: Sequence[StatePair],
    types: Mapping[str, str],
    reference: Reference,
    model: str,
) -> None:
    """ExportError for an output that is not of the shape and type of the input it becomes.

    `types` are those of the float32 graph, whatever the reference is fed. A shape is right if
    one reference has it; without outputs nothing is known of it.
    """
    output_sets = [
        reference_outputs
        for reference_outputs in (reference.outputs, *reference.others.values())
        if reference_outputs
    ]
    for pair in pairs:
        in_spec = types[pair.input], list(reference.inputs[pair.input].shape)
        shapes = [list(outputs[pair.output].shape) for outputs in output_sets] or [in_spec[1]]
        out_spec = types[pair.output], in_spec[1] if in_spec[1] in shapes else shapes[0]
        if in_spec != out_spec:
            raise ExportError(
                f"the output {pair.output!r} of {model} is {out_spec[0]} {out_spec[1]} and cannot "
                f"become the input {pair.input!r}, {in_spec[0]} {in_spec[1]}",
                "give --state pairs that keep their shape, as a cache of fixed length does",
            )


def _in_range(spec: TensorSpec, low: float, high: float, model: str) -> TensorSpec:
    _refuse_unfit_range(spec, low, high, model)
    if spec.dtype[0] == "f":
        return replace(spec, low=low, high=high, fill=(), count_up=False, assumed="")
    if spec.allowed and not spec.allowed[0] <= low <= high <= spec.allowed[1]:
        raise ExportError(
            f"the tables that {spec.name!r} of {model} indexes have the entries "
            f"{spec.allowed[0]} to {spec.allowed[1]}",
            f"give --input-range {spec.name}={max(spec.allowed[0], 0)}:{spec.allowed[1]}",
        )
    return replace(spec, low=low, high=high + 1, fill=(), count_up=False, assumed="")


def _refuse_unfit_range(spec: TensorSpec, low: float, high: float, model: str) -> None:
    """ExportError for ends that the input's type can't hold, and for parts of whole numbers."""
    dtype = np.dtype(spec.dtype)
    if dtype.kind == "f":
        largest = float(np.finfo(dtype).max)
        least = -largest
    elif dtype.kind == "b":
        least, largest = 0.0, 1.0
    else:
        type_limits = np.iinfo(dtype)
        least, largest = float(type_limits.min), float(min(type_limits.max, 2**63 - 1))
    if not least <= low <= high <= largest:
        raise ExportError(
            f"--input-range {spec.name}: the input of {model} is {dtype}, which holds {least:g} to "
            f"{largest:g} (got {low:g} to {high:g})",
            "give ends within that",
        )
    if dtype.kind != "f" and not (low.is_integer() and high.is_integer()):
        raise ExportError(
            f"--input-range {spec.name}: the input of {model} is {dtype} (got {low:g} to {high:g})",
            "give integers",
        )


def _refuse_unknown(
    names: Iterable[str],
    known_names: Sequence[str],
    kind: str,
    flag: str,
    model: str,
) -> None:
    for name in names:
        if name not in known_names:
            remedy = nearest(name, known_names, f"it has {', '.join(known_names)}")
            raise ExportError(f"{model} has no {kind} {name!r}, which {flag} names", remedy)


_SHOWN_COUNT = 3
"""So many of the texts that an input is drawn from are listed."""


def inputs_told(specs: Sequence[TensorSpec], examples: Collection[str]) -> str:
    """`input_ids 0..29999, attention_mask 1, x normal`: what each drawn input holds."""
    return ", ".join(
        f"{spec.name} {'as in the example' if spec.name in examples else _values(spec)}"
        for spec in specs
    )


UNKNOWN = "not understood"
"""What a value is `assumed` to be that may limit what is computed, for all that is known."""


def assumed_inputs(specs: Sequence[TensorSpec]) -> list[str]:
    """`orig_im_size 224 x 224`: the inputs whose value decides how much is computed and was not
    given, and single numbers of which nothing shows what they do."""
    return [
        f"{spec.name} {_values(spec)}" + f" ({UNKNOWN})" * (spec.assumed == UNKNOWN)
        for spec in specs
        if spec.assumed
    ]


def lower_thresholds(specs: Sequence[TensorSpec]) -> Iterator[tuple[TensorSpec, ...]]:
    """The inputs with an assumed threshold of scores lowered, step by step, as few scores reach
    the usual one where weights are random; none without one."""
    if any(spec.assumed and (SCORE,) in spec.fill for spec in specs):
        for lower in LOWER_SCORES:
            yield tuple(
                replace(s, fill=tuple((lower,) if v == (SCORE,) else v for v in s.fill))
                if s.assumed
                else s
                for s in specs
            )


def guesses(specs: Sequence[TensorSpec]) -> tuple[Diagnostic, ...]:
    """A diagnostic for each input whose value decides how much is computed and was not given."""
    return tuple(
        diagnostic("input_guessed", spec.name, values=_values(spec))
        for spec in specs
        if spec.assumed and spec.assumed != UNKNOWN
    )


def limits(
    specs: Sequence[TensorSpec], names: Collection[str], precision: Precision
) -> tuple[Diagnostic, ...]:
    """One for each of these inputs, of which finite values would overflow in `precision`."""
    return tuple(
        diagnostic(
            "input_limited", spec.name, precision=precision, largest=largest_of(spec, precision)
        )
        for spec in specs
        if spec.name in names
    )


def _values(spec: TensorSpec) -> str:
    if spec.dtype == TEXT:
        words = spec.words or WORDS
        return f"texts {'|'.join(words[:_SHOWN_COUNT])}{'|…' if len(words) > _SHOWN_COUNT else ''}"
    if spec.fill:
        last = spec.shape[-1] if spec.shape else 1
        is_size = spec.assumed == "size" and len(spec.fill) == 1
        times = last if is_size and isinstance(last, int) and 1 < last <= _SHOWN_COUNT else 1
        most = min((size for size in spec.within if isinstance(size, int)), default=None)
        return " x ".join([_terms(terms, most) for terms in spec.fill] * times)
    if spec.offset:
        return f"{_terms(spec.offset)}, …"
    if spec.count_up:
        return "0, 1, 2 …"
    is_float = np.dtype(spec.dtype).kind == "f"
    if spec.low is None or spec.high is None:
        if spec.within:
            return f"0..{'|'.join(map(str, spec.within))} - 1"
        return "normal" if is_float else "0..1"
    highest = spec.high if is_float else spec.high - 1
    return f"{spec.low:.15g}" if spec.low == highest else f"{spec.low:.15g}..{highest:.15g}"


def _terms(terms: Sequence[Dimension | float], highest: int | None = None) -> str:
    """`sequence`, `past + 1`, `0.5`; a number is not above the highest."""
    if highest is not None and len(terms) == 1 and not isinstance(terms[0], str):
        terms = (min(terms[0], highest),)
    texts = [term if isinstance(term, str) else f"{term:.15g}" for term in terms]
    return " + ".join(texts).replace("+ -", "- ")
