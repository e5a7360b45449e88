"""Which runtime is fastest, in one sentence for each group of comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from app.console.answer.ended import EndedRun
from app.console.said import verdict_text
from app.results import text
from app.results.alike import contender
from app.results.fastest import Fastest
from app.results.measured import Measured
from app.stats.between import LEAST_ROUNDS

_FEW = 3
"""So many comparisons are each a sentence."""
_PERCENTILE = "p50"
_MOST_ROUNDS = 100


def leader_sentences(ended: EndedRun, labels: Mapping[str, str]) -> Iterator[str]:
    """One for each comparison of a few, else one for each kind of them, and why too few rounds
    decide nothing. `labels` are those of the answer's lines, by case id."""
    main = [one for one in ended.contests if not (one.simulated or one.between_hosts)]
    others = {
        "simulated": [one for one in ended.contests if one.simulated],
        "hosts": [one for one in ended.contests if one.between_hosts],
    }
    if len(main) <= _FEW:
        yield from (
            f"{labels.get(one.ranking[0], one.what)}: {verdict_text(one, ended.plan.band)}"
            for one in main
        )
    else:
        yield _counts(main)
        yield from _never_leading(main, ended.own)
    for kind, contests in others.items():
        if len(contests) == 1:
            yield f"{contests[0].what}: {verdict_text(contests[0], ended.plan.band)}"
        elif contests:
            yield f"{kind}: {_counts(contests)}"
    yield from _without_verdict(ended.contests)


def rounds_to_decide(contests: Sequence[Fastest]) -> tuple[int, int, int] | None:
    """A number of rounds, how many undecided comparisons it may decide, and of how many; None
    where no sensible number does. It is for all that are not hopeless, else for half of them."""
    undecided = _open(contests)
    needed = sorted(one.needed for one in undecided if one.needed is not None)
    for rounds in (needed[-1:], needed[(len(needed) - 1) // 2 : len(needed)][:1]):
        if rounds and rounds[0] <= _MOST_ROUNDS:
            decided = sum(number <= rounds[0] for number in needed)
            return rounds[0], decided, len(undecided)
    return None


def _open(contests: Sequence[Fastest]) -> list[Fastest]:
    return [
        one for one in contests if not one.parted and one.verdict.word != "same" and not one.apart
    ]


def _counts(contests: Sequence[Fastest]) -> str:
    """`ort-cpu is fastest in 14 of 20, openvino-cpu in 4; no difference in 1; undecided in 1`."""
    wins = Counter(one.first for one in contests if one.parted)
    same = sum(not one.parted and one.verdict.word == "same" for one in contests)
    undecided = [one for one in contests if not one.parted and one.verdict.word != "same"]
    total, parts = f"{len(contests):,}", []
    if wins:
        (first, most), *others = wins.most_common()
        named = [f"{first} is fastest in {most:,} of {total}"]
        parts.append(", ".join([*named, *(f"{name} in {count:,}" for name, count in others)]))
    if same:
        parts.append(f"no difference in {same:,}{'' if wins else f' of {total}'}")
    if undecided:
        leads = ", ".join(
            f"{name} leads {count:,}"
            for name, count in Counter(one.first for one in undecided).most_common()
        )
        every = len(undecided) == len(contests)
        many = f"all {total}" if every else f"{len(undecided):,}"
        parts.append(f"undecided in {many} ({leads})")
    return "; ".join(parts)


def _never_leading(contests: Sequence[Fastest], measured: Sequence[Measured]) -> Iterator[str]:
    """`behind the leader everywhere: torch-cpu (2.0 to 6.6 times the p50)`."""
    by_id = {one.case.case_id: one for one in measured}
    leaders = {one.first for one in contests}
    times: dict[str, list[float]] = {}
    for contest in contests:
        best, *others = (by_id[case_id] for case_id in contest.ranking)
        least = best.value_us(_PERCENTILE)
        for other in others:
            value = other.value_us(_PERCENTILE)
            if least and value and contender(other.row) not in leaders:
                times.setdefault(contender(other.row), []).append(value / least)
    if times:
        named = [f"{name} ({_times(ratios)} times the p50)" for name, ratios in times.items()]
        yield f"behind the leader everywhere: {', '.join(named)}"


def _times(ratios: Sequence[float]) -> str:
    low, high = (text.significant(ratio, 2) for ratio in (min(ratios), max(ratios)))
    return low if low == high else f"{low} to {high}"


def _without_verdict(contests: Sequence[Fastest]) -> Iterator[str]:
    """Why too few rounds decide nothing."""
    rounds = max((one.rounds for one in _open(contests)), default=LEAST_ROUNDS)
    if rounds < LEAST_ROUNDS:
        many = f"{rounds} round{'s' * (rounds != 1)}"
        yield f"no verdict with {many}: the variation between processes is unknown"
