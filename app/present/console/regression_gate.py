"""Regression gate of a CI job: the exit code of a comparison, and its verdicts as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self
from xml.etree import ElementTree

from app.analysis.comparison.judge import Comparison, Sides
from app.analysis.comparison.pairing import UncomparedCase
from app.cases.units import percentile_label
from app.formatting.text import first_of, printable, ratio_interval
from app.run_folder.diagnostics import BETWEEN_CODES, CODES
from app.stats.verdict import TOO_FEW_ROUNDS, TOO_FEW_RUNS, Verdict

OK, FAILED, SLOWER = 0, 1, 3
Gate = Literal["", "slower", "undecided"]
"""What fails a job: nothing, a slower case or one that can't be judged, or an undecided verdict
too."""
GATES: tuple[Gate, ...] = ("slower", "undecided")
INSENSITIVE = "detection_limit"
"""Why an undecided verdict fails any gate: it could hide the slowdown that `--detect` names."""
DAMAGED, NOT_PLANNED, NOT_PAIRED = "damaged", "no_longer_planned", "no_partner"
_NO_FIGURES = (TOO_FEW_ROUNDS, TOO_FEW_RUNS)
NO_COMPARISON = "nothing_compared"
MIXED = "mixed"
_MIXED: Mapping[str, str] = {
    "several_hosts": "its rounds are of several machines",
    "host_changed": "its rounds are of several machines",
    "engine_changed": "its rounds are of several engine versions",
}
"""Of a warning what it means for a gate: another side of the mixture may be the difference."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a gate can't pass, or may not: a stable code, a sentence, and the case and the figure if
    it is about one.

    `reason` is one of the codes above, or that of a case or figure without a verdict.
    """

    reason: str
    case: str
    why: str
    case_id: str = ""
    percentile: str = ""

    @classmethod
    def from_case(cls, case: UncomparedCase) -> Self:
        return cls(case.reason, case.label, case.detail, case.case_id)

    @property
    def sentence(self) -> str:
        figure = f"{percentile_label(self.percentile)} is undecided: " if self.percentile else ""
        return f"{self.case}: {figure}{self.why}" if self.case else self.why


def reasons(comparison: Comparison, gate: Gate = "slower") -> tuple[Reason, ...]:
    """What keeps a gate from a judgement of every case of the baseline."""
    return (*failing_verdicts(comparison, gate), *_reasons(comparison))


def code(comparison: Comparison, gate: Gate) -> int:
    """The exit code of a comparison: 3 where a gate found a case slower, else 1 where something is
    damaged or lost, where nothing was compared, or where a gate has another reason."""
    if gate and comparison.cases_with("slower"):
        return SLOWER
    is_empty = not comparison.cases and not (comparison.in_turn and comparison.not_compared)
    if is_empty or comparison.damaged or any(case.is_lost for case in comparison.not_compared):
        return FAILED
    return FAILED if gate and reasons(comparison, gate) else OK


def undecided(comparison: Comparison) -> tuple[Reason, ...]:
    """The verdicts without a decision, each with the code of its reason. Verdicts without figures
    are left out: no gate passes them."""
    return tuple(
        Reason(sides.verdict.reason, case.label, sides.verdict.detail, case.case_id, name)
        for case in comparison.cases
        for name, sides in case.percentiles.items()
        if sides.verdict.word == "undecided" and sides.verdict.reason not in _NO_FIGURES
    )


def failing_verdicts(comparison: Comparison, gate: Gate) -> tuple[Reason, ...]:
    """The undecided verdicts that this gate does not pass: all, or those that could hide the
    slowdown which the comparison must be able to find."""
    detect = comparison.detect
    insensitive = {
        (case.case_id, name)
        for case in comparison.cases
        for name, sides in case.percentiles.items()
        if detect is not None and not _can_find(sides.verdict, detect)
    }
    failing = []
    for entry in undecided(comparison):
        if (entry.case_id, entry.percentile) in insensitive:
            why = f"{entry.why}, and --detect asks for {detect:.3%}"
            failing.append(replace(entry, reason=INSENSITIVE, why=why))
        elif gate == "undecided":
            failing.append(entry)
    return tuple(failing)


def _can_find(verdict: Verdict, detect: float) -> bool:
    return verdict.detectable is not None and verdict.detectable <= detect


def differences_json(differences: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """What two sides differ in, as objects: the name, and the value of each."""
    return [{"name": name, "first": a, "second": b} for name, a, b in differences]


def as_json(
    code: int,
    gate_reasons: Iterable[Reason],
    undecided_verdicts: Iterable[Reason] | None = None,
    gate: Gate = "slower",
) -> dict[str, Any]:
    """What a gate made of it, for a job, with what a comparison left undecided."""
    document: dict[str, Any] = {
        "fail_on": gate,
        "exit_code": code,
        "reasons": [asdict(entry) for entry in gate_reasons],
    }
    if undecided_verdicts is not None:
        document["undecided"] = [asdict(entry) for entry in undecided_verdicts]
    return document


_MAXIMUM_NAMED = 3


def as_lines(gate_reasons: Iterable[Reason], gate: Gate = "slower") -> Iterator[str]:
    """A line for each code, with what it is about."""
    sentences_by_reason: dict[str, list[str]] = {}
    for entry in gate_reasons:
        sentences_by_reason.setdefault(entry.reason, []).append(entry.sentence)
    for reason, sentences in sentences_by_reason.items():
        first = first_of(sentences, _MAXIMUM_NAMED, "; ")
        yield f"--fail-on {gate} can't pass: {reason}: {first}"


def _reasons(comparison: Comparison) -> Iterator[Reason]:
    for sentence in comparison.damaged:
        yield Reason(DAMAGED, "", sentence)
    for entry in comparison.not_compared:
        yield Reason.from_case(entry)
    for case in comparison.cases:
        mixtures = dict.fromkeys(_MIXED[name] for name in case.warning_codes if name in _MIXED)
        if mixtures and not comparison.allow_mixed:
            why = f"{' and '.join(mixtures)}: give --allow-mixed if that is meant"
            yield Reason(MIXED, case.label, why, case.case_id)
        verdicts = [sides.verdict for sides in case.percentiles.values()]
        lacking = {entry.reason: entry.detail for entry in verdicts if entry.reason in _NO_FIGURES}
        if lacking:
            reason = TOO_FEW_RUNS if TOO_FEW_RUNS in lacking else TOO_FEW_ROUNDS
            yield Reason(reason, case.label, "; ".join(lacking.values()), case.case_id)
    for label in comparison.only_first:
        if comparison.in_turn:
            yield Reason(NOT_PAIRED, label, "no case of this run is compared with it")
        else:
            yield Reason(NOT_PLANNED, label, f"only in {comparison.first}")
    if not comparison.cases and not comparison.not_compared and not comparison.only_first:
        yield Reason(NO_COMPARISON, "", "no case was compared")


def sides_text(sides: Sides) -> str:
    """`slower, 1.203 times (1.1 to 1.3)`, with the code and the reason of what is undecided."""
    ratio = f"{sides.ratio:.3f}"
    verdict = sides.verdict
    bounds = verdict.interval
    interval = f" ({ratio_interval(bounds.low, bounds.high)})" if bounds else ""
    explanation = f": {verdict.detail}" if verdict.detail else ""
    code = f" ({verdict.reason})" if verdict.reason else ""
    return f"{verdict.word}{code}, {ratio} times{interval}{explanation}"


Outcome = Literal["failure", "error", "skipped", "system-out", ""]


@dataclass(frozen=True, slots=True)
class _Test:
    """`of` is the class of the test, `kind` the code of its outcome; `codes` are those of the
    diagnostics of the rows that it compares."""

    class_name: str
    name: str
    outcome: Outcome = ""
    kind: str = ""
    message: str = ""
    codes: tuple[str, ...] = ()


def as_junit(comparison: Comparison, gate: Gate = "") -> str:
    """What is slower fails; what is damaged, or was lost between two runs, is an error, and so is
    for a gate all that keeps it from passing. What else was not compared is skipped."""
    tests = list(_tests(comparison, gate))
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
            suite, "testcase", classname=printable(test.class_name), name=printable(test.name)
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
            ElementTree.SubElement(case, test.outcome).text = printable(test.message)
        elif test.outcome:
            attributes = {"message": printable(test.message)} | (
                {"type": test.kind} if test.kind else {}
            )
            ElementTree.SubElement(case, test.outcome, attributes)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _tests(comparison: Comparison, gate: Gate) -> Iterator[_Test]:
    gate_reasons = (
        {entry.case_id: entry for entry in reasons(comparison) if entry.case_id} if gate else {}
    )
    fatal = {
        (entry.case_id, entry.percentile): entry.reason
        for entry in (failing_verdicts(comparison, gate) if gate else ())
    }
    for case in comparison.cases:
        codes = case.warning_codes
        for name, sides in case.percentiles.items():
            message, word = sides_text(sides), sides.verdict.word
            if word == "slower":
                yield _Test(case.label, name, "failure", word, message, codes)
            elif reason := fatal.get((case.case_id, name)):
                yield _Test(case.label, name, "error", reason, message, codes)
            elif sides.verdict.interval is None and case.case_id in gate_reasons:
                yield _Test(
                    case.label, name, "error", gate_reasons[case.case_id].reason, message, codes
                )
            else:
                outcome: Outcome = "system-out" if word == "undecided" else ""
                yield _Test(case.label, name, outcome, sides.verdict.reason, message, codes)
    for entry in comparison.not_compared:
        outcome = "error" if gate or entry.is_lost else "skipped"
        yield _Test(entry.label, "measured", outcome, entry.reason, entry.detail)
    for label in comparison.only_first:
        yield _Test(
            label,
            "planned",
            "error" if gate else "skipped",
            NOT_PAIRED if comparison.in_turn else NOT_PLANNED,
            f"no case is compared with it in {comparison.second}",
        )
    for number, message in enumerate(comparison.damaged, 1):
        name = "whole" if len(comparison.damaged) == 1 else f"whole {number}"
        yield _Test("runs", name, "error", DAMAGED, message)
