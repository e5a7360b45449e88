"""The kinds of draws: an operator on the card, or graphs on the card or in a precision.

A module of its own, since a spawned child imports no `__main__` of a package.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import onnxruntime

from exporters.types import Precision
from tests.differential_lowered import card, precisions
from tests.differential_lowered.card import Outcome, reason_for
from tests.differential_lowered.graphs import DRAWS, Dice, Draw

Kind = Callable[[int], tuple[Draw | None, Outcome]]
"""From a seed to a graph and what became of it."""


def _node_on_card(operator: str, seed: int) -> tuple[Draw | None, Outcome]:
    rng = np.random.default_rng(seed)
    draw = card.node(operator, rng)
    if draw is None:
        return None, Outcome("not comparable")
    return draw, card.compare(draw, optimised=bool(rng.random() < 0.5))


def _of_graph(
    make: Callable[[Dice], Draw], precision: Precision | None, seed: int
) -> tuple[Draw, Outcome]:
    dice = Dice(seed)
    draw = make(dice)
    if precision is None:
        return draw, card.compare(draw, optimised=dice.chance(0.5))
    return draw, precisions.compare(draw, precision, dice)


KINDS: Mapping[str, Kind] = {
    **{f"card {operator}": partial(_node_on_card, operator) for operator in card.NODES},
    **{
        f"{precision or 'card'} {name}": partial(_of_graph, make, precision)
        for precision in (None, *precisions.PRECISIONS)
        for name, make in DRAWS.items()
    },
}


def drawn(name: str, first: int, number: int) -> list[tuple[str, int, Outcome]]:
    """What became of some draws of one kind."""
    onnxruntime.set_default_logger_severity(4)
    warnings.simplefilter("ignore")
    return [(name, seed, KINDS[name](seed)[1]) for seed in range(first, first + number)]


class Results:
    """Verdicts by kind, and the disagreements that are not known."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.faults: dict[tuple[str, str], str] = {}

    def add(self, name: str, seed: int, outcome: Outcome) -> None:
        verdict: str = outcome.verdict
        if verdict == "disagrees" and reason_for(name, outcome.cause):
            verdict = "known"
        elif verdict == "disagrees":
            command = f"python -m tests.differential_lowered --only '{name}' --draw {seed}"
            text = f"{name}: {outcome.cause}\n    {command}"
            self.faults.setdefault((name, outcome.cause[:40]), text)
        self.verdicts[verdict] += 1
