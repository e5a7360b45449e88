"""A comparison as lines, a table, Markdown or JSON, and the files that a job asked for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cases.errors import PlanError, suggestion
from app.cases.units import shown
from app.comparison.judge import Compared, Comparison, NotCompared, Sides, interval_note
from app.console import regression_gate
from app.console.output_files import write_output
from app.console.regression_gate import as_junit
from app.formatting import text
from app.present.document import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    Points,
    Table,
    Tone,
    names,
)
from app.present.markdown import as_markdown as markdown
from app.stats.verdict import LEAST_PAST_RUNS, NO_RUN_VARIATION, RUN_VARIATION

_MOST_NAMED = 3
_MACHINE = ("host", "cpu", "cores", "memory", "os", "python", "packages", "virtual_machine")
_WORDS = ("faster", "slower", "same", "undecided")
_ORDER = {"slower": 0, "faster": 1, "undecided": 2, "same": 3}
_TONES: dict[str, Tone] = {"slower": "error", "faster": "ok"}
_SOURCES = {
    "history": "from earlier runs of this machine",
    "anchor": "from the anchor that both runs measured",
    "stated": "stated for want of a history or an anchor",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """How verdicts are told: what they make of the exit code, the form, and files for a job."""

    fail_on_slower: bool = False
    markdown: bool = False
    json_path: str = ""
    junit_path: str = ""


def gate_of(flags: argparse.Namespace) -> bool:
    """Whether a slower case is to fail the job; PlanError for another `--fail-on`."""
    if flags.fail_on not in (None, "slower"):
        raise PlanError(
            f"--fail-on {flags.fail_on} is not known", suggestion(flags.fail_on, ["slower"])
        )
    return flags.fail_on is not None


def wanted_of(flags: argparse.Namespace) -> Wanted:
    """What the flags say of it."""
    markdown = flags.format == "markdown"
    return Wanted(gate_of(flags), markdown, flags.json or "", flags.junit or "")


def files(found: Comparison, wanted: Wanted) -> dict[str, str]:
    """The files that are wanted, by their paths."""
    told = {}
    if wanted.json_path:
        told[wanted.json_path] = json_text(as_json(found, wanted.fail_on_slower))
    if wanted.junit_path:
        told[wanted.junit_path] = as_junit(found, wanted.fail_on_slower)
    return told


def json_text(data: Mapping[str, Any]) -> str:
    """The content of a JSON file."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write(files: Mapping[str, str]) -> None:
    """Write them by their paths; DiskError if one can't be."""
    for path, content in files.items():
        write_output(Path(path), content.encode(errors="backslashreplace"))


def comparison_blocks(found: Comparison, fail_on_slower: bool = False) -> Iterator[Block]:
    """How many cases are slower, then the cases that are, then all others, then what a reader has
    to know."""
    if found.cases or found.not_compared:
        yield Paragraph(f"{_sentence(found)}; {_band(found)}")
    yield from _details(found, fail_on_slower)


def as_markdown(found: Comparison, fail_on_slower: bool = False) -> str:
    """For a pull request or a summary of continuous integration, under a heading."""
    head = (Heading(_sentence(found), 3), Paragraph(_band(found)))
    return markdown([*head, *_details(found, fail_on_slower)])


def _details(found: Comparison, fail_on_slower: bool) -> Iterator[Block]:
    if found.cases:
        yield Table(_columns(found), tuple(_rows(found)), is_main=True)
    yield Points(tuple(_remarks(found, fail_on_slower)))


def as_json(found: Comparison, fail_on_slower: bool = False) -> dict[str, Any]:
    """Stable keys: what is added later is a new key.

    `percentiles` has all figures that were judged, the mean and the throughput among them.
    `counts` are cases of which some percentile has the verdict, so that a case may be in two of
    them; `verdict_counts` are percentiles. `gate` is there where the job fails on what is slower.
    """
    told: dict[str, Any] = {
        "format": "graphlap-comparison",
        "version": 1,
        "first": found.first,
        "second": found.second,
        "band": found.band,
        "in_turn": found.in_turn,
        "counts": {word: len(found.called(word)) for word in _WORDS},
        "verdict_counts": _counts(found),
        "cases": [
            {
                "case_id": case.case_id,
                "case": case.label,
                "percentiles": {name: _sides(sides) for name, sides in case.percentiles.items()},
                "on_one_side_only": list(case.missing),
                "warning_codes": list(case.warning_codes),
            }
            for case in found.cases
        ],
        "not_measured": {one.label: one.why for one in found.not_compared if _is_lost(found, one)},
        "not_compared": [
            {"case_id": one.case_id, "case": one.label, "reason": one.reason, "why": one.why}
            for one in found.not_compared
        ],
        "damaged": list(found.damaged),
        "anchor": dict(found.anchor),
        "only_first": list(found.only_first),
        "only_second": list(found.only_second),
        "environment": [
            {"name": name, "first": first, "second": second}
            for name, first, second in found.environment
        ],
    }
    if fail_on_slower:
        why, passed = regression_gate.reasons(found), regression_gate.undecided(found)
        told["gate"] = regression_gate.as_json(regression_gate.code(found, True), why, passed)
    return told


def _is_lost(found: Comparison, one: NotCompared) -> bool:
    return found.in_turn or one.lost


def _counts(found: Comparison) -> dict[str, int]:
    """How many percentiles got each verdict."""
    words: list[str] = [verdict.word for verdict in found.verdicts]
    return {word: words.count(word) for word in _WORDS}


def _all(found: Comparison) -> Iterator[tuple[Compared, str, Sides]]:
    for case in found.cases:
        for name, sides in case.percentiles.items():
            yield case, name, sides


def _columns(found: Comparison) -> tuple[Column, ...]:
    sides = ("baseline", "measured") if found.in_turn else ("first", "second")
    return *names("case", "figure"), *map(Column, sides), *names("ratio", "verdict")


def _rows(found: Comparison) -> Iterator[tuple[Cell | str, ...]]:
    """Slower cases first, then faster ones; both percentiles of a case below each other."""
    ordered = sorted(found.cases, key=lambda case: min(_ORDER[w] for w in _words(case)))
    for case in ordered:
        for name, sides in case.percentiles.items():
            yield (
                case.label,
                shown(name),
                Cell(text.figure(sides.first, sides.unit), sides.first, unit=sides.unit),
                Cell(text.figure(sides.second, sides.unit), sides.second, unit=sides.unit),
                Cell(_ratio(sides), sides.ratio),
                Cell(sides.verdict.word, tone=_TONES.get(sides.verdict.word, "")),
            )


def _ratio(sides: Sides) -> str:
    """`1.200x (1.193 to 1.207)`."""
    interval = sides.verdict.interval
    if interval is None:
        return f"{sides.ratio:.3f}x"
    if text.is_too_noisy(interval.low, interval.high):
        return f"{sides.ratio:.3f}x ({text.TOO_NOISY})"
    low, high = (f"{end:.3f}" for end in (interval.low, interval.high))
    return f"{sides.ratio:.3f}x ({low} to {high})"


def _reasons(found: Comparison) -> Iterator[str]:
    """Why verdicts are undecided: each reason once, with the cases that it is of."""
    cases: dict[str, list[str]] = {}
    for case, _, sides in _all(found):
        if sides.verdict.why or sides.verdict.reason:
            cases.setdefault(sides.verdict_text, []).append(case.label)
    for reason, repeated in cases.items():
        labels = list(dict.fromkeys(repeated))
        more = f" and {len(labels) - _MOST_NAMED} more" * (len(labels) > _MOST_NAMED)
        yield f"{reason} ({', '.join(labels[:_MOST_NAMED])}{more})"


def _words(case: Compared) -> list[str]:
    return [sides.verdict.word for sides in case.percentiles.values()]


def _sides(sides: Sides) -> dict[str, Any]:
    interval, variation = sides.verdict.interval, sides.verdict.variation
    return {
        f"first_{sides.unit}": sides.first,
        f"second_{sides.unit}": sides.second,
        "ratio": sides.ratio,
        "ratio_ci_low": interval.low if interval else None,
        "ratio_ci_high": interval.high if interval else None,
        "ratio_confidence": sides.verdict.confidence if interval else None,
        "verdict": sides.verdict.word,
        "why": sides.verdict.why,
        "reason": sides.verdict.reason or None,
        "run_variation": variation.deviation if variation else None,
        "run_variation_from": variation.source if variation else None,
    }


def _sentence(found: Comparison) -> str:
    """Cases, which add up, and then verdicts, which do: there is one for each percentile."""
    against = f" against {found.first}" if found.in_turn else ""
    compared, left_out = len(found.cases), len(found.not_compared)
    parts = [f"{compared} compared", *([f"{left_out} not compared"] if left_out else [])]
    told = f"{_so_many(compared + left_out, 'case')}{against}: {', '.join(parts)}"
    counts = [f"{count} {word}" for word, count in _counts(found).items() if count]
    verdicts = f"; {_so_many(len(found.verdicts), 'verdict')}: {', '.join(counts)}"
    return told + (verdicts if counts else "")


def _band(found: Comparison) -> str:
    return f"a change within {100 * found.band:g}% does not count"


def _so_many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _remarks(found: Comparison, fail_on_slower: bool) -> Iterator[str]:
    if not found.cases and not found.not_compared:
        yield (
            f"{found.first} and {found.second} share no case: compare runs of the same models, "
            "runtimes and settings"
        )
    note = interval_note(sides.verdict for _, _, sides in _all(found))
    if note:
        yield note
    yield from _reasons(found)
    yield from found.damaged
    for one in found.not_compared:
        told = "no longer measured" if one.lost else "not compared"
        yield f"{told}: {one.label}: {one.why}"
    for case in found.cases:
        if case.missing:
            names = ", ".join(map(shown, case.missing))
            yield f"not compared: {case.label}: {names}, which only one side has runs enough for"
    yield from run_variation_notes(found)
    machine = [one for one in found.environment if _is_of_machine(one[0])]
    if machine:
        told = "; ".join(f"{name} {first}, now {second}" for name, first, second in machine)
        yield f"{found.first} was measured on another machine or with other versions: {told}"
    for name, first, second in found.environment:
        if not _is_of_machine(name):
            yield f"differs: {name}: {first}, then {second}"
    if found.only_first:
        alone = "of the baseline, compared with no case"
        where = alone if found.in_turn else f"only in {found.first}"
        yield f"{where}: {', '.join(found.only_first)}"
    if found.only_second:
        where = "without a baseline" if found.in_turn else f"only in {found.second}"
        yield f"{where}: {', '.join(found.only_second)}"
    if fail_on_slower:
        yield from regression_gate.as_lines(regression_gate.reasons(found))


def run_variation_notes(found: Comparison) -> Iterator[str]:
    """By how much runs of the machine are taken to differ, from where that is known, and what to do
    where it decides."""
    verdicts = found.verdicts
    for source, meaning in _SOURCES.items():
        of_source = [v.variation for v in verdicts if v.variation and v.variation.source == source]
        if of_source:
            shares = [100.0 * one.deviation for one in of_source]
            low, high = f"{min(shares):.2g}", f"{max(shares):.2g}"
            each = low if low == high else f"{low} to {high}"
            yield f"run-to-run variation ({source}): standard deviation {each} %, {meaning}"
    if found.anchor:
        moved = ", ".join(f"{shown(name)} {ratio:.3f}" for name, ratio in found.anchor.items())
        yield f"the anchor, second over first: {moved}; it is not judged"
    if any(v.reason == NO_RUN_VARIATION for v in verdicts):
        yield (
            f"{NO_RUN_VARIATION}: the run-to-run variation of a tail is not stated. Keep at least "
            f"{LEAST_PAST_RUNS} more runs of this machine in the same folder (or --history DIR), "
            "measure both runs with --anchor, or compare in one run with --baseline"
        )
    if any(v.reason == RUN_VARIATION for v in verdicts):
        yield (
            f"{RUN_VARIATION}: two runs of the same code may differ by as much, and more rounds do "
            "not change that. Compare in one run with --baseline"
        )


def _is_of_machine(name: str) -> bool:
    """Whether what differs makes it another machine, and not the same one at another time."""
    return name.rpartition(" ")[2].startswith(_MACHINE)
