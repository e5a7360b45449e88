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
from typing import Literal

from app.analysis.comparison.judge import adjust_for_gpu_clock
from app.analysis.comparison.measured_case import (
    Key,
    MeasuredCase,
    confidence_of,
    names,
    runtime_label,
)
from app.analysis.comparison.pairing import Pair
from app.cases.column import Row
from app.cases.dimensions import MATCHING, matching_key, without
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.verdict import STATES_DIFFER, Verdict, judge_rounds, rounds_to_decide

_P50 = "p50"
_HOST = "host"
_MATCHING_OVER_HOSTS = without(_HOST)


@dataclass(frozen=True, slots=True)
class Fastest:
    """`first` and `second` are the two with the least medians, `verdict` that of the second.

    Where the first is not `parted` from all others, the second is the one that is told: the
    nearest of those that it is not parted from. `what` is the model and whatever tells this
    comparison from the others. `times` is the second's median over the first's. `rounds` is the
    number of pairs, or of the fewer rounds where the two are `is_unpaired`; `needed` is how
    many pairs would decide it, None where it is hopeless or there are none. `case_ids` are those of
    the two, `slower` those of all that are slower than the first, and `margin` is how many times as
    long each other takes at least, 0 where the first is not parted from all. `ranking` are all that
    were compared, the least median first; `between_hosts`: the cases of one runtime on several.
    """

    label: str
    first: str
    second: str
    times: float
    verdict: Verdict
    parted: bool
    rounds: int
    needed: int | None
    simulated: bool
    is_unpaired: bool = False
    case_ids: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    margin: float = 0.0
    ranking: tuple[str, ...] = ()
    between_hosts: bool = False

    @property
    def word(self) -> Literal["faster", "same", "undecided"]:
        """The verdict on the first."""
        if self.parted:
            return "faster"
        return "same" if self.verdict.word == "same" else "undecided"


@dataclass(frozen=True, slots=True)
class _Contest:
    """Comparable cases, the least median first; `row_label` names the contender of a row."""

    group: Sequence[MeasuredCase]
    label: str
    row_label: Callable[[Row], str]

    @property
    def pairs(self) -> list[Pair]:
        """The first with each of the others."""
        first, *rest = self.group
        return [Pair(self.label, first, rival) for rival in rest]


def fastest(measurements: Iterable[MeasuredCase], band: float) -> list[Fastest]:
    """One for each set of alike rows in which at least two are well, in the plan's order; then one
    for each case that two hosts have."""
    usable = [m for m in measurements if m.is_well and m.value_us(_P50)]
    host_cases = [m for m in usable if m.case.host and m.row["clock"] != "simulated"]
    contests = [
        *_contests(usable, MATCHING, lambda row: "", runtime_label),
        *_contests(host_cases, _MATCHING_OVER_HOSTS, runtime_label, _on_host),
    ]
    pairs = [pair for contest in contests for pair in contest.pairs]
    all_verdicts = judge_rounds(
        [pair.rounds(_P50) for pair in pairs],
        band,
        [confidence_of((pair.first, pair.second)) for pair in pairs],
    )
    verdicts = iter(map(adjust_for_gpu_clock, pairs, all_verdicts))
    return [_fastest(c, list(islice(verdicts, len(c.group) - 1)), band) for c in contests]


def _contests(
    measurements: Sequence[MeasuredCase],
    columns: Sequence[str],
    extra_label: Callable[[Row], str],
    row_label: Callable[[Row], str],
) -> list[_Contest]:
    """Of each set that shares these columns, and the `extra_label`, and has two or more."""
    groups: dict[tuple[Key, str], list[MeasuredCase]] = {}
    for measurement in measurements:
        key = matching_key(measurement.row, columns)
        groups.setdefault((key, extra_label(measurement.row)), []).append(measurement)
    compared_groups = {key: _by_median(group) for key, group in groups.items() if len(group) > 1}
    labels = names([key for key, _ in compared_groups], columns)
    return [
        _Contest(group, " · ".join(filter(None, (labels[key], extra))), row_label)
        for (key, extra), group in compared_groups.items()
    ]


def _by_median(group: Sequence[MeasuredCase]) -> list[MeasuredCase]:
    return sorted(group, key=lambda measurement: measurement.value_us(_P50) or 0.0)


def _on_host(row: Row) -> str:
    return f"on {row[_HOST]}"


def _fastest(contest: _Contest, verdicts: Sequence[Verdict], band: float) -> Fastest:
    first, *rest = contest.group
    open_places = [place for place, verdict in enumerate(verdicts) if verdict.word != "slower"]
    second_place = open_places[0] if open_places else 0
    pair, verdict = contest.pairs[second_place], verdicts[second_place]
    second = pair.second
    return Fastest(
        contest.label,
        contest.row_label(first.row),
        contest.row_label(second.row),
        (second.value_us(_P50) or 0.0) / (first.value_us(_P50) or 1.0),
        verdict,
        not open_places,
        _rounds(pair),
        _rounds_needed(verdict, band) if pair.alternated else None,
        first.row["clock"] == "simulated",
        not pair.alternated,
        (first.case.case_id, second.case.case_id),
        tuple(
            rival.case.case_id
            for rival, result in zip(rest, verdicts, strict=True)
            if result.word == "slower"
        ),
        0.0 if open_places else min(_least_ratio(result) for result in verdicts),
        tuple(measurement.case.case_id for measurement in contest.group),
        contest.row_label is _on_host,
    )


def _least_ratio(verdict: Verdict) -> float:
    return verdict.interval.low if verdict.interval is not None else 0.0


def _rounds(pair: Pair) -> int:
    a, b = (side.by_round(_P50).keys() for side in (pair.first, pair.second))
    return len(a & b) if pair.alternated else min(len(a), len(b))


def _rounds_needed(verdict: Verdict, band: float) -> int | None:
    """More rounds than there were, or None where no number that is sensible would do."""
    change = verdict.difference
    if change is None:
        return MINIMUM_ROUNDS
    if verdict.reason == STATES_DIFFER:
        return None
    needed = rounds_to_decide(change, band, verdict.confidence)
    return None if needed is None else max(needed, round(change.freedom) + 2)
