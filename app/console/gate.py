"""The exit code of a job that fails on what is slower, and why a comparison does not pass it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

from app.results.verdicts import Comparison, NotCompared

OK, FAILED, SLOWER = 0, 1, 3
DAMAGED, NOT_PLANNED, NOT_PAIRED = "damaged", "no_longer_planned", "no_partner"
TOO_FEW_ROUNDS, TOO_FEW_RUNS = "too_few_rounds", "too_few_runs"
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


def as_json(code: int, why: Iterable[Reason]) -> dict[str, Any]:
    """What a gate made of it, for a job."""
    return {"fail_on": "slower", "exit_code": code, "reasons": [asdict(one) for one in why]}


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
        absent = [sides for sides in case.percentiles.values() if sides.verdict.interval is None]
        if absent:
            whys = [sides.verdict.why for sides in absent]
            too_few_runs = any(sides.too_few_runs for sides in absent)
            reason = TOO_FEW_RUNS if too_few_runs else TOO_FEW_ROUNDS
            yield Reason(reason, case.label, "; ".join(dict.fromkeys(whys)), case.case_id)
    for label in found.only_first:
        if found.in_turn:
            yield Reason(NOT_PAIRED, label, "no case of this run is compared with it")
        else:
            yield Reason(NOT_PLANNED, label, f"only in {found.first}")
    if not found.cases and not found.not_compared and not found.only_first:
        yield Reason(NOTHING, "", "no case was compared")
