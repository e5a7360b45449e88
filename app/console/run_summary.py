"""Sentences that summarise a run: fastest, failures, warnings, and how precise the figures are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.cases.column import Row
from app.cases.objectives import BAND, JUDGED
from app.cases.status import INCOMPLETE
from app.comparison.judge import interval_note
from app.comparison.measured_case import Measured
from app.comparison.ranking import Fastest, fastest
from app.formatting import text
from app.formatting.case_labels import Together
from app.insights.quality import causes
from app.insights.rules import noticed
from app.run_folder.diagnostics import text as diagnostic_text
from app.run_folder.diagnostics import warning_groups
from app.run_folder.run import Run
from app.stats.intervals import CLOSE_CONTENDED_S, LEAST_ROUNDS
from app.stats.required_rounds import MOST_ROUNDS, NARROW
from exporters.diagnostics.catalogue import DiagnosticGroup
from exporters.model_names import is_null

_HUGE = 1.0
"""A change beyond this is told as such: nobody plans for more exactly."""


def sureness(rows: Sequence[Row]) -> Iterator[str]:
    """Nothing where no wall clock measured three rounds."""
    known = [row for row in rows if row["clock"] != "simulated" and row["required_rounds_p50"]]
    if not known:
        return
    rounds: list[str] = []
    changes: list[str] = []
    for name in JUDGED:
        some = [row for row in known if row[f"required_rounds_{name}"]]
        if some:
            needed = [int(row[f"required_rounds_{name}"] or 0) for row in some]
            rounds.append(f"{_between(needed)} rounds for {name}")
            found = [float(row[f"detectable_slowdown_{name}"] or 0.0) for row in some]
            changes.append(f"{name} {_shares(found)}")
    had = _between([int(row["rounds"] or 0) for row in known])
    lacking = any(int(row["required_rounds_p50"] or 0) > int(row["rounds"] or 0) for row in known)
    narrow = f"{100 * NARROW:g}"
    remedy = f"; --ci-width p50={narrow}% adds them" if lacking else ""
    yield f"±{narrow} % needs {', '.join(rounds)} ({had} were run){remedy}"
    yield f"detectable slowdown at 90 % power with {had} rounds: {', '.join(changes)}"


def _between(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _shares(values: Sequence[float]) -> str:
    low, high = f"{100 * min(values):.0f}", f"{100 * max(values):.0f}"
    if min(values) > _HUGE:
        return f"more than {100 * _HUGE:.0f} %"
    if max(values) > _HUGE:
        return f"{low} to more than {100 * _HUGE:.0f} %"
    return f"{low} %" if low == high else f"{low} to {high} %"


SHORT_S = 120.0
"""Rounds within so short a time see one state of the machine; the spread of `standard`."""
ADVISED, ADVISED_CONTENDED = "10m", "30m"


def spread_advice(run: Run, measured: Sequence[Measured]) -> str:
    """Empty where no case lacks rounds for its interval, or rounds are spread as they are.

    It names a number of rounds too, where so many would narrow the intervals and the rounds do not
    correlate: of rounds that do, more in the same time hardly help.
    """
    if run.manifest.asked.is_search:
        return ""
    close = [one for one in measured if _lacks_rounds(one) and 0.0 < _span_s(one) < _short_s(one)]
    if not close:
        return ""
    advised = ADVISED_CONTENDED if any(_has(one, "contended") for one in close) else ADVISED
    most, longest_s = max(len(one.rounds) for one in close), max(map(_span_s, close))
    cases = f"{len(close)} case{'' if len(close) == 1 else 's'}"
    return (
        f"{cases} had all rounds (at most {most}) within {text.duration(longest_s)}, "
        f"in one state of the machine: --spread {advised} lets their intervals hold for longer, "
        f"more rounds in a row do not{_rounds_besides(close)}"
    )


def _rounds_besides(close: Sequence[Measured]) -> str:
    needed = [_needed(one) or 0 for one in close if not _has(one, "rounds_correlated")]
    helped = [rounds for rounds in needed if rounds <= MOST_ROUNDS]
    if not helped:
        return ""
    return f"; --rounds {max(helped)} would bring {len(helped)} of them to ±{100 * NARROW:g} %"


def _span_s(one: Measured) -> float:
    """From the begin of the first round to that of the last; 0 where it is not recorded."""
    return float(one.row.get("rounds_span_s") or 0.0)


def _short_s(one: Measured) -> float:
    return CLOSE_CONTENDED_S if _has(one, "contended") else SHORT_S


def _lacks_rounds(one: Measured) -> bool:
    """Whether its interval is wide although it has rounds enough for one."""
    needed = _needed(one)
    if one.row["clock"] == "simulated" or len(one.rounds) < LEAST_ROUNDS or needed is None:
        return False
    return needed > len(one.rounds)


def _needed(one: Measured) -> int | None:
    needed = one.row.get("required_rounds_p50")
    return None if needed is None else int(float(needed))


def _has(one: Measured, flag: str) -> bool:
    return flag in str(one.row.get("ci_flags") or "").split()


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
