"""A comparison as a table, Markdown, JSON or JUnit XML, and the exit code that follows from it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from app.cases.percentiles import shown
from app.console.escaped import escaped
from app.console.output_files import write_output
from app.results import text
from app.results.plain import printable
from app.results.verdicts import Compared, Comparison, Sides, interval_note

OK, NOT_MEASURED, SLOWER = 0, 1, 3
_MACHINE = ("host", "cpu", "cores", "memory", "os", "python", "packages", "virtual_machine")
_WORDS = ("faster", "slower", "same", "undecided")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How verdicts are told: what they make of the exit code, the form, and files for a job."""

    fail_on_slower: bool = False
    markdown: bool = False
    json_path: str = ""
    junit_path: str = ""


def wanted_of(flags: argparse.Namespace) -> Wanted:
    """What the flags say of it."""
    return Wanted(flags.fail_on == "slower", flags.markdown, flags.json or "", flags.junit or "")


def files(found: Comparison, wanted: Wanted) -> dict[str, str]:
    """The files that are wanted, by their paths."""
    told = {}
    if wanted.json_path:
        told[wanted.json_path] = json_text(as_json(found))
    if wanted.junit_path:
        told[wanted.junit_path] = as_junit(found)
    return told


def json_text(data: Mapping[str, Any]) -> str:
    """The content of a JSON file."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write(files: Mapping[str, str]) -> None:
    """Write them by their paths; DiskError if one can't be."""
    for path, content in files.items():
        write_output(Path(path), content.encode(errors="backslashreplace"))


def code(found: Comparison, fail_on_slower: bool) -> int:
    """The exit code; what was not measured, or is damaged, weighs more than what is slower, and
    nothing in common is nothing measured.

    What a run could not compare with its own baseline, its rows tell.
    """
    nothing = not found.cases and not found.lost
    if (found.lost and not found.in_turn) or nothing or found.damaged:
        return NOT_MEASURED
    return SLOWER if fail_on_slower and found.called("slower") else OK


def as_lines(found: Comparison) -> Iterator[str]:
    """A line for each case, for the end of a run, and what a reader has to know."""
    for case in found.cases:
        told = "; ".join(f"{name} {_told(sides)}" for name, sides in case.percentiles.items())
        yield f"{case.label}: {told}"
    yield from _remarks(found)


def as_text(found: Comparison) -> Iterator[str]:
    """A table for a terminal, and under it what a reader has to know."""
    lines = [_headings(found), *_cells(found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()
    yield ""
    yield from _remarks(found)


def as_markdown(found: Comparison) -> Iterator[str]:
    """A table for a pull request or a summary of continuous integration."""
    yield f"### {escaped(_sentence(found))}"
    yield ""
    yield "| " + " | ".join(_headings(found)) + " |"
    yield "| --- | --- | ---: | ---: | ---: | --- | --- |"
    for line in _cells(found):
        yield "| " + " | ".join(map(escaped, line)) + " |"
    yield ""
    for remark in _remarks(found):
        yield f"- {escaped(remark)}"


def as_json(found: Comparison) -> dict[str, Any]:
    """Stable keys: what is added later is a new key."""
    return {
        "format": "graphlap-comparison",
        "version": 1,
        "first": found.first,
        "second": found.second,
        "band": found.band,
        "in_turn": found.in_turn,
        "counts": {word: len(found.called(word)) for word in _WORDS},
        "cases": [
            {
                "case_id": case.case_id,
                "case": case.label,
                "percentiles": {name: _sides(sides) for name, sides in case.percentiles.items()},
            }
            for case in found.cases
        ],
        "not_measured": dict(found.lost),
        "damaged": list(found.damaged),
        "only_first": list(found.only_first),
        "only_second": list(found.only_second),
        "environment": [
            {"name": name, "first": first, "second": second}
            for name, first, second in found.environment
        ],
    }


def as_junit(found: Comparison) -> str:
    """A test for each case and percentile: slower fails, what is lost is an error between two runs
    and skipped within one, whose own rows say it; what is damaged is an error."""
    failed = sum(
        sides.verdict.word == "slower"
        for case in found.cases
        for sides in case.percentiles.values()
    )
    lost, damaged = len(found.lost), len(found.damaged)
    suite = ElementTree.Element(
        "testsuite",
        name="graphlap compare",
        tests=str(sum(len(case.percentiles) for case in found.cases) + lost + damaged),
        failures=str(failed),
        errors=str(damaged + (0 if found.in_turn else lost)),
        skipped=str(lost if found.in_turn else 0),
    )
    # Of control characters XML 1.0 has hardly any form.
    for case, name, sides in _all(found):
        called = printable(case.label)
        test = ElementTree.SubElement(suite, "testcase", classname=called, name=name)
        told = printable(_told(sides))
        if sides.verdict.word == "slower":
            ElementTree.SubElement(test, "failure", message=told)
        elif sides.verdict.word == "undecided":
            ElementTree.SubElement(test, "system-out").text = told
    for label, why in found.lost.items():
        called, told = printable(label), printable(why)
        test = ElementTree.SubElement(suite, "testcase", classname=called, name="measured")
        ElementTree.SubElement(test, "skipped" if found.in_turn else "error", message=told)
    for what in map(printable, found.damaged):
        test = ElementTree.SubElement(suite, "testcase", classname="runs", name="whole")
        ElementTree.SubElement(test, "error", message=what)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _all(found: Comparison) -> Iterator[tuple[Compared, str, Sides]]:
    for case in found.cases:
        for name, sides in case.percentiles.items():
            yield case, name, sides


def _headings(found: Comparison) -> tuple[str, ...]:
    sides = ("baseline", "measured") if found.in_turn else ("first", "second")
    return ("case", "percentile", *sides, "ratio", "interval", "verdict")


def _cells(found: Comparison) -> Iterator[tuple[str, ...]]:
    for case, name, sides in _all(found):
        verdict = sides.verdict
        interval = verdict.interval
        yield (
            case.label,
            shown(name),
            text.latency(sides.first_us),
            text.latency(sides.second_us),
            f"{sides.ratio:.3f}",
            text.ratio_interval(interval.low, interval.high) if interval else text.NOT_MEASURED,
            f"{verdict.word}: {verdict.why}" if verdict.why else verdict.word,
        )


def _sides(sides: Sides) -> dict[str, Any]:
    interval = sides.verdict.interval
    return {
        "first_us": sides.first_us,
        "second_us": sides.second_us,
        "ratio": sides.ratio,
        "ratio_ci_low": interval.low if interval else None,
        "ratio_ci_high": interval.high if interval else None,
        "ratio_confidence": sides.verdict.confidence if interval else None,
        "verdict": sides.verdict.word,
        "why": sides.verdict.why,
    }


def _told(sides: Sides) -> str:
    ratio = f"{sides.ratio:.3f}"
    verdict = sides.verdict
    found = verdict.interval
    interval = f" ({text.ratio_interval(found.low, found.high)})" if found else ""
    why = f": {verdict.why}" if verdict.why else ""
    return f"{verdict.word}, {ratio} times{interval}{why}"


def _sentence(found: Comparison) -> str:
    counts = [f"{len(found.called(word))} {word}" for word in _WORDS if found.called(word)]
    lost = [f"{len(found.lost)} {_lost(found)}"] if found.lost else []
    against = f" against {found.first}" if found.in_turn else ""
    of = len(found.cases) + len(found.lost)
    return f"{of} case{'s' * (of != 1)}{against}: {', '.join([*counts, *lost])}"


def _lost(found: Comparison) -> str:
    return "not compared" if found.in_turn else "no longer measured"


def _remarks(found: Comparison) -> Iterator[str]:
    if not found.cases and not found.lost:
        yield (
            f"no case of {found.first} was measured here: compare runs of the same models, "
            "runtimes and settings"
        )
    yield _sentence(found) + f"; a change within {100 * found.band:g}% is none"
    note = interval_note(sides.verdict for _, _, sides in _all(found))
    if note:
        yield note
    yield from found.damaged
    for label, why in found.lost.items():
        yield f"{_lost(found)}: {label}: {why}"
    if any(sides.verdict.why == "measured apart" for _, _, sides in _all(found)):
        yield (
            "measured apart: the two runs were not measured in turn, so a small change may be the "
            "machine's own; measure both in one run, as two of its models, runtimes or options"
        )
    machine = [one for one in found.environment if _is_of_machine(one[0])]
    if machine:
        told = "; ".join(f"{name} {first}, now {second}" for name, first, second in machine)
        yield f"{found.first} was measured on another machine or with other versions: {told}"
    for name, first, second in found.environment:
        if not _is_of_machine(name):
            yield f"differs: {name}: {first}, then {second}"
    if found.only_first:
        yield f"only in {found.first}: {', '.join(found.only_first)}"
    if found.only_second:
        yield f"only in {found.second}: {', '.join(found.only_second)}"


def _is_of_machine(name: str) -> bool:
    """Whether what differs makes it another machine, and not the same one at another time."""
    return name.rpartition(" ")[2].startswith(_MACHINE)
