"""What a model is fed, told in words: a row's column, and what a reader should be warned of."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.inputs import WORDS, largest_of
from exporters.types import TEXT, Precision, TensorSpec

_SHOWN = 3
"""So many of the texts that an input is drawn from are listed."""


def inputs_told(specs: Sequence[TensorSpec], examples: Collection[str]) -> str:
    """`input_ids 0..29999, attention_mask 1, x normal`: what each drawn input holds."""
    return ", ".join(
        f"{spec.name} {'as in the example' if spec.name in examples else _values(spec)}"
        for spec in specs
    )


def guesses(specs: Sequence[TensorSpec]) -> tuple[Diagnostic, ...]:
    """A diagnostic for each input whose value decides how much is computed and was not given."""
    return tuple(
        diagnostic("input_guessed", spec.name, values=_values(spec))
        for spec in specs
        if spec.guessed
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
        return f"texts {'|'.join(words[:_SHOWN])}{'|…' if len(words) > _SHOWN else ''}"
    if spec.offset:
        first = " + ".join(map(str, spec.offset)).replace("+ -", "- ")
        return f"{first}, …" if spec.count_up else first
    if spec.count_up:
        return "0, 1, 2 …"
    is_float = np.dtype(spec.dtype).kind == "f"
    if spec.low is None or spec.high is None:
        return "normal" if is_float else "0..1"
    last = spec.high if is_float else spec.high - 1
    return f"{spec.low:.15g}" if spec.low == last else f"{spec.low:.15g}..{last:.15g}"
