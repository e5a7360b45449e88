"""The fastest runtime of each model, and by how much: only like is compared with like.

What is compared shares model, sizes, precision, threads, scenario, condition, concurrency, clock
and boundary; only the runtime and its options differ. One is called the fastest only where each of
the others is slower, by pairs of rounds of the run, all verdicts judged together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.results.alike import LIKE, Key, contender, names
from app.results.measured import Measured, confidence_of
from app.results.verdicts import paired_difference
from app.stats.between import LEAST_ROUNDS
from app.stats.verdict import Difference, Verdict, judge, rounds_to_decide

_P50 = "p50"


@dataclass(frozen=True, slots=True)
class Fastest:
    """`first` and `second` are the two with the least medians, `verdict` that of the second.

    Where the first is not `parted` from all others, the second is the one that is told: the
    nearest of those that it is not parted from. `what` is the model and whatever tells this
    comparison from the others. `times` is the second's median over the first's. `rounds` is the
    number of pairs; `needed` is how many would decide it, None where it is hopeless.
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


def fastest(measured: Iterable[Measured], band: float) -> list[Fastest]:
    """One for each set of alike rows in which at least two are well, in the plan's order."""
    alike: dict[Key, list[Measured]] = {}
    for one in measured:
        if one.is_well and one.value_us(_P50):
            alike.setdefault(tuple(one.row[name] for name in LIKE), []).append(one)
    compared = {key: _by_median(group) for key, group in alike.items() if len(group) > 1}
    tested = {
        key: [paired_difference(first, other, _P50) for other in others]
        for key, (first, *others) in compared.items()
    }
    confidence = confidence_of(one for group in compared.values() for one in group)
    verdicts = iter(judge([d for group in tested.values() for d in group], band, confidence))
    called = names(list(compared))
    return [
        _fastest(called[key], group, tested[key], [next(verdicts) for _ in group[1:]], band)
        for key, group in compared.items()
    ]


def _by_median(group: Sequence[Measured]) -> list[Measured]:
    return sorted(group, key=lambda one: one.value_us(_P50) or 0.0)


def _fastest(
    what: str,
    group: Sequence[Measured],
    tested: Sequence[Difference | None],
    verdicts: Sequence[Verdict],
    band: float,
) -> Fastest:
    first, *others = group
    open_ones = [place for place, verdict in enumerate(verdicts) if verdict.word != "slower"]
    told = open_ones[0] if open_ones else 0
    second, found = others[told], tested[told]
    return Fastest(
        what,
        contender(first.row),
        contender(second.row),
        (second.value_us(_P50) or 0.0) / (first.value_us(_P50) or 1.0),
        verdicts[told],
        not open_ones,
        len(first.by_round(_P50).keys() & second.by_round(_P50).keys()),
        _needed(found, band),
        first.row["clock"] == "simulated",
    )


def _needed(found: Difference | None, band: float) -> int | None:
    """More rounds than there were, or None where no number that is sensible would do."""
    if found is None:
        return LEAST_ROUNDS
    needed = rounds_to_decide(found, band)
    return None if needed is None else max(needed, round(found.freedom) + 2)
