"""Regression gate of a CI job: the exit code of a comparison, and its verdicts as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self
from xml.etree import ElementTree

from app.comparison.judge import Comparison, NotCompared, Sides
from app.formatting.text import printable, ratio_interval
from app.run_folder.diagnostics import BETWEEN_CODES, CODES
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


def sides_text(sides: Sides) -> str:
    """`slower, 1.203 times (1.1 to 1.3)`, with the code and the reason of what is undecided."""
    ratio = f"{sides.ratio:.3f}"
    verdict = sides.verdict
    found = verdict.interval
    interval = f" ({ratio_interval(found.low, found.high)})" if found else ""
    why = f": {verdict.why}" if verdict.why else ""
    code = f" ({verdict.reason})" if verdict.reason else ""
    return f"{verdict.word}{code}, {ratio} times{interval}{why}"


Outcome = Literal["failure", "error", "skipped", "system-out", ""]


@dataclass(frozen=True, slots=True)
class _Test:
    """`of` is the class of the test, `kind` the code of its outcome; `codes` are those of the
    diagnostics of the rows that it compares."""

    of: str
    name: str
    outcome: Outcome = ""
    kind: str = ""
    what: str = ""
    codes: tuple[str, ...] = ()


def as_junit(found: Comparison, fail_on_slower: bool = False) -> str:
    """What is slower fails; what is damaged, or was lost between two runs, is an error, and so is
    for a gate all that keeps it from passing. What else was not compared is skipped."""
    tests = list(_tests(found, fail_on_slower))
    outcomes = [test.outcome for test in tests]
    suite = ElementTree.Element(
        "testsuite",
        name="graphlap compare",
        tests=str(len(tests)),
        failures=str(outcomes.count("failure")),
        errors=str(outcomes.count("error")),
        skipped=str(outcomes.count("skipped")),
    )
    # Of control characters XML 1.0 has hardly any form.
    for test in tests:
        case = ElementTree.SubElement(
            suite, "testcase", classname=printable(test.of), name=printable(test.name)
        )
        values = {CODES: BETWEEN_CODES.join(test.codes)}
        if test.outcome == "system-out":
            values["reason"] = test.kind
        if any(values.values()):
            properties = ElementTree.SubElement(case, "properties")
            for name, value in values.items():
                if value:
                    ElementTree.SubElement(properties, "property", name=name, value=value)
        if test.outcome == "system-out":
            ElementTree.SubElement(case, test.outcome).text = printable(test.what)
        elif test.outcome:
            told = {"message": printable(test.what)} | ({"type": test.kind} if test.kind else {})
            ElementTree.SubElement(case, test.outcome, told)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _tests(found: Comparison, gate: bool) -> Iterator[_Test]:
    of_gate = {one.case_id: one for one in reasons(found) if one.case_id} if gate else {}
    for case in found.cases:
        codes = case.warning_codes
        for name, sides in case.percentiles.items():
            what, word = sides_text(sides), sides.verdict.word
            if word == "slower":
                yield _Test(case.label, name, "failure", word, what, codes)
            elif sides.verdict.interval is None and case.case_id in of_gate:
                yield _Test(case.label, name, "error", of_gate[case.case_id].reason, what, codes)
            else:
                outcome: Outcome = "system-out" if word == "undecided" else ""
                yield _Test(case.label, name, outcome, sides.verdict.reason, what, codes)
    for one in found.not_compared:
        outcome = "error" if gate or one.lost else "skipped"
        yield _Test(one.label, "measured", outcome, one.reason, one.why)
    for label in found.only_first:
        yield _Test(
            label,
            "planned",
            "error" if gate else "skipped",
            NOT_PAIRED if found.in_turn else NOT_PLANNED,
            f"no case is compared with it in {found.second}",
        )
    for number, what in enumerate(found.damaged, 1):
        name = "whole" if len(found.damaged) == 1 else f"whole {number}"
        yield _Test("runs", name, "error", DAMAGED, what)
