"""`graphlap --compare A B`: two run folders as a table, Markdown, JSON or JUnit XML.

The exit code is 3 where something is slower and the caller asked to fail on that, 1 where a
case that the first run measured was not measured by the second.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from app.cases.errors import PlanError
from app.cases.percentiles import shown
from app.results import text
from app.results.reader import read_run
from app.results.verdicts import Compared, Comparison, Sides, compare_runs
from app.stats.verdict import BAND

OK, NOT_MEASURED, SLOWER = 0, 1, 3
_HEADINGS = ("case", "percentile", "first", "second", "ratio", "95 % interval", "verdict")
_WORDS = ("faster", "slower", "same", "undecided")


def compare(
    first: str,
    second: str,
    *,
    band: float | None,
    fail_on_slower: bool,
    markdown: bool,
    json_path: str | None,
    junit_path: str | None,
) -> tuple[str, int]:
    """What to print and the exit code; ResultsError for a folder that is none."""
    found = compare_runs(
        read_run(Path(first)), read_run(Path(second)), BAND if band is None else band
    )
    if not found.cases and not found.lost:
        raise PlanError(
            f"{first} and {second} have no case in common",
            "compare runs of the same models, runtimes and settings",
        )
    if json_path:
        _write(json_path, json.dumps(as_json(found), indent=1, ensure_ascii=False) + "\n")
    if junit_path:
        _write(junit_path, as_junit(found))
    return "\n".join(as_markdown(found) if markdown else as_text(found)) + "\n", code(
        found, fail_on_slower
    )


def code(found: Comparison, fail_on_slower: bool) -> int:
    """The exit code; what was not measured weighs more than what is slower."""
    if found.lost:
        return NOT_MEASURED
    return SLOWER if fail_on_slower and found.called("slower") else OK


def as_text(found: Comparison) -> Iterator[str]:
    """A table for a terminal, and under it what a reader has to know."""
    lines = [_HEADINGS, *_cells(found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()
    yield ""
    yield from _remarks(found)


def as_markdown(found: Comparison) -> Iterator[str]:
    """A table for a pull request or a summary of continuous integration."""
    yield f"### {_sentence(found)}"
    yield ""
    yield "| " + " | ".join(_HEADINGS) + " |"
    yield "| --- | --- | ---: | ---: | ---: | --- | --- |"
    for line in _cells(found):
        yield "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
    yield ""
    for remark in _remarks(found):
        yield f"- {remark}"


def as_json(found: Comparison) -> dict[str, Any]:
    """Stable keys: what is added later is a new key."""
    return {
        "format": "graphlap-comparison",
        "version": 1,
        "first": found.first,
        "second": found.second,
        "band": found.band,
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
        "only_first": list(found.only_first),
        "only_second": list(found.only_second),
        "environment": [
            {"name": name, "first": first, "second": second}
            for name, first, second in found.environment
        ],
    }


def as_junit(found: Comparison) -> str:
    """A test for each case and percentile: slower fails, what was not measured is an error."""
    failed = sum(
        sides.verdict.word == "slower"
        for case in found.cases
        for sides in case.percentiles.values()
    )
    suite = ElementTree.Element(
        "testsuite",
        name="graphlap compare",
        tests=str(sum(len(case.percentiles) for case in found.cases) + len(found.lost)),
        failures=str(failed),
        errors=str(len(found.lost)),
    )
    for case, name, sides in _all(found):
        test = ElementTree.SubElement(suite, "testcase", classname=case.label, name=name)
        if sides.verdict.word == "slower":
            ElementTree.SubElement(test, "failure", message=_told(sides))
        elif sides.verdict.word == "undecided":
            ElementTree.SubElement(test, "system-out").text = _told(sides)
    for label, why in found.lost.items():
        test = ElementTree.SubElement(suite, "testcase", classname=label, name="measured")
        ElementTree.SubElement(test, "error", message=why)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _all(found: Comparison) -> Iterator[tuple[Compared, str, Sides]]:
    for case in found.cases:
        for name, sides in case.percentiles.items():
            yield case, name, sides


def _cells(found: Comparison) -> Iterator[tuple[str, ...]]:
    for case, name, sides in _all(found):
        verdict = sides.verdict
        interval = verdict.interval
        yield (
            case.label,
            shown(name),
            text.latency(sides.first_us),
            text.latency(sides.second_us),
            f"{sides.second_us / sides.first_us:.3f}",
            f"{interval.low:.3f} to {interval.high:.3f}" if interval else text.NOT_MEASURED,
            f"{verdict.word}: {verdict.why}" if verdict.why else verdict.word,
        )


def _sides(sides: Sides) -> dict[str, Any]:
    interval = sides.verdict.interval
    return {
        "first_us": sides.first_us,
        "second_us": sides.second_us,
        "ratio": sides.second_us / sides.first_us,
        "ratio_ci_low": interval.low if interval else None,
        "ratio_ci_high": interval.high if interval else None,
        "verdict": sides.verdict.word,
        "why": sides.verdict.why,
    }


def _told(sides: Sides) -> str:
    ratio = f"{sides.second_us / sides.first_us:.3f}"
    verdict = sides.verdict
    found = verdict.interval
    interval = f" ({found.low:.3f} to {found.high:.3f})" if found else ""
    why = f": {verdict.why}" if verdict.why else ""
    return f"{verdict.word}, {ratio} times{interval}{why}"


def _sentence(found: Comparison) -> str:
    counts = [f"{len(found.called(word))} {word}" for word in _WORDS if found.called(word)]
    lost = [f"{len(found.lost)} no longer measured"] if found.lost else []
    return f"{len(found.cases) + len(found.lost)} cases: " + ", ".join([*counts, *lost])


def _remarks(found: Comparison) -> Iterator[str]:
    yield _sentence(found) + f"; a change within {found.band:.0%} is none"
    for label, why in found.lost.items():
        yield f"no longer measured: {label}: {why}"
    if any(sides.verdict.why == "measured apart" for _, _, sides in _all(found)):
        yield (
            "measured apart: the two runs were not measured in turn, so a small change may be the "
            "machine's own; measure both in one run, as two of its models, runtimes or options"
        )
    for name, first, second in found.environment:
        yield f"differs: {name}: {first}, then {second}"
    if found.only_first:
        yield f"only in {found.first}: {', '.join(found.only_first)}"
    if found.only_second:
        yield f"only in {found.second}: {', '.join(found.only_second)}"


def _write(path: str, content: str) -> None:
    try:
        Path(path).write_text(content, encoding="utf-8")
    except OSError as error:
        raise PlanError(
            f"{path} can't be written ({error.strerror})", "name a file in a folder that can be"
        ) from error
