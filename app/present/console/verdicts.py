"""A comparison as lines, a table, Markdown or JSON, and the files that a job asked for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.analysis.comparison.judge import ComparedCase, Comparison, Sides, interval_note
from app.analysis.comparison.pairing import UncomparedCase
from app.cases.errors import PlanError, suggestion
from app.cases.units import percentile_label
from app.formatting import text
from app.present.console import regression_gate
from app.present.console.output_files import write_output
from app.present.console.regression_gate import GATES, Gate, as_junit
from app.present.document import (
    Block,
    Cell,
    Column,
    Paragraph,
    Points,
    Table,
    Tone,
    names,
)
from app.stats.verdict import MINIMUM_PAST_RUNS, NO_RUN_VARIATION, RUN_VARIATION

_MAXIMUM_NAMES = 3
_MAXIMUM_REMARKS = 3
"""Of each kind, one for a case or for a reason."""
_MAXIMUM_ROWS = 15
"""Of the table: with the remarks these are at most 60 lines of a terminal."""
_MACHINE = ("host", "cpu", "cores", "memory", "os", "python", "packages", "virtual_machine")
_WORDS = ("faster", "slower", "same", "undecided")
_ORDER = {"slower": 0, "faster": 1, "undecided": 2, "same": 3}
_TONES: dict[str, Tone] = {"slower": "error", "faster": "ok"}
_SOURCES = {
    "history": "from earlier runs of this machine",
    "stated": "stated for want of a history",
}


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """How verdicts are told: what they make of the exit code, the form, and files for a job."""

    gate: Gate = ""
    markdown: bool = False
    json_path: str = ""
    junit_path: str = ""


def gate_of(flags: argparse.Namespace, gates: Sequence[Gate] = GATES) -> Gate:
    """The gate of the job, one of `gates`; PlanError for another `--fail-on`."""
    for gate in gates:
        if flags.fail_on == gate:
            return gate
    if flags.fail_on is not None:
        raise PlanError(f"--fail-on {flags.fail_on} is not known", suggestion(flags.fail_on, gates))
    return ""


def output_options_of(flags: argparse.Namespace) -> OutputOptions:
    """What the flags say of it."""
    markdown = flags.format == "markdown"
    return OutputOptions(gate_of(flags), markdown, flags.json or "", flags.junit or "")


def files(comparison: Comparison, options: OutputOptions) -> dict[str, str]:
    """The files that are wanted, by their paths."""
    contents = {}
    if options.json_path:
        contents[options.json_path] = json_text(as_json(comparison, options.gate))
    if options.junit_path:
        contents[options.junit_path] = as_junit(comparison, options.gate)
    return contents


def json_text(data: Mapping[str, Any]) -> str:
    """The content of a JSON file."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def write(files: Mapping[str, str]) -> None:
    """Write them by their paths; DiskError if one can't be."""
    for path, content in files.items():
        write_output(Path(path), content.encode(errors="backslashreplace"))


def comparison_blocks(
    comparison: Comparison, gate: Gate = "", most_rows: int | None = _MAXIMUM_ROWS
) -> Iterator[Block]:
    """How many cases are slower, then the cases that are, then all others, then what a reader has
    to know."""
    if comparison.cases or comparison.not_compared:
        band = f"a change within {100 * comparison.band:g}% does not count"
        yield Paragraph(f"{_sentence(comparison)}; {band}")
    if comparison.cases:
        rows = tuple(_rows(comparison))
        yield Table(_columns(comparison), rows[:most_rows], is_main=True)
        if left_out := len(rows[len(rows[:most_rows]) :]):
            yield Paragraph(
                f"left out here: {text.counted(left_out, 'more verdict')}; --json FILE has all"
            )
    yield Points(tuple(_remarks(comparison, gate)))


def as_json(comparison: Comparison, gate: Gate = "") -> dict[str, Any]:
    """Stable keys: what is added later is a new key.

    `percentiles` has all figures that were judged, the mean and the throughput among them.
    `counts` are cases of which some percentile has the verdict, so that a case may be in two of
    them; `verdict_counts` are percentiles. `gate` is there where the job has one.
    """
    document: dict[str, Any] = {
        "format": "graphlap-comparison",
        "version": 1,
        "first": comparison.first,
        "second": comparison.second,
        "band": comparison.band,
        "in_turn": comparison.in_turn,
        "counts": {word: len(comparison.cases_with(word)) for word in _WORDS},
        "verdict_counts": _counts(comparison),
        "cases": [
            {
                "case_id": case.case_id,
                "case": case.label,
                "percentiles": {name: _sides(sides) for name, sides in case.percentiles.items()},
                "on_one_side_only": list(case.missing),
                "warning_codes": list(case.warning_codes),
                "fed_otherwise": [
                    {"input": name, "first": first, "second": second}
                    for name, first, second in case.fed_otherwise
                ],
            }
            for case in comparison.cases
        ],
        "not_measured": {
            uncompared_case.label: uncompared_case.detail
            for uncompared_case in comparison.not_compared
            if _is_lost(comparison, uncompared_case)
        },
        "not_compared": [
            {
                "case_id": uncompared_case.case_id,
                "case": uncompared_case.label,
                "reason": uncompared_case.reason,
                "why": uncompared_case.detail,
            }
            for uncompared_case in comparison.not_compared
        ],
        "damaged": list(comparison.damaged),
        "only_first": list(comparison.only_first),
        "only_second": list(comparison.only_second),
        "environment": regression_gate.differences_json(comparison.environment),
    }
    if gate:
        document["gate"] = regression_gate.as_json(
            regression_gate.code(comparison, gate),
            regression_gate.reasons(comparison, gate),
            regression_gate.undecided(comparison),
            gate,
        ) | {
            "settings": [
                {"name": name, "value": value, "origin": origin}
                for name, value, origin in comparison.settings
            ]
        }
    return document


def _is_lost(comparison: Comparison, uncompared_case: UncomparedCase) -> bool:
    return comparison.in_turn or uncompared_case.is_lost


def _counts(comparison: Comparison) -> dict[str, int]:
    """How many percentiles got each verdict."""
    words: list[str] = [verdict.word for verdict in comparison.verdicts]
    return {word: words.count(word) for word in _WORDS}


def _sides_of_cases(comparison: Comparison) -> Iterator[tuple[ComparedCase, str, Sides]]:
    for case in comparison.cases:
        for name, sides in case.percentiles.items():
            yield case, name, sides


def _columns(comparison: Comparison) -> tuple[Column, ...]:
    sides = ("baseline", "measured") if comparison.in_turn else ("first", "second")
    return *names("case", "figure"), *map(Column, sides), *names("ratio", "verdict")


def _rows(comparison: Comparison) -> Iterator[tuple[Cell | str, ...]]:
    """Slower cases first, then faster ones; both percentiles of a case below each other."""
    sorted_cases = sorted(comparison.cases, key=lambda case: min(_ORDER[w] for w in _words(case)))
    for case in sorted_cases:
        for name, sides in case.percentiles.items():
            yield (
                case.label + _FED_OTHERWISE * bool(case.fed_otherwise),
                percentile_label(name) + _at_clock(sides),
                Cell(text.figure(sides.first, sides.unit), sides.first, unit=sides.unit),
                Cell(text.figure(sides.second, sides.unit), sides.second, unit=sides.unit),
                _ratio_cell(sides),
                Cell(sides.verdict.word, tone=_TONES.get(sides.verdict.word, "")),
            )


def _at_clock(sides: Sides) -> str:
    return f" at {sides.clock_mhz / 1e3:.2f} GHz" if sides.clock_mhz else ""


_FED_OTHERWISE = " !"
"""Marks a pair whose sides were not fed the same."""


def _ratio_cell(sides: Sides) -> Cell:
    interval = sides.verdict.interval
    low, high = (interval.low, interval.high) if interval is not None else (None, None)
    return Cell(_ratio(sides), sides.ratio, unit="times", low=low, high=high)


def _ratio(sides: Sides) -> str:
    """`1.200x (1.193 to 1.207)`."""
    interval = sides.verdict.interval
    if interval is None:
        return f"{sides.ratio:.3f}x"
    if text.is_too_noisy(interval.low, interval.high):
        return f"{sides.ratio:.3f}x ({text.TOO_NOISY})"
    low, high = (f"{end:.3f}" for end in (interval.low, interval.high))
    return f"{sides.ratio:.3f}x ({low} to {high})"


def _reasons(comparison: Comparison) -> Iterator[str]:
    """Why verdicts are undecided: each reason once, with the figures that it is of."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for case, name, sides in _sides_of_cases(comparison):
        if sides.verdict.detail or sides.verdict.reason:
            figures = by_reason.setdefault(sides.verdict_text, {}).setdefault(case.label, [])
            figures.append(percentile_label(name))
    for reason, figures_by_case in by_reason.items():
        of_cases = [f"{' and '.join(names)} of {case}" for case, names in figures_by_case.items()]
        yield f"{reason} ({text.first_of(of_cases, _MAXIMUM_NAMES)})"


def _first(remarks: Iterable[str]) -> Iterator[str]:
    """The first of one kind, and how many more there are."""
    all_remarks = tuple(remarks)
    yield from all_remarks[:_MAXIMUM_REMARKS]
    if left_out := len(all_remarks[_MAXIMUM_REMARKS:]):
        yield f"… and {left_out:,} more such, which --json FILE has"


def _words(case: ComparedCase) -> list[str]:
    return [sides.verdict.word for sides in case.percentiles.values()]


def _sides(sides: Sides) -> dict[str, Any]:
    interval, variation = sides.verdict.interval, sides.verdict.variation
    return {
        f"first_{sides.unit}": sides.first,
        f"second_{sides.unit}": sides.second,
        "clock_mhz": sides.clock_mhz,
        "ratio": sides.ratio,
        "ratio_ci_low": interval.low if interval else None,
        "ratio_ci_high": interval.high if interval else None,
        "ratio_confidence": sides.verdict.confidence if interval else None,
        "verdict": sides.verdict.word,
        "why": sides.verdict.detail,
        "reason": sides.verdict.reason or None,
        "detectable_slowdown": sides.verdict.detectable,
        "run_variation": variation.deviation if variation else None,
        "run_variation_from": variation.source if variation else None,
    }


def _sentence(comparison: Comparison) -> str:
    """Cases, which add up, and then verdicts, which do: there is one for each percentile."""
    baseline_text = f" against {comparison.first}" if comparison.in_turn else ""
    compared_count, left_out = len(comparison.cases), len(comparison.not_compared)
    parts = [f"{compared_count} compared", *([f"{left_out} not compared"] if left_out else [])]
    head = f"{text.counted(compared_count + left_out, 'case')}{baseline_text}: {', '.join(parts)}"
    counts = [f"{count} {word}" for word, count in _counts(comparison).items() if count]
    verdicts = f"; {text.counted(len(comparison.verdicts), 'verdict')}: {', '.join(counts)}"
    return head + (verdicts if counts else "")


def _remarks(comparison: Comparison, gate: Gate) -> Iterator[str]:
    if not comparison.cases and not comparison.not_compared:
        yield (
            f"{comparison.first} and {comparison.second} share no case: compare runs of "
            "the same models, "
            "runtimes and settings"
        )
    note = interval_note(sides.verdict for _, _, sides in _sides_of_cases(comparison))
    if note:
        yield note
    yield from _first(_reasons(comparison))
    yield from _first(comparison.damaged)
    for is_lost, description in ((True, "no longer measured"), (False, "not compared")):
        yield from _first(
            f"{description}: {item.label}: {item.detail}"
            for item in comparison.not_compared
            if item.is_lost == is_lost
        )
    yield from _first(
        f"not compared: {case.label}: {', '.join(map(percentile_label, case.missing))}, which only "
        "one side has"
        for case in comparison.cases
        if case.missing
    )
    yield from _first(
        f"{_FED_OTHERWISE.strip()} not fed the same: {case.label}: "
        + ", ".join(f"{name} {first}, then {second}" for name, first, second in case.fed_otherwise)
        for case in comparison.cases
        if case.fed_otherwise
    )
    yield from run_variation_notes(comparison)
    machine = [item for item in comparison.environment if _is_of_machine(item[0])]
    if machine:
        description = "; ".join(f"{name} {first}, now {second}" for name, first, second in machine)
        yield (
            f"{comparison.first} was measured on another machine or with other versions: "
            f"{description}"
        )
    for name, first, second in comparison.environment:
        if not _is_of_machine(name):
            yield f"differs: {name}: {first}, then {second}"
    if comparison.only_first:
        alone = "of the baseline, compared with no case"
        origin = alone if comparison.in_turn else f"only in {comparison.first}"
        yield f"{origin}: {text.first_of(comparison.only_first, _MAXIMUM_NAMES)}"
    if comparison.only_second:
        origin = "without a baseline" if comparison.in_turn else f"only in {comparison.second}"
        yield f"{origin}: {text.first_of(comparison.only_second, _MAXIMUM_NAMES)}"
    if gate:
        yield from _settings_by_origin(comparison)
        yield from regression_gate.as_lines(regression_gate.reasons(comparison, gate), gate)


def _settings_by_origin(comparison: Comparison) -> Iterator[str]:
    """Of a gate a line for each origin of its settings, with what it set."""
    texts: dict[str, list[str]] = {}
    for name, value, origin in comparison.settings:
        texts.setdefault(origin, []).append(f"{name} = {value}")
    for origin, values in texts.items():
        yield f"gate settings by {origin}: {', '.join(values)}"


def run_variation_notes(comparison: Comparison) -> Iterator[str]:
    """By how much runs of the machine are taken to differ, from where that is known, and what to do
    where it decides."""
    verdicts = comparison.verdicts
    for source, meaning in _SOURCES.items():
        variations = [v.variation for v in verdicts if v.variation and v.variation.source == source]
        if variations:
            shares = [100.0 * variation.deviation for variation in variations]
            low, high = f"{min(shares):.2g}", f"{max(shares):.2g}"
            range_text = low if low == high else f"{low} to {high}"
            yield f"run-to-run variation ({source}): standard deviation {range_text} %, {meaning}"
    if any(v.reason == NO_RUN_VARIATION for v in verdicts):
        yield (
            f"{NO_RUN_VARIATION}: the run-to-run variation of a tail is not stated. Keep at least "
            f"{MINIMUM_PAST_RUNS} more runs of this machine in the same folder (or --history DIR), "
            "or compare in one run with --baseline"
        )
    if any(v.reason == RUN_VARIATION for v in verdicts):
        yield (
            f"{RUN_VARIATION}: two runs of the same code may differ by as much, and more rounds do "
            "not change that. Compare in one run with --baseline"
        )


def _is_of_machine(name: str) -> bool:
    """Whether what differs makes it another machine, and not the same one at another time."""
    return name.rpartition(" ")[2].startswith(_MACHINE)
