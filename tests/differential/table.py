"""The table of a fuzzing run: for each operator its draws, disagreements and refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from app.machine.environment import installed_versions
from tests.differential import nodes
from tests.differential.trial import COMPARABLE, Trial

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


_COLUMNS = (
    "equal",
    "known",
    "different",
    "evaluator refuses",
    "engine refuses",
    "both refuse",
    "known crash",
    "crash",
)


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
