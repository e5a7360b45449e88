"""The search over options beside random search with as many rounds, on written-down objectives."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from app.cases.case import Case
from app.stats.option_search.ablation import FINAL
from tests.app.stats.option_search.objectives import (
    Simulated,
    entangled,
    flat,
    played,
    rugged,
    separable,
    small_effects,
    space_of,
)
from tests.app.stats.option_search.random_search import every_case, random_search

TRIES = 40
Objective = Callable[[int], Callable[[Case], float]]
CELLS: tuple[tuple[str, Objective, float, bool], ...] = (
    ("separable", lambda seed: separable, 0.03, False),
    ("separable", lambda seed: separable, 0.1, False),
    ("separable, unlucky processes", lambda seed: separable, 0.03, True),
    ("entangled", lambda seed: entangled, 0.03, False),
    ("small effects", small_effects, 0.03, False),
    ("small effects, unlucky processes", small_effects, 0.03, True),
    ("rugged", rugged, 0.03, False),
    ("no effect", lambda seed: flat, 0.03, False),
)
HEADINGS = (
    "objective",
    "rounds differ by",
    "best possible",
    "search",
    "random",
    "rounds to choose",
    "claims a gain",
    "claims too much",
)


def main() -> None:
    """A Markdown table: the mean true cost of what each ends with, over that of the default; the
    rounds of choosing in the median; in how many searches the final rounds claim a gain, and where
    its whole interval is beyond the true one."""
    sys.stdout.write("| " + " | ".join(HEADINGS) + " |\n" + "| --- " * len(HEADINGS) + "|\n")
    for cell in CELLS:
        sys.stdout.write("| " + " | ".join(_row(*cell)) + " |\n")
        sys.stdout.flush()


def _row(name: str, objective: Objective, spread: float, unlucky: bool) -> list[str]:
    space = space_of()
    cases = every_case(space)
    best, search, random_costs, rounds = [], [], [], []
    claims = false = 0
    for seed in range(TRIES):
        cost_of = objective(seed)
        default = cost_of(space.base)
        best.append(min(map(cost_of, cases)) / default)
        simulation = Simulated(cost_of, seed, spread, unlucky=unlucky)
        candidate, ladder, _ = played(space, simulation)
        search.append(cost_of(candidate.lead) / default)
        rounds.append(sum(number < FINAL for _, number in simulation.measured))
        again = Simulated(cost_of, seed, spread, unlucky=unlucky)
        random_costs.append(cost_of(random_search(cases, again, rounds[-1])) / default)
        total = ladder.winner.default
        if total is not None and total.word == "faster" and total.interval is not None:
            claims += 1
            false += total.interval.high < search[-1]
    return [
        name,
        f"{100 * spread:g} %",
        f"{np.mean(best):.3f}",
        f"{np.mean(search):.3f}",
        f"{np.mean(random_costs):.3f}",
        f"{np.median(rounds):.0f}",
        f"{claims} of {TRIES}",
        f"{false} of {TRIES}",
    ]
