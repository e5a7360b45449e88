"""A run in sentences, for whoever shows one: what is fastest, what to look at and what to doubt.

Gathered once; the terminal, Markdown and the page each give them their own form. Names in them are
a user's, and nothing is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.cases.column import Row
from app.cases.status import INCOMPLETE
from app.cases.verdict import BAND
from app.console.sureness import sureness
from app.results import text
from app.results.causes import causes
from app.results.diagnostic_columns import text as diagnostic_text
from app.results.diagnostic_columns import warning_groups
from app.results.fastest import Fastest, fastest
from app.results.measured import Measured
from app.results.noticing.noticed import noticed
from app.results.together import Together
from app.results.verdicts import interval_note
from app.stats.between import LEAST_ROUNDS
from exporters.diagnostics.groups import DiagnosticGroup
from exporters.twins import is_null

FASTEST, SURE = "fastest by median", "confidence"
"""Headings; `noticed` has its own."""


@dataclass(frozen=True, slots=True)
class Why:
    """`sentence` is whose rows have a status and what the reason is."""

    status: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Said:
    """`begun` are the rows of cases that were come to. The doubts are numbered from 1, and `marks`
    has by case id the numbers of those on a row: `(1,3)`."""

    begun: tuple[Row, ...]
    marks: Mapping[str, str]
    doubts: tuple[str, ...]
    causes: tuple[Why, ...]
    noticed: tuple[str, ...]
    fastest: tuple[str, ...]
    sure: tuple[str, ...]


def said(measured: Sequence[Measured], band: float = BAND) -> Said:
    """What there is to say of these; a change within `band` is none."""
    rows = [one.row for one in measured]
    begun = tuple(row for row in rows if row["status"] not in INCOMPLETE)
    together = Together([one.case for one in measured])
    groups = warning_groups(begun)
    contests = fastest([one for one in measured if not is_null(one.case.model)], band)
    return Said(
        begun,
        _marks(groups),
        doubts(groups, together),
        whys(rows, together),
        tuple(notice.sentence for notice in noticed(measured, together, contests)),
        tuple(_fastest(contests, band)),
        tuple(sureness(begun)),
    )


def whys(rows: Sequence[Row], together: Together) -> tuple[Why, ...]:
    """Of each cause that rows failed by, whose they are and what it is."""
    return tuple(
        Why(cause.status, f"{together.text(cause.case_ids)}: {cause.reason}")
        for cause in causes(rows)
    )


def doubts(groups: Iterable[DiagnosticGroup], together: Together) -> tuple[str, ...]:
    """Of each code, whose rows have it and what it says."""
    return tuple(
        f"{together.text(group.case_ids)}: {diagnostic_text(*group.diagnostics)}"
        for group in groups
    )


def without_winners(told: Said) -> Said:
    """The same of a search over options, which chose what it measured on by luck too: its final
    rounds alone say what is better."""
    return replace(told, noticed=(), fastest=(), sure=())


def verdict_text(one: Fastest, band: float) -> str:
    """`ort-cpu, 1.42 times as fast as torch-cpu (1.38 to 1.47)`, or what would decide it.

    The interval is the one that decided.
    """
    clock = " (simulated)" if one.simulated else ", measured apart" if one.apart else ""
    value, interval = text.significant(one.times), one.verdict.interval
    between = ""
    if interval is not None:
        between = f" ({text.ratio_interval(interval.low, interval.high)})"
    if one.parted:
        return f"{one.first}, {value} times as fast as {one.second}{between}{clock}"
    if one.verdict.word == "same":
        return f"{one.first} and {one.second} are the same within {100 * band:g}%{between}{clock}"
    if one.rounds < LEAST_ROUNDS:
        return f"undecided; {one.first} leads {one.second} by {value} times{clock}"
    told = f"undecided between {one.first} and {one.second}, {value} times{between}"
    if one.apart:
        return f"{told}{clock}"
    decides = f"--rounds {one.needed} may decide" if one.needed else _possible(one)
    return f"{told}: {decides}{clock}"


def _possible(one: Fastest) -> str:
    """What an interval allows that no sensible number of rounds makes narrow enough."""
    interval = one.verdict.interval
    if interval is None or text.is_too_noisy(interval.low, interval.high):
        return "too noisy to compare, use a quieter machine"
    sides = [
        f"{text.significant(times, 2)} times {word}"
        for times, word in ((1 / interval.low, "faster"), (interval.high, "slower"))
        if times > 1.0
    ]
    return f"{one.second} may be up to {' or '.join(sides)}"


def _fastest(contests: Sequence[Fastest], band: float) -> list[str]:
    told = [f"{one.what}: {verdict_text(one, band)}" for one in contests]
    note = interval_note(one.verdict for one in contests)
    if note:
        told.append(note)
    if any(not one.parted and one.rounds < LEAST_ROUNDS for one in contests):
        told.append(
            f"undecided: fewer than {LEAST_ROUNDS} rounds do not show how much processes differ: "
            f"--rounds {LEAST_ROUNDS} or more"
        )
    return told


def _marks(groups: Sequence[DiagnosticGroup]) -> dict[str, str]:
    numbers: dict[str, list[str]] = {}
    for number, group in enumerate(groups, 1):
        for case_id in group.case_ids:
            numbers.setdefault(case_id, []).append(str(number))
    return {case_id: f"({','.join(own)})" for case_id, own in numbers.items()}
