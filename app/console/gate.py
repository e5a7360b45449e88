"""The exit code of a job that fails on what is slower, and why a comparison does not pass it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

from app.results.verdicts import Comparison, NotCompared
from app.stats.verdict import TOO_FEW_ROUNDS, TOO_FEW_RUNS

OK, FAILED, SLOWER = 0, 1, 3
DAMAGED, NOT_PLANNED, NOT_PAIRED = "damaged", "no_longer_planned", "no_partner"
_NO_FIGURES = (TOO_FEW_ROUNDS, TOO_FEW_RUNS)
NOTHING = "nothing_compared"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a gate can't pass: a stable code, the case if it is about one, and a sentence.

    `reason` is one of the codes above, or that of a case without a verdict.
    """

    reason: str
    case: str
    why: str
    case_id: str = ""

    @classmethod
    def of(cls, one: NotCompared) -> Self:
        return cls(one.reason, one.label, one.why, one.case_id)

    @property
    def sentence(self) -> str:
        return f"{self.case}: {self.why}" if self.case else self.why


@dataclass(frozen=True, slots=True)
class Undecided:
    """A verdict without a decision that fails no gate, with the code of its reason."""

    reason: str
    case: str
    why: str
    case_id: str
    percentile: str


def reasons(found: Comparison) -> tuple[Reason, ...]:
    """What keeps a gate from a judgement of every case of the baseline."""
    return tuple(_reasons(found))


def code(found: Comparison, fail_on_slower: bool) -> int:
    """The exit code of a comparison: 3 where a gate found a case slower, else 1 where something is
    damaged or lost, where nothing was compared, or where a gate has another reason."""
    if fail_on_slower and found.called("slower"):
        return SLOWER
    nothing = not found.cases and not (found.in_turn and found.not_compared)
    if nothing or found.damaged or any(one.lost for one in found.not_compared):
        return FAILED
    return FAILED if fail_on_slower and reasons(found) else OK


def undecided(found: Comparison) -> tuple[Undecided, ...]:
    """The verdicts that a gate passes without a judgement, each with the code of its reason."""
    return tuple(
        Undecided(sides.verdict.reason, case.label, sides.verdict.why, case.case_id, name)
        for case in found.cases
        for name, sides in case.percentiles.items()
        if sides.verdict.word == "undecided" and sides.verdict.reason not in _NO_FIGURES
    )


def as_json(
    code: int, why: Iterable[Reason], passed: Iterable[Undecided] | None = None
) -> dict[str, Any]:
    """What a gate made of it, for a job; `passed` is what a comparison left undecided."""
    gate = {"fail_on": "slower", "exit_code": code, "reasons": [asdict(one) for one in why]}
    if passed is not None:
        gate["undecided"] = [asdict(one) for one in passed]
    return gate


def as_lines(why: Iterable[Reason]) -> Iterator[str]:
    """A line for each code, with what it is about."""
    told: dict[str, list[str]] = {}
    for one in why:
        told.setdefault(one.reason, []).append(one.sentence)
    for reason, sentences in told.items():
        yield f"--fail-on slower can't pass: {reason}: {'; '.join(sentences)}"


def _reasons(found: Comparison) -> Iterator[Reason]:
    for sentence in found.damaged:
        yield Reason(DAMAGED, "", sentence)
    for one in found.not_compared:
        yield Reason.of(one)
    for case in found.cases:
        verdicts = [sides.verdict for sides in case.percentiles.values()]
        lacking = {one.reason: one.why for one in verdicts if one.reason in _NO_FIGURES}
        if lacking:
            reason = TOO_FEW_RUNS if TOO_FEW_RUNS in lacking else TOO_FEW_ROUNDS
            yield Reason(reason, case.label, "; ".join(lacking.values()), case.case_id)
    for label in found.only_first:
        if found.in_turn:
            yield Reason(NOT_PAIRED, label, "no case of this run is compared with it")
        else:
            yield Reason(NOT_PLANNED, label, f"only in {found.first}")
    if not found.cases and not found.not_compared and not found.only_first:
        yield Reason(NOTHING, "", "no case was compared")
