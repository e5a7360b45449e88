"""A comparison as JUnit XML: a test for each case and percentile, one for each without verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from app.console.gate import DAMAGED, NOT_PAIRED, NOT_PLANNED, reasons
from app.console.sides import sides_text
from app.results.diagnostic_columns import BETWEEN_CODES, CODES
from app.results.plain import printable
from app.results.verdicts import Comparison

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
