"""`python -m tests.differential_lowered --minutes N --seed S`: draws of every kind in turn.

A kind is an operator on the card, or graphs of several nodes on the card or in a precision.
Prints a table and, for each disagreement that is not known, the command that repeats it; exit
status 1 if there is one. A child process computes, so that a crash is a disagreement too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import count

import numpy as np
import onnx
import onnxruntime

from exporters.types import Precision
from tests.differential_lowered import card, precisions
from tests.differential_lowered.card import Outcome, reason_for
from tests.differential_lowered.graphs import DRAWS, Dice, Draw

Kind = Callable[[int], tuple[Draw | None, Outcome]]
"""From a seed to a graph and what became of it."""

_AT_ONCE = 10
"""Draws of one kind in one call of the child."""
_SEEDS = 10**6
"""Seeds of draws that belong to one --seed."""


def _node_on_card(operator: str, seed: int) -> tuple[Draw | None, Outcome]:
    rng = np.random.default_rng(seed)
    draw = card.node(operator, rng)
    if draw is None:
        return None, Outcome("not comparable")
    return draw, card.compare(draw, optimised=bool(rng.random() < 0.5))


def _on_card(make: Callable[[Dice], Draw], seed: int) -> tuple[Draw, Outcome]:
    dice = Dice(seed)
    draw = make(dice)
    return draw, card.compare(draw, optimised=dice.chance(0.5))


def _in_precision(
    make: Callable[[Dice], Draw], precision: Precision, seed: int
) -> tuple[Draw, Outcome]:
    dice = Dice(seed)
    draw = make(dice)
    return draw, precisions.compare(draw, precision, dice)


KINDS: Mapping[str, Kind] = {
    **{f"card {operator}": partial(_node_on_card, operator) for operator in card.NODES},
    **{f"card {name}": partial(_on_card, make) for name, make in DRAWS.items()},
    **{
        f"{precision} {name}": partial(_in_precision, make, precision)
        for precision in precisions.PRECISIONS
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
        self._verdicts: dict[str, Counter[str]] = {}
        self.unknown: list[tuple[str, int, str]] = []

    def add(self, name: str, seed: int, outcome: Outcome) -> None:
        verdict: str = outcome.verdict
        if verdict == "disagrees" and reason_for(name, outcome.cause):
            verdict = "known"
        elif verdict == "disagrees":
            self.unknown.append((name, seed, outcome.cause))
        self._verdicts.setdefault(name, Counter())[verdict] += 1

    def table(self) -> Iterator[str]:
        """Kinds by their comparable draws, those left to the CPU, those that rounding decides,
        known and other disagreements."""
        yield f"{'kind':34}{'comparable':>11}{'left':>7}{'ill':>5}{'known':>7}{'disagree':>10}"
        totals: Counter[str] = Counter()
        for name, verdicts in self._verdicts.items():
            totals.update(verdicts)
            yield _line(name, verdicts)
        yield _line("all", totals)

    def faults(self) -> Iterator[str]:
        """Each kind's different causes, with the command that repeats the draw."""
        reported_keys: set[tuple[str, str]] = set()
        for name, seed, cause in self.unknown:
            if (name, cause[:40]) not in reported_keys:
                reported_keys.add((name, cause[:40]))
                command = f"python -m tests.differential_lowered --only '{name}' --draw {seed}"
                yield f"{name}: {cause}\n    {command}"


def _line(name: str, verdicts: Mapping[str, int]) -> str:
    known_count, wrong = verdicts.get("known", 0), verdicts.get("disagrees", 0)
    comparable = verdicts.get("agrees", 0) + known_count + wrong
    left, ill = verdicts.get("left to the CPU", 0), verdicts.get("ill-conditioned", 0)
    return f"{name:34}{comparable:>11}{left:>7}{ill:>5}{known_count:>7}{wrong:>10}"


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 if a disagreement is not known."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential_lowered")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to draw (5)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (0)")
    parser.add_argument("--only", default="", help="kinds that contain this text")
    parser.add_argument("--draw", type=int, help="repeat this draw of the kind named by --only")
    options = parser.parse_args(arguments)
    if options.draw is not None:
        return _repeat(options.only, options.draw)
    names = [name for name in KINDS if options.only in name]
    if not names:
        parser.error(
            f"--only: no kind contains {options.only!r}. Use a part of a name in the table"
        )
    results = Results()
    end = time.monotonic() + options.minutes * 60
    for name, seed, outcome in _outcomes(names, options.seed * _SEEDS, end):
        results.add(name, seed, outcome)
    sys.stdout.write("\n".join((*results.table(), *results.faults())) + "\n")
    return 1 if results.unknown else 0


def _outcomes(names: Sequence[str], first: int, end: float) -> Iterator[tuple[str, int, Outcome]]:
    """Draws of each kind in turn until the time is over, at least one turn of all kinds."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, context)
    for turn in count():
        for name in names:
            if turn and time.monotonic() > end:
                pool.shutdown(cancel_futures=True)
                return
            seed = first + turn * _AT_ONCE
            try:
                yield from pool.submit(drawn, name, seed, _AT_ONCE).result()
            except BrokenProcessPool:
                pool = ProcessPoolExecutor(1, context)
                yield name, seed, Outcome("disagrees", f"a crash in draws {seed} to {seed + 9}")


def _repeat(name: str, seed: int) -> int:
    onnxruntime.set_default_logger_severity(4)
    draw, outcome = KINDS[name](seed)
    graph = onnx.printer.to_text(draw.proto) if draw else "no node"
    sys.stdout.write(f"{graph}\n{outcome.verdict}: {outcome.cause}\n")
    return 1 if outcome.verdict == "disagrees" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
