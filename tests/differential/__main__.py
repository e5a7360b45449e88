"""`python -m tests.differential`: compare ONNX's evaluator with ONNX Runtime on random nodes.

Prints a table in Markdown; exit code 1 if a disagreement or a crash is unexplained. Options:
--minutes N, --seed S, --operator NAME (repeatable), --draw K (that draw alone), --report FILE.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from app.machine.environment import installed_versions
from tests.differential import nodes
from tests.differential.engine_process import EngineProcess
from tests.differential.nodes import NEWEST_OPSET
from tests.differential.trial import COMPARABLE, Outcome, Trial, attempt, described

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


FEW = 200
_MOST = 10 * FEW
"""With fewer comparable ones in so many draws, more would add little."""
_PACKAGES = ("onnx", "onnxruntime", "openvino", "numpy")


class Tally:
    """What came of the draws of one operator."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self.draws = 0
        self.last_comparable = False
        self.reasons: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()

    def add(self, trial: Trial | None) -> None:
        """Count a draw; None is one without a node."""
        self.draws += 1
        outcome = trial.outcome if trial else "no node"
        self._outcomes[outcome] += 1
        self.last_comparable = outcome in COMPARABLE
        if trial and self.last_comparable:
            self.types.update({_type_of(value) for value in trial.inputs.values()})
        if trial and trial.known:
            self.reasons[trial.known.reason] += 1
        if trial and "refuse" in outcome:
            self.refusals[f"{outcome}: {' '.join(trial.detail.split())[:120]}"] += 1

    @property
    def is_done(self) -> bool:
        """Whether others need the time more."""
        return self.comparable >= FEW or self.draws >= _MOST

    @property
    def shortage(self) -> str:
        """Why fewer draws than wanted are comparable."""
        if self.refusals.total() <= self.comparable:
            return "the time was over"
        ((reason, count),) = self.refusals.most_common(1)
        return f"{count} of {self.draws} draws alone: {reason}"

    def count(self, *outcomes: str) -> int:
        return sum(self._outcomes[outcome] for outcome in outcomes)

    @property
    def comparable(self) -> int:
        return self.count(*COMPARABLE)


_COLUMNS: tuple[str, ...] = get_args(Outcome)


def table(tallies: list[Tally], seed: int, minutes: float) -> str:
    """The report as text in Markdown."""
    heads = ("operator", "comparable", *_COLUMNS)
    rows = [
        (tally.operator, str(tally.comparable), *(str(tally.count(name)) for name in _COLUMNS))
        for tally in tallies
    ]
    types: Counter[str] = Counter()
    for tally in tallies:
        types += tally.types
    total = sum(tally.comparable for tally in tallies)
    short = {f"{t.operator}, {t.comparable}": t.shortage for t in tallies if t.comparable < FEW}
    known = {f"{t.operator}, {n}": why for t in tallies for why, n in t.reasons.items()}
    return "\n".join(
        (
            "# ONNX's evaluator against ONNX Runtime on random nodes",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, seed {seed}, {minutes:g} minutes, {_versions()}.",
            f"{total} comparable draws of {len(tallies)} operators.",
            *_listed("Fewer than 200 comparable draws", short),
            *_listed("Not compared", nodes.NOT_COMPARED),
            *_listed("Known disagreements", known),
            *_listed("Comparable draws by type of an input", dict(types.most_common())),
            *("", "## Draws by operator", ""),
            *(f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)),
            "",
        )
    )


def _listed(title: str, texts: Mapping[str, Any]) -> list[str]:
    lines = [f"- {name}: {text}".replace("<", "\\<") for name, text in texts.items()]
    return ["", f"## {title}", "", *(lines or ["none"])]


def _versions() -> str:
    versions = installed_versions().items()
    return ", ".join(f"{n} {v}" for n, v in versions if n.partition("-")[0] in _PACKAGES)


def _type_of(value: Any) -> str:
    kind = str(getattr(value, "dtype", type(value).__name__))
    return "string" if kind == "object" or kind.startswith("<U") else kind


if __name__ == "__main__":
    sys.exit(main())
