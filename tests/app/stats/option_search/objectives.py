"""Objectives with noise that a search is tried on: what a configuration costs is written down."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from app.cases.case import Case
from app.stats.option_search.ablation import Ladder, final_blocks, ladder, path_to
from app.stats.option_search.search import Search
from app.stats.option_search.space import Space

CORES = 4
BAND = 0.02


@dataclass(slots=True)
class Simulated:
    """`cost_of` is what a case truly costs; rounds of a process differ by `spread` of it, and all
    cases of a block share `drift`. One process in twenty takes three times as long if they are
    `unlucky`. `broken` cases fail."""

    cost_of: Callable[[Case], float]
    seed: int
    spread: float = 0.03
    drift: float = 0.05
    broken: Callable[[Case], bool] = lambda case: False
    unlucky: bool = False
    measured: set[tuple[str, int]] = field(default_factory=set)

    def cost(self, case: Case, number: int) -> float | None:
        if self.broken(case) or (case.case_id, number) not in self.measured:
            return None
        shared_noise = self.shared(number)
        own_noise = _drawn(self.seed, f"{case.case_id}:{number}", self.spread)
        slow = self.unlucky and _drawn(self.seed, f"slow:{case.case_id}:{number}", 1.0) > 1.645
        return self.cost_of(case) * math.exp(shared_noise + own_noise) * (3.0 if slow else 1.0)

    def shared(self, number: int) -> float:
        """By how much all rounds of this number take longer, as a logarithm."""
        return _drawn(self.seed, number % 1_000_000, self.drift)

    def exclusion_reason(self, case: Case, before: int) -> str:
        return "it fails" if self.broken(case) and self.measured_before(case, before) else ""

    def fails(self, case: Case, before: int) -> bool:
        return bool(self.exclusion_reason(case, before))

    def measured_before(self, case: Case, before: int) -> bool:
        return any((case.case_id, number) in self.measured for number in range(before))


def space_of() -> Space:
    """Two runtimes with options of their own, threads, batches and a precision."""
    return Space(
        base=Case("net", "a", axes={"batch": 1}, threads=0),
        runtimes=("a", "b"),
        precisions={"a": ("fp32", "int8"), "b": ("fp32", "int8")},
        threads=(0, 1, 2, 4),
        batch_axis="batch",
        batches=(1, 2, 4, 8, 16, 32),
        options={
            "a": {"level": ("all", "basic", "off"), "spin": (True, False), "arena": (True, False)},
            "b": {"streams": (1, 2, 4, 8), "pin": (True, False), "mode": ("fast", "exact")},
        },
        usual={
            "a": {"level": "all", "spin": True, "arena": True},
            "b": {"streams": 1, "pin": True, "mode": "fast"},
        },
        cores=CORES,
    )


def played(space: Space, simulation: Simulated, rounds: int = 8) -> tuple[Search, Ladder, int]:
    """A whole search, its ladder and how many rounds it took."""
    search = Search(space, simulation, simulation.seed)
    for block in search.blocks():
        simulation.measured |= {(case.case_id, number) for case, number in block}
    path = path_to(space, search.lead, simulation)
    for block in final_blocks(path, search.rival, rounds, simulation.seed, simulation):
        simulation.measured |= {(case.case_id, number) for case, number in block}
    return search, ladder(path, search.rival, simulation, rounds, BAND), len(simulation.measured)


def separable(case: Case) -> float:
    """Options that work each by itself; best: b, int8, batch 16, 4 threads, 4 streams, pin off."""
    cost = {"a": 1.0, "b": 0.85}[case.runtime] * {"fp32": 1.0, "int8": 0.5, "fp16": 9.0}[
        case.precision
    ]
    batch = case.axes["batch"]
    cost *= 1.0 + 0.04 * abs(math.log2(batch) - 4.0)
    cost *= {0: 1.0, 1: 2.0, 2: 1.2, 4: 0.93}[case.threads]
    options = case.options
    cost *= {1: 1.0, 2: 0.9, 4: 0.8, 8: 0.95}[int(options.get("streams", 1))]
    cost *= 0.95 if options.get("pin") is False else 1.0
    cost *= {"all": 1.0, "basic": 1.1, "off": 1.6}[str(options.get("level", "all"))]
    return cost * (1.04 if options.get("mode") == "exact" else 1.0)


def entangled(case: Case) -> float:
    """Threads and streams share four cores: as many streams as cores, of one thread each, are
    best, and neither helps without the other."""
    cost = 1.0 if case.runtime == "a" else 1.1
    if case.runtime == "b":
        streams, threads = int(case.options.get("streams", 1)), case.threads or CORES
        core_count = min(streams * threads, CORES)
        parallel = core_count / (1.0 + 0.35 * (threads - 1))
        crowding = 1.0 + 0.3 * max(0.0, math.log2(streams * threads / CORES))
        cost *= (CORES / (1.0 + 0.35 * (CORES - 1))) / parallel * crowding
    return cost * (1.0 + 0.02 * abs(math.log2(case.axes["batch"]) - 2.0))


def flat(case: Case) -> float:
    """No option does anything."""
    return 1.0


def small_effects(seed: int) -> Callable[[Case], float]:
    """Each choice changes the cost by some 1.5 %, whatever the others are."""

    all_usual = space_of().usual

    def cost(case: Case) -> float:
        choices = {"runtime": case.runtime, "precision": case.precision, "threads": case.threads}
        choices |= {"batch": case.axes["batch"]}
        usual = all_usual[case.runtime]
        choices |= {f"{case.runtime} {n}": case.options.get(n, usual[n]) for n in usual}
        return math.exp(sum(_drawn(seed, choice, 0.015) for choice in choices.items()))

    return cost


def rugged(seed: int) -> Callable[[Case], float]:
    """Half of what changes the cost is particular to a configuration."""
    smooth = small_effects(seed)

    def cost(case: Case) -> float:
        return smooth(case) * math.exp(_drawn(seed, case.case_id, 0.03))

    return cost


@cache
def _drawn(seed: int, subject: object, spread: float) -> float:
    return random.Random(f"{seed}:{subject}").gauss(0.0, spread)
