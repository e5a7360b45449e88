"""`python -m tests.differential_lowered --minutes N --seed S`: draws of every kind in turn.

A kind is an operator on the card, or graphs of several nodes on the card or in a precision.
Prints the verdicts and, for each disagreement that is not known, the command that repeats it; exit
status 1 if there is one. A child process computes, so that a crash is a disagreement too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count

import onnx
import onnxruntime

from tests.differential_lowered.card import Outcome
from tests.differential_lowered.kinds import KINDS, Results, drawn

_AT_ONCE = 10
"""Draws of one kind in one call of the child."""
_SEEDS = 10**6
"""Seeds of draws that belong to one --seed."""


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 if a disagreement is not known."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential_lowered")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to draw (5)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (0)")
    parser.add_argument("--only", default="", help="kinds that contain this text")
    parser.add_argument("--draw", type=int, help="repeat this draw of the kind named by --only")
    options = parser.parse_args(arguments)
    names = [name for name in KINDS if options.only in name]
    if options.draw is not None:
        if options.only not in KINDS:
            parser.error("--draw: name its kind with --only")
        return _repeat(options.only, options.draw)
    if not names:
        parser.error(
            f"--only: no kind contains {options.only!r}. Use a part of a name in the table"
        )
    results = Results()
    end = time.monotonic() + options.minutes * 60
    for name, seed, outcome in _outcomes(names, options.seed * _SEEDS, end):
        results.add(name, seed, outcome)
    sys.stdout.write("\n".join((f"{dict(results.verdicts)}", *results.faults.values())) + "\n")
    return 1 if results.faults else 0


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
