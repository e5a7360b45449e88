"""Sentences that summarise a run: fastest, failures, warnings, and how precise the figures are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.analysis.comparison.judge import interval_note
from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.ranking import Fastest
from app.analysis.insights.quality import causes
from app.analysis.insights.rules import HEADING, find_insights
from app.cases.column import Row
from app.cases.objectives import JUDGED
from app.cases.status import INCOMPLETE, TONES
from app.formatting import text
from app.formatting.case_labels import CaseSet
from app.present.console.row_table import row_table, shown_percentiles
from app.present.document import Details, Note, Points
from app.run_folder.diagnostics import text as diagnostic_text
from app.run_folder.diagnostics import warning_groups
from app.run_folder.run import Run
from app.stats.intervals import CLOSE_CONTENDED_S, MINIMUM_ROUNDS
from app.stats.required_rounds import MAXIMUM_ROUNDS, NARROW
from app.stats.verdict import STATES_DIFFER
from exporters.diagnostics import DiagnosticGroup

_HUGE = 1.0
"""A change beyond this is told as such: nobody plans for more exactly."""


def precision_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Nothing where no wall clock measured three rounds."""
    timed_rows = [row for row in rows if row["clock"] != "simulated" and row["required_rounds_p50"]]
    if not timed_rows:
        return
    rounds: list[str] = []
    changes: list[str] = []
    for name in JUDGED:
        figure_rows = [row for row in timed_rows if row[f"required_rounds_{name}"]]
        if figure_rows:
            needed_rounds = [int(row[f"required_rounds_{name}"] or 0) for row in figure_rows]
            rounds.append(f"{_range_text(needed_rounds, 'round')} for {name}")
            slowdowns = [float(row[f"detectable_slowdown_{name}"] or 0.0) for row in figure_rows]
            changes.append(f"{name} {_shares(slowdowns)}")
    round_range = _range_text([int(row["rounds"] or 0) for row in timed_rows])
    lacking = any(
        int(row["required_rounds_p50"] or 0) > int(row["rounds"] or 0) for row in timed_rows
    )
    narrow = f"{100 * NARROW:g}"
    remedy = f"; --ci-width p50={narrow}% adds them" if lacking else ""
    yield f"±{narrow} % needs {', '.join(rounds)} ({round_range} were run){remedy}"
    yield f"detectable slowdown at 90 % power with {round_range} rounds: {', '.join(changes)}"


def _range_text(numbers: Sequence[int], noun: str = "") -> str:
    low, high = min(numbers), max(numbers)
    end = text.counted(high, noun) if noun else f"{high:,}"
    return end if low == high else f"{low:,} to {end}"


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


def spread_advice(run: Run, measurements: Sequence[MeasuredCase]) -> str:
    """Empty where no case lacks rounds for its interval, or rounds are spread as they are.

    It names a number of rounds too, where so many would narrow the intervals and the rounds do not
    correlate: of rounds that do, more in the same time hardly help.
    """
    if run.manifest.requested_plan.is_search:
        return ""
    close = [m for m in measurements if _lacks_rounds(m) and 0.0 < _span_s(m) < _short_s(m)]
    if not close:
        return ""
    is_contended = any(_has(m, "contended") for m in close)
    spread_text = ADVISED_CONTENDED if is_contended else ADVISED
    most = max(len(m.rounds) for m in close)
    longest_s = max(map(_span_s, close))
    cases = text.counted(len(close), "case")
    return (
        f"All rounds of {cases} (at most {most} each) lie within {text.duration(longest_s)}, so "
        "the intervals hold for this state of the machine only. More rounds in a row do not change "
        f"that, --spread {spread_text} does{_rounds_besides(close)}"
    )


def _rounds_besides(close: Sequence[MeasuredCase]) -> str:
    needed_rounds = [_needed_rounds(m) or 0 for m in close if not _has(m, "rounds_correlated")]
    useful_rounds = [rounds for rounds in needed_rounds if rounds <= MAXIMUM_ROUNDS]
    if not useful_rounds:
        return ""
    count = len(useful_rounds)
    return f"; --rounds {max(useful_rounds)} would bring {count} of them to ±{100 * NARROW:g} %"


def _span_s(start: MeasuredCase) -> float:
    """From the begin of the first round to that of the last; 0 where it is not recorded."""
    return float(start.row.get("rounds_span_s") or 0.0)


def _short_s(measurement: MeasuredCase) -> float:
    return CLOSE_CONTENDED_S if _has(measurement, "contended") else SHORT_S


def _lacks_rounds(measurement: MeasuredCase) -> bool:
    """Whether its interval is wide although it has rounds enough for one."""
    needed_rounds = _needed_rounds(measurement)
    if (
        measurement.row["clock"] == "simulated"
        or len(measurement.rounds) < MINIMUM_ROUNDS
        or needed_rounds is None
    ):
        return False
    return needed_rounds > len(measurement.rounds)


def _needed_rounds(one: MeasuredCase) -> int | None:
    needed = one.row.get("required_rounds_p50")
    return None if needed is None else int(float(needed))


def _has(measurement: MeasuredCase, flag: str) -> bool:
    return flag in str(measurement.row.get("ci_flags") or "").split()


ROWS, WARNINGS, FASTEST, SURE = "rows", "warnings", "fastest by median", "confidence"
"""Headings."""


def full_parts(
    measurements: Sequence[MeasuredCase],
    percentiles: tuple[float, ...],
    band: float,
    contests: Sequence[Fastest],
    *,
    ranked: bool,
    sort: str = "",
) -> Iterator[Details]:
    """Every row that was come to, warning with its cases, finding, and comparison with its
    interval, where a change within `band` is none: a heading of each on a terminal, folded on a
    page.

    Nothing is `ranked` of a search over options, which chose what it measured on by luck too: its
    final rounds alone show what is better.
    """
    rows = [item.row for item in measurements if item.row["status"] not in INCOMPLETE]
    case_set = CaseSet([measurement.case for measurement in measurements])
    groups = warning_groups(rows)
    if rows:
        table = row_table(rows, row_marks(groups), sort, shown_percentiles(percentiles))
        yield Details(ROWS, (replace(table, has_all_columns=True),))
    warnings = enumerate(warning_texts(groups, case_set), 1)
    if notes := tuple(Note(f"({number})", text) for number, text in warnings):
        yield Details(WARNINGS, notes)
    if not ranked:
        return
    insights = (notice.sentence for notice in find_insights(measurements, case_set, contests))
    lists = {HEADING: insights, FASTEST: _fastest(contests, band), SURE: precision_lines(rows)}
    for heading, sentences in lists.items():
        if texts := tuple(sentences):
            yield Details(heading, (Points(texts),))


def failure_causes(rows: Sequence[Row], case_set: CaseSet) -> tuple[Note, ...]:
    """Of each cause that rows failed by, whose they are and what it is; its code is the status.

    A row whose figures do not count has the status `ok` and no tone of its own.
    """
    return tuple(
        Note(
            cause.status.replace("_", " "),
            f"{case_set.text(cause.case_ids)}: {cause.reason}",
            TONES.get(cause.status, "error"),
            cause.status.replace(" ", "_"),
        )
        for cause in causes(rows)
    )


def warning_texts(groups: Iterable[DiagnosticGroup], case_set: CaseSet) -> tuple[str, ...]:
    """Of each code, whose rows have it and what it says."""
    return tuple(f"{case_set.text(g.case_ids)}: {diagnostic_text(*g.diagnostics)}" for g in groups)


def verdict_text(contest: Fastest, band: float) -> str:
    """`ort-cpu, 1.42 times as fast as torch-cpu (1.38 to 1.47)`, or what would decide it.

    The interval is the one that decided.
    """
    clock = (
        " (simulated)" if contest.simulated else ", measured apart" if contest.is_unpaired else ""
    )
    value, interval = text.significant(contest.times), contest.verdict.interval
    interval_text = ""
    if interval is not None:
        interval_text = f" ({text.ratio_interval(interval.low, interval.high)})"
    change = contest.verdict.difference
    if change is not None and change.states:
        interval_text = f" ({contest.verdict.detail})"
    if contest.parted:
        return f"{contest.first}, {value} times as fast as {contest.second}{interval_text}{clock}"
    if contest.verdict.word == "same":
        return (
            f"{contest.first} and {contest.second} are the same within "
            f"{100 * band:g}%{interval_text}{clock}"
        )
    if contest.rounds < MINIMUM_ROUNDS:
        return f"undecided; {contest.first} leads {contest.second} by {value} times{clock}"
    sentence = (
        f"undecided between {contest.first} and {contest.second}, {value} times{interval_text}"
    )
    if contest.is_unpaired or contest.verdict.reason == STATES_DIFFER:
        return f"{sentence}{clock}"
    decides = f"--rounds {contest.needed} may decide" if contest.needed else _possible(contest)
    return f"{sentence}: {decides}{clock}"


def _possible(contest: Fastest) -> str:
    """What an interval allows that no sensible number of rounds makes narrow enough."""
    interval = contest.verdict.interval
    if interval is None or text.is_too_noisy(interval.low, interval.high):
        return "too noisy to compare, use a quieter machine"
    sides = [
        f"{text.significant(times, 2)} times {word}"
        for times, word in ((1 / interval.low, "faster"), (interval.high, "slower"))
        if times > 1.0
    ]
    return f"{contest.second} may be up to {' or '.join(sides)}"


def _fastest(contests: Sequence[Fastest], band: float) -> list[str]:
    sentences = [f"{contest.label}: {verdict_text(contest, band)}" for contest in contests]
    note = interval_note(contest.verdict for contest in contests)
    if note:
        sentences.append(note)
    if any(not contest.parted and contest.rounds < MINIMUM_ROUNDS for contest in contests):
        sentences.append(
            f"undecided: fewer than {MINIMUM_ROUNDS} rounds do not show how much processes differ: "
            f"--rounds {MINIMUM_ROUNDS} or more"
        )
    return sentences


def row_marks(groups: Sequence[DiagnosticGroup]) -> dict[str, str]:
    """By case id the numbers of the warnings on a row, which count from 1: `(1,3)`."""
    numbers: dict[str, list[str]] = {}
    for number, group in enumerate(groups, 1):
        for case_id in group.case_ids:
            numbers.setdefault(case_id, []).append(str(number))
    return {case_id: f"({','.join(case_numbers)})" for case_id, case_numbers in numbers.items()}
