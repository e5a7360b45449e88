"""The fastest runtime of each model, and by how much: only like is compared with like.

What is compared shares model, sizes, precision, threads, scenario, condition, concurrency, clock,
boundary and host; only the runtime and its options differ. One is called the fastest only where
each of the others is slower, by pairs of rounds of the run, all verdicts judged together. Of cases
that several hosts measured the fastest host is told likewise, by rounds that are no pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from app.cases.column import Row
from app.cases.dimensions import MATCHING, without
from app.comparison.judge import run_difference
from app.comparison.measured_case import Key, Measured, confidence_of, contender, names
from app.stats.intervals import LEAST_ROUNDS
from app.stats.verdict import Difference, Verdict, judge, rounds_to_decide, with_least_spread

_P50 = "p50"
_HOST = "host"
_MATCHING_OVER_HOSTS = without(_HOST)


@dataclass(frozen=True, slots=True)
class Fastest:
    """`first` and `second` are the two with the least medians, `verdict` that of the second.

    Where the first is not `parted` from all others, the second is the one that is told: the
    nearest of those that it is not parted from. `what` is the model and whatever tells this
    comparison from the others. `times` is the second's median over the first's. `rounds` is the
    number of pairs, or of the fewer rounds where the two were measured `apart`; `needed` is how
    many pairs would decide it, None where it is hopeless or there are none. `case_ids` are those of
    the two, `slower` those of all that are slower than the first, and `margin` is how many times as
    long each other takes at least, 0 where the first is not parted from all. `ranking` are all that
    were compared, the least median first; `between_hosts`: the cases of one runtime on several.
    """

    what: str
    first: str
    second: str
    times: float
    verdict: Verdict
    parted: bool
    rounds: int
    needed: int | None
    simulated: bool
    apart: bool = False
    case_ids: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    margin: float = 0.0
    ranking: tuple[str, ...] = ()
    between_hosts: bool = False


@dataclass(frozen=True, slots=True)
class _Contest:
    """Cases that are alike, the least median first; `named` says of a row who contends."""

    group: Sequence[Measured]
    called: str
    named: Callable[[Row], str]

    @property
    def differences(self) -> list[Difference | None]:
        first, *others = self.group
        return [run_difference(first, other, _P50) for other in others]


def fastest(measured: Iterable[Measured], band: float) -> list[Fastest]:
    """One for each set of alike rows in which at least two are well, in the plan's order; then one
    for each case that two hosts have."""
    well = [one for one in measured if one.is_well and one.value_us(_P50)]
    placed = [one for one in well if one.case.host and one.row["clock"] != "simulated"]
    contests = [
        *_contests(well, MATCHING, lambda row: "", contender),
        *_contests(placed, _MATCHING_OVER_HOSTS, contender, _on_host),
    ]
    confidence = confidence_of(one for contest in contests for one in contest.group)
    measured_differences = [d for contest in contests for d in contest.differences]
    tested = with_least_spread(measured_differences, [_P50] * len(measured_differences))
    judged = zip(tested, judge(tested, band, confidence), strict=True)
    return [
        _fastest(contest, list(islice(judged, len(contest.group) - 1)), band)
        for contest in contests
    ]


def _contests(
    measured: Sequence[Measured],
    columns: Sequence[str],
    besides: Callable[[Row], str],
    named: Callable[[Row], str],
) -> list[_Contest]:
    """Of each set that shares these columns, and what is told `besides`, and has two or more."""
    alike: dict[tuple[Key, str], list[Measured]] = {}
    for one in measured:
        key = tuple(one.row.get(name) for name in columns)
        alike.setdefault((key, besides(one.row)), []).append(one)
    compared = {key: _by_median(group) for key, group in alike.items() if len(group) > 1}
    called = names([key for key, _ in compared], columns)
    return [
        _Contest(group, " · ".join(filter(None, (called[key], also))), named)
        for (key, also), group in compared.items()
    ]


def _by_median(group: Sequence[Measured]) -> list[Measured]:
    return sorted(group, key=lambda one: one.value_us(_P50) or 0.0)


def _on_host(row: Row) -> str:
    return f"on {row[_HOST]}"


def _fastest(
    contest: _Contest, judged: Sequence[tuple[Difference | None, Verdict]], band: float
) -> Fastest:
    first, *others = contest.group
    tested, verdicts = zip(*judged, strict=True)
    open_ones = [place for place, verdict in enumerate(verdicts) if verdict.word != "slower"]
    told = open_ones[0] if open_ones else 0
    second, found = others[told], tested[told]
    apart = first.turn != second.turn
    return Fastest(
        contest.called,
        contest.named(first.row),
        contest.named(second.row),
        (second.value_us(_P50) or 0.0) / (first.value_us(_P50) or 1.0),
        verdicts[told],
        not open_ones,
        _rounds(first, second, apart),
        None if apart else _needed(found, band, verdicts[told].confidence),
        first.row["clock"] == "simulated",
        apart,
        (first.case.case_id, second.case.case_id),
        tuple(
            other.case.case_id
            for other, verdict in zip(others, verdicts, strict=True)
            if verdict.word == "slower"
        ),
        0.0 if open_ones else min(_least_ratio(verdict) for verdict in verdicts),
        tuple(one.case.case_id for one in contest.group),
        contest.named is _on_host,
    )


def _least_ratio(verdict: Verdict) -> float:
    return verdict.interval.low if verdict.interval is not None else 0.0


def _rounds(first: Measured, second: Measured, apart: bool) -> int:
    a, b = first.by_round(_P50).keys(), second.by_round(_P50).keys()
    return min(len(a), len(b)) if apart else len(a & b)


def _needed(found: Difference | None, band: float, confidence: float) -> int | None:
    """More rounds than there were, or None where no number that is sensible would do."""
    if found is None:
        return LEAST_ROUNDS
    needed = rounds_to_decide(found, band, confidence)
    return None if needed is None else max(needed, round(found.freedom) + 2)
