"""The judge of comparisons: pairs of cases become verdicts, all of them judged together.

The variation between runs is best known from the runs of the machine's history: the same case,
in
runs that nobody changed anything for. Next comes the anchor, a case that both runs measured and
that is the same in both. Else the p50 has a stated variation, and of a tail nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from app.cases.column import number_of
from app.cases.objectives import HIGHER_IS_BETTER
from app.cases.telemetry import STEADY_CLOCK
from app.cases.units import percentile_of
from app.comparison.measured_case import COMPARED, MeasuredCase, clock_resolution, confidence_of
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.hosts import identity_of
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.quantiles import Interval
from app.stats.verdict import (
    CLOCK_CHANGED,
    NO_RUN_VARIATION,
    STATED,
    TOO_FEW_RUNS,
    Difference,
    RunVariation,
    Verdict,
    difference,
    from_anchor,
    judge,
    with_minimum_spread,
)
from exporters.diagnostics.catalogue import codes

_MIDDLE = 50.0
Key = tuple[str, str, str, str, str]
"""A case, a percentile, a clock, a host and its processor."""


@dataclass(frozen=True, slots=True)
class RunVariations:
    """By case and percentile what two runs of one machine differ by.

    `past` is from its history and `cpus` are the processors of the hosts that both runs share;
    `anchor` is the same unchanged case in both runs.
    """

    past: Mapping[Key, RunVariation] = field(default_factory=dict)
    cpus: Mapping[str, str] = field(default_factory=dict)
    anchor: tuple[MeasuredCase, MeasuredCase] | None = None

    def of(self, first: MeasuredCase, second: MeasuredCase, name: str) -> RunVariation | None:
        """None where it is not known, as of a tail without a history and without an anchor."""
        host = str(second.row["host"] or "")
        if str(first.row["host"] or "") == host:
            clock = str(second.row["clock"] or "")
            key = (identity_of(second.case), name, clock, host, self.cpus.get(host, ""))
            variation = self.past.get(key) or self._from_anchor(first, second, name)
            if variation is not None:
                return variation
        return STATED if is_middle(name) else None

    def anchor_ratios(self, names: Sequence[str]) -> dict[str, float]:
        """By percentile the anchor's second figure over its first: how the machine moved."""
        if self.anchor is None:
            return {}
        first, second = self.anchor
        figures = {name: (first.value(name), second.value(name)) for name in names}
        return {
            name: second_value / first_value
            for name, (first_value, second_value) in figures.items()
            if first_value and second_value
        }

    def _from_anchor(
        self, first: MeasuredCase, second: MeasuredCase, name: str
    ) -> RunVariation | None:
        """Where the anchor was measured on the machine and by the clock of both cases."""
        if self.anchor is None:
            return None
        for anchor, side in zip(self.anchor, (first, second), strict=True):
            if any(anchor.row[column] != side.row[column] for column in ("host", "clock")):
                return None
        first_figures, second_figures = (list(side.by_round(name).values()) for side in self.anchor)
        return from_anchor(first_figures, second_figures)


STATED_ALONE = RunVariations()
"""Where there is neither a history nor an anchor."""


def is_middle(name: str) -> bool:
    """Whether it is the median or below, of which a variation is stated."""
    percentile = percentile_of(name)
    return percentile is not None and percentile <= _MIDDLE


Unit = Literal["us", "per_s"]


@dataclass(frozen=True, slots=True)
class Sides:
    """One figure of both cases in its `unit`, and its verdict: of a throughput the ratio above 1
    is faster, of a latency that below 1."""

    first: float
    second: float
    verdict: Verdict
    unit: Unit = "us"

    @property
    def ratio(self) -> float:
        """Second over first."""
        return self.second / self.first

    @property
    def verdict_text(self) -> str:
        """The word, and of an undecided one the code of the reason and the reason."""
        verdict = self.verdict
        code = f" ({verdict.reason})" if verdict.reason else ""
        return f"{verdict.word}{code}: {verdict.detail}" if verdict.detail else verdict.word


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """One case beside another: its percentiles by name; `missing` are those that only one of the
    two has. `warning_codes` are those of the diagnostics of either."""

    case_id: str
    label: str
    clock: str
    percentiles: Mapping[str, Sides]
    missing: tuple[str, ...] = ()
    warning_codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UncomparedCase:
    """A case that both sides planned and that has no verdict.

    `reason` is a code: the status of the row that stands in the way, or one of `OTHER_CLOCK`,
    `NO_PERCENTILE`, `NO_RUNS` and `NOT_VALID`; `why` is a sentence. `lost`: of two runs, the first
    measured the case and the second did not.
    """

    case_id: str
    label: str
    reason: str
    detail: str
    is_lost: bool = False


OTHER_CLOCK, NO_PERCENTILE = "other_clock", "no_percentile"
"""Reasons: clocks that are not mixed, no percentile that both sides have."""
NO_RUNS, NOT_VALID = "no_runs", "not_valid"
"""Reasons: a row that is `ok` without runs, and one whose measurement broke its protocol."""
TOO_SHORT = "too few runs in a round"
"""Why there is no interval although there are rounds enough."""
NOT_KNOWN_APART = "measured apart"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`cases` have verdicts, `not_compared` none.

    `in_turn` says that both sides were measured in one run, round by round. `only_first` and
    `only_second` are the cases that the other side did not plan. Of two runs `environment` is what
    the two hosts do not share: name, first, second, and `damaged` has a sentence for each thing
    that could not be read of either. `anchor` is the ratio of each percentile of the anchor, the
    case that shows how the machine moved and is not judged.
    """

    first: str
    second: str
    band: float
    in_turn: bool
    cases: tuple[ComparedCase, ...]
    not_compared: tuple[UncomparedCase, ...] = ()
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    environment: tuple[tuple[str, str, str], ...] = ()
    damaged: tuple[str, ...] = ()
    anchor: Mapping[str, float] = field(default_factory=dict)

    @property
    def verdicts(self) -> list[Verdict]:
        """Of each case and percentile."""
        return [sides.verdict for case in self.cases for sides in case.percentiles.values()]

    def cases_with(self, word: str) -> list[ComparedCase]:
        """The cases of which some percentile got this verdict."""
        return [
            case
            for case in self.cases
            if any(sides.verdict.word == word for sides in case.percentiles.values())
        ]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cases of the same clock to be compared, and what the pair is called."""

    label: str
    first: MeasuredCase
    second: MeasuredCase


def interval_note(verdicts: Iterable[Verdict]) -> str:
    """At which confidence the intervals of these verdicts are; "" where none has one."""
    usable = [verdict for verdict in verdicts if verdict.interval is not None]
    same_levels = {verdict.confidence for verdict in usable if verdict.word == "same"}
    other_levels = {verdict.confidence for verdict in usable if verdict.word != "same"}
    is_corrected = any(verdict.family > 1 for verdict in usable if verdict.word != "same")
    correction = ", corrected for all comparisons judged together (Holm)" * is_corrected
    parts = [
        f"{_percent(other_levels)}{correction}" if other_levels else "",
        f"{_percent(same_levels)} where two are the same (two one-sided tests)"
        if same_levels
        else "",
    ]
    levels = "; ".join(filter(None, parts))
    return f"confidence of the intervals: {levels}" if levels else ""


def _percent(levels: Iterable[float]) -> str:
    low, high = (f"{100 * level:.4g}" for level in (min(levels), max(levels)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def ending_reason(side: MeasuredCase) -> tuple[str, str]:
    """How a case ended that can't be compared, as a code and as a sentence."""
    status, reason = str(side.row["status"]), side.row["reason"]
    if status == "ok" and side.row["valid"] is False:
        return NOT_VALID, f"not valid: {reason or 'the measurement broke its own protocol'}"
    if status == "ok" and side.summary is None:
        return NO_RUNS, f"{status}: {reason or 'no run was measured'}"
    return status, f"{status}: {reason or 'not measured'}"


def clock_obstacle(pair: Pair) -> tuple[str, str]:
    """The same for two clocks that are not mixed, both empty where there is one clock."""
    first, second = pair.first.row["clock"], pair.second.row["clock"]
    if first == second:
        return "", ""
    return OTHER_CLOCK, f"the clock is {second}, the baseline's {first}"


def missing_percentiles(
    pairs: Sequence[Pair], cases: Sequence[ComparedCase]
) -> Iterator[UncomparedCase]:
    """The pairs of which no percentile has a verdict, since one side lacks each."""
    compared = {case.case_id for case in cases}
    for pair in pairs:
        case_id = pair.second.case.identity_id
        if case_id not in compared:
            detail = "no percentile was measured on both sides: both need the same --percentiles"
            yield UncomparedCase(case_id, pair.label, NO_PERCENTILE, detail)


def judge_pairs(
    pairs: Sequence[Pair],
    band: float,
    in_turn: bool,
    names: Sequence[str] = COMPARED,
    variations: RunVariations = STATED_ALONE,
) -> tuple[ComparedCase, ...]:
    """A verdict for every figure of `names` that both sides of a pair have.

    In turn, rounds of the same number are one observation, but where the two are of different
    hosts or merged runs. What was not measured in turn is judged with what runs differ by, and
    what only the clock of the cores changed is told so.
    """
    figures: list[tuple[int, str, float, float]] = []
    changes: list[Difference | None] = []
    for place, pair in enumerate(pairs):
        for name in names:
            a, b = pair.first.value(name), pair.second.value(name)
            if a is not None and b is not None:
                figures.append((place, name, a, b))
                changes.append(_difference(pair, name, in_turn, variations))
    confidence = confidence_of(side for pair in pairs for side in (pair.first, pair.second))
    if in_turn:
        changes = with_minimum_spread(changes, [name for _, name, _, _ in figures])
    verdicts = judge(changes, band, confidence)
    by_pair: dict[int, dict[str, Sides]] = {}
    for (place, name, a, b), verdict in zip(figures, verdicts, strict=True):
        pair = pairs[place]
        result = verdict if in_turn else _adjust_for_clock(pair, verdict, band)
        result = adjust_for_gpu_clock(pair.first, pair.second, result)
        if verdict.interval is None and min(_rounds(pair, in_turn)) >= MINIMUM_ROUNDS:
            result = _without_interval(pair, name, in_turn, verdict)
        unit: Unit = "us"
        if name in HIGHER_IS_BETTER:
            result, unit = _of_rates(result), "per_s"
        by_pair.setdefault(place, {})[name] = Sides(a, b, result, unit)
    return tuple(
        ComparedCase(
            pairs[place].second.case.identity_id,
            pairs[place].label,
            str(pairs[place].second.row["clock"]),
            percentiles,
            tuple(name for name in names if _has_one_side(pairs[place], name)),
            _codes(pairs[place]),
        )
        for place, percentiles in by_pair.items()
    )


def _codes(pair: Pair) -> tuple[str, ...]:
    sides = (pair.first, pair.second)
    return codes([entry for side in sides for entry in diagnostics_of(side.row)])


def _without_interval(pair: Pair, name: str, in_turn: bool, verdict: Verdict) -> Verdict:
    """Why there is none although there are rounds enough: they are too short, or nobody knows by
    how much runs differ."""
    is_unpaired = not in_turn or pair.first.turn != pair.second.turn
    figures = [len(side.by_round(name)) for side in (pair.first, pair.second)]
    if is_unpaired and min(figures) >= MINIMUM_ROUNDS:
        return replace(verdict, detail=NOT_KNOWN_APART, reason=NO_RUN_VARIATION)
    return replace(verdict, detail=TOO_SHORT, reason=TOO_FEW_RUNS)


def _rounds(pair: Pair, in_turn: bool) -> tuple[int, int]:
    """How many timed rounds each side has; of sides that alternated, how many both have."""
    first, second = pair.first, pair.second
    if in_turn and first.turn == second.turn:
        count = len(set(first.rounds) & set(second.rounds))
        return count, count
    return len(first.rounds), len(second.rounds)


def _has_one_side(pair: Pair, name: str) -> bool:
    return (pair.first.value(name) is None) != (pair.second.value(name) is None)


def _of_rates(verdict: Verdict) -> Verdict:
    """The verdict of times, with the ratio of rates: the word stays, what is faster has more."""
    ratio, interval = verdict.ratio, verdict.interval
    return replace(
        verdict,
        ratio=None if ratio is None else 1.0 / ratio,
        interval=None if interval is None else Interval(1.0 / interval.high, 1.0 / interval.low),
    )


def _times(side: MeasuredCase, name: str) -> Mapping[int, float]:
    """The rounds' own figures, of which less is better: of a rate the time that an input takes."""
    figures = side.by_round(name)
    if name not in HIGHER_IS_BETTER:
        return figures
    return {number: 1.0 / rate for number, rate in figures.items() if rate > 0.0}


def _adjust_for_clock(pair: Pair, verdict: Verdict, band: float) -> Verdict:
    """Undecided where as many clock cycles took another time, because the clock was another."""
    first, second = pair.first.cpu_mhz, pair.second.cpu_mhz
    if first is None or second is None or verdict.ratio is None:
        return verdict
    edge, clocks = math.log1p(band), math.log(second / first)
    if abs(math.log(verdict.ratio)) <= edge or abs(math.log(verdict.ratio) + clocks) > edge:
        return verdict
    detail = f"the clock changed by {second / first - 1:+.0%}"
    return replace(verdict, word="undecided", detail=detail, reason=CLOCK_CHANGED)


def adjust_for_gpu_clock(first: MeasuredCase, second: MeasuredCase, verdict: Verdict) -> Verdict:
    """Undecided where the same GPU ran at clocks that differ by more than its steps."""
    uuid = first.row.get("gpu_uuid")
    clocks = [number_of(side.row.get("gpu_clock_mhz")) for side in (first, second)]
    numbers_mhz = [clock for clock in clocks if clock]
    if not uuid or uuid != second.row.get("gpu_uuid") or len(numbers_mhz) < len(clocks):
        return verdict
    if max(numbers_mhz) <= STEADY_CLOCK * min(numbers_mhz):
        return verdict
    detail = f"the GPU's clock was {numbers_mhz[0]:.0f} and {numbers_mhz[1]:.0f} MHz"
    return replace(verdict, word="undecided", detail=detail, reason=CLOCK_CHANGED)


def run_difference(
    first: MeasuredCase, second: MeasuredCase, name: str, variations: RunVariations = STATED_ALONE
) -> Difference | None:
    """Of one percentile of two cases of a run: over the rounds that both have, which are pairs by
    their numbers, where the rounds of both alternated; else over all of each."""
    if first.turn != second.turn:
        return _difference_apart(Pair("", first, second), name, variations)
    a, b = _times(first, name), _times(second, name)
    numbers = [number for number in a if number in b]
    return difference(
        [a[number] for number in numbers],
        [b[number] for number in numbers],
        in_turn=True,
        resolution=clock_resolution(first, second, name),
    )


def _difference_apart(pair: Pair, name: str, variations: RunVariations) -> Difference | None:
    """None too where nobody knows by how much runs differ."""
    variation = variations.of(pair.first, pair.second, name)
    if variation is None:
        return None
    a, b = (tuple(_times(side, name).values()) for side in (pair.first, pair.second))
    resolution = clock_resolution(pair.first, pair.second, name)
    return difference(a, b, False, resolution, variation)


def _difference(
    pair: Pair, name: str, in_turn: bool, variations: RunVariations
) -> Difference | None:
    if in_turn:
        return run_difference(pair.first, pair.second, name, variations)
    return _difference_apart(pair, name, variations)
