"""Every kind of draw: an operator on the card, or a kind of graph on the card or in a precision."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial

import onnxruntime

from exporters.types import Precision
from tests.differential_lowered import card, elementwise, graphs, movement, precisions, sums
from tests.differential_lowered.card import Outcome
from tests.differential_lowered.draw import Dice, Draw

Kind = Callable[[int], tuple[Draw, Outcome]]
"""From a seed to a graph and what became of it."""


def _on_card(make: Callable[[Dice], Draw], large: bool, seed: int) -> tuple[Draw, Outcome]:
    dice = Dice(seed)
    dice.large = large
    draw = make(dice)
    return draw, card.compare(draw, optimised=dice.chance(0.5))


def _in_precision(
    make: Callable[[Dice], Draw], precision: Precision, seed: int
) -> tuple[Draw, Outcome]:
    dice = Dice(seed)
    draw = make(dice)
    return draw, precisions.compare(draw, precision, dice)


KINDS: Mapping[str, Kind] = {
    **{f"card {op}": partial(_on_card, make, True) for op, make in elementwise.DRAWS.items()},
    **{f"card {op}": partial(_on_card, make, True) for op, make in movement.DRAWS.items()},
    **{f"card {op}": partial(_on_card, make, False) for op, make in sums.DRAWS.items()},
    **{f"card {name}": partial(_on_card, make, False) for name, make in graphs.DRAWS.items()},
    **{
        f"{precision} {name}": partial(_in_precision, make, precision)
        for precision in precisions.PRECISIONS
        for name, make in graphs.DRAWS.items()
    },
}


def drawn(name: str, first: int, number: int) -> list[tuple[str, int, Outcome]]:
    """What became of some draws of one kind."""
    onnxruntime.set_default_logger_severity(4)
    warnings.simplefilter("ignore")
    return [(name, seed, KINDS[name](seed)[1]) for seed in range(first, first + number)]
