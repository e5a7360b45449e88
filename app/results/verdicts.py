"""Pairs of cases -> a verdict for each percentile, all of them judged together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.results.measured import COMPARED, Measured, clock_resolution, confidence_of
from app.stats.verdict import Difference, Verdict, difference, judge


@dataclass(frozen=True, slots=True)
class Sides:
    """One percentile of both cases, in microseconds, and what is to be said of it."""

    first_us: float
    second_us: float
    verdict: Verdict

    @property
    def ratio(self) -> float:
        """Second over first: below 1 the second is faster."""
        return self.second_us / self.first_us


@dataclass(frozen=True, slots=True)
class Compared:
    """One case beside another: its percentiles by name."""

    case_id: str
    label: str
    clock: str
    percentiles: Mapping[str, Sides]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`lost` are cases that can no longer be compared, with the reason.

    `in_turn` says that both sides were measured in one run, round by round. Of two runs
    `only_first` and `only_second` are the cases that were not asked of the other, `environment`
    is what the two hosts do not share: name, first, second, and `damaged` has a sentence for each
    thing that could not be read of either.
    """

    first: str
    second: str
    band: float
    in_turn: bool
    cases: tuple[Compared, ...]
    lost: Mapping[str, str]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    environment: tuple[tuple[str, str, str], ...] = ()
    damaged: tuple[str, ...] = ()

    def called(self, word: str) -> list[Compared]:
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
    first: Measured
    second: Measured


def interval_note(verdicts: Iterable[Verdict]) -> str:
    """At which confidence the intervals of these verdicts are; "" where none has one."""
    known = [one for one in verdicts if one.interval is not None]
    same = {one.confidence for one in known if one.word == "same"}
    others = {one.confidence for one in known if one.word != "same"}
    parts = [
        f"{_percent(others)}, corrected for all comparisons judged together (Holm)"
        if others
        else "",
        f"{_percent(same)} where two are the same (two one-sided tests)" if same else "",
    ]
    levels = "; ".join(filter(None, parts))
    return f"confidence of the intervals: {levels}" if levels else ""


def _percent(levels: Iterable[float]) -> str:
    low, high = (f"{100 * level:.4g}" for level in (min(levels), max(levels)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def judged(
    pairs: Sequence[Pair], band: float, in_turn: bool, names: Sequence[str] = COMPARED
) -> tuple[Compared, ...]:
    """A verdict for every percentile of `names` that both sides of a pair have.

    In turn, rounds of the same number are one observation, but where the two are of different
    hosts or merged runs. Of two runs, what only the clock of the cores changed is told so.
    """
    found: list[tuple[int, str, float, float]] = []
    tested: list[Difference | None] = []
    for place, pair in enumerate(pairs):
        for name in names:
            a, b = pair.first.value_us(name), pair.second.value_us(name)
            if a is not None and b is not None:
                found.append((place, name, a, b))
                tested.append(_difference(pair, name, in_turn))
    confidence = confidence_of(side for pair in pairs for side in (pair.first, pair.second))
    verdicts = judge(tested, band, confidence)
    by_pair: dict[int, dict[str, Sides]] = {}
    for (place, name, a, b), verdict in zip(found, verdicts, strict=True):
        told = verdict if in_turn else _by_the_clock(pairs[place], verdict, band)
        by_pair.setdefault(place, {})[name] = Sides(a, b, told)
    return tuple(
        Compared(
            pairs[place].second.case.identity_id,
            pairs[place].label,
            str(pairs[place].second.row["clock"]),
            percentiles,
        )
        for place, percentiles in by_pair.items()
    )


def _by_the_clock(pair: Pair, verdict: Verdict, band: float) -> Verdict:
    """Undecided where as many clock cycles took another time, because the clock was another."""
    first, second = pair.first.cpu_mhz, pair.second.cpu_mhz
    if first is None or second is None or verdict.ratio is None:
        return verdict
    edge, clocks = math.log1p(band), math.log(second / first)
    if abs(math.log(verdict.ratio)) <= edge or abs(math.log(verdict.ratio) + clocks) > edge:
        return verdict
    why = f"the clock changed by {second / first - 1:+.0%}"
    return replace(verdict, word="undecided", why=why)


def run_difference(first: Measured, second: Measured, name: str) -> Difference | None:
    """Of one percentile of two cases of a run: over the rounds that both have, which are pairs by
    their numbers, where the rounds of both alternated; else over all of each."""
    if first.turn != second.turn:
        return _difference_apart(first, second, name)
    a, b = first.by_round(name), second.by_round(name)
    both = [number for number in a if number in b]
    return difference(
        [a[number] for number in both],
        [b[number] for number in both],
        in_turn=True,
        resolution=clock_resolution(first, second, name),
    )


def _difference_apart(first: Measured, second: Measured, name: str) -> Difference | None:
    a, b = (tuple(side.by_round(name).values()) for side in (first, second))
    resolution = clock_resolution(first, second, name)
    return difference(a, b, in_turn=False, resolution=resolution)


def _difference(pair: Pair, name: str, in_turn: bool) -> Difference | None:
    if in_turn:
        return run_difference(pair.first, pair.second, name)
    return _difference_apart(pair.first, pair.second, name)
