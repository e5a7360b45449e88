"""What a search over options is compared with: configurations drawn at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np

from app.cases.case import Case
from app.stats.option_search.space import Space
from tests.app.stats.option_search.objectives import Simulated


def every_case(space: Space) -> list[Case]:
    """All configurations of the space."""
    cases = []
    for runtime in space.runtimes:
        names = list(space.options[runtime])
        for precision, threads, batch in product(
            space.precisions[runtime], space.threads, space.batches
        ):
            for values in product(*space.options[runtime].values()):
                options = {
                    name: value
                    for name, value in zip(names, values, strict=True)
                    if value != space.usual[runtime][name]
                }
                cases.append(Case("net", runtime, precision, {"batch": batch}, threads, options))
    return cases


def random_search(cases: Sequence[Case], simulation: Simulated, rounds: int) -> Case:
    """The best of half as many drawn cases as there are rounds: each has one, then the best quarter
    shares half of what is left, and so on. What the cases of a block share is taken out."""
    alive = random.Random(simulation.seed).sample(list(cases), min(rounds // 2, len(cases)))
    logs: dict[str, list[float]] = {case.case_id: [] for case in alive}
    left, block, each = rounds, 0, 1
    while True:
        for _ in range(each):
            simulation.measured |= {(case.case_id, block) for case in alive}
            for case in alive:
                log_cost = float(np.log(simulation.cost(case, block) or 1.0))
                logs[case.case_id].append(log_cost - simulation.shared(block))
            block += 1
        left -= each * len(alive)
        if len(alive) == 1 or left < 1:
            return min(alive, key=lambda case: float(np.mean(logs[case.case_id])))
        alive.sort(key=lambda case: float(np.mean(logs[case.case_id])))
        alive = alive[: max(1, min(len(alive) // 4, left))]
        each = max(1, left // 2 // len(alive))
