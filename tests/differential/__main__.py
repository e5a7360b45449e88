"""`python -m tests.differential`: compare ONNX's evaluator with ONNX Runtime on random nodes.

Prints a table in Markdown; exit code 1 if a disagreement or a crash is unexplained. Options:
--minutes N, --seed S, --operator NAME (repeatable), --draw K (that draw alone), --report FILE.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.differential import nodes
from tests.differential.engine_process import EngineProcess
from tests.differential.nodes import NEWEST_OPSET
from tests.differential.table import Tally, table
from tests.differential.trial import attempt, described

UNEXPLAINED = ("different", "crash")
TRIES = 4
"""Draws for each operator in a pass, until one more is comparable."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to draw (5)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (0)")
    parser.add_argument("--operator", action="append", help="only this operator (repeatable)")
    parser.add_argument("--draw", type=int, help="only the draw of this number")
    parser.add_argument("--report", type=Path, help="write the table to this file too")
    options = parser.parse_args(arguments)
    operators = options.operator or nodes.names()
    if unknown_names := sorted(set(operators) - set(nodes.names())):
        parser.error(
            f"--operator: no generator makes {unknown_names[0]}. Choose one of the table's."
        )
    engines = EngineProcess()
    try:
        if options.draw is not None:
            return _single(operators, options.seed, options.draw, engines)
        tallies = _passes(operators, options.seed, options.minutes, engines)
    finally:
        engines.close()
    text = table(tallies, options.seed, options.minutes)
    sys.stdout.write(text)
    if options.report:
        options.report.write_text(text, "utf-8")
    return int(any(tally.count(*UNEXPLAINED) for tally in tallies))


def _single(operators: Sequence[str], seed: int, number: int, engines: EngineProcess) -> int:
    code = 0
    for operator in operators:
        trial = attempt(operator, seed, number, NEWEST_OPSET, engines)
        if trial is None:
            sys.stdout.write(f"{operator}: draw {number} has no node\n")
            continue
        sys.stdout.write(f"{trial.outcome}: {described(trial, seed)}\n")
        code |= trial.outcome in UNEXPLAINED
    return code


def _passes(
    operators: Sequence[str], seed: int, minutes: float, engines: EngineProcess
) -> list[Tally]:
    """One comparable draw more of each operator in each pass, while there is time.

    Those that have enough wait until all have.
    """
    end = time.monotonic() + minutes * 60
    tallies = [Tally(operator) for operator in operators]
    while True:
        waiting = [tally for tally in tallies if not tally.is_done]
        for tally in waiting or tallies:
            for _ in range(TRIES):
                if time.monotonic() > end and tally.draws:
                    return tallies
                trial = attempt(tally.operator, seed, tally.draws, NEWEST_OPSET, engines)
                tally.add(trial)
                if trial is not None and trial.outcome in UNEXPLAINED:
                    sys.stdout.write(f"{described(trial, seed)}\n")
                    sys.stdout.flush()
                if tally.last_comparable:
                    break


if __name__ == "__main__":
    sys.exit(main())
