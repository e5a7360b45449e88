"""Whether the machine changed between passes, seen by cases that were slow together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.comparison.measured_case import MeasuredCase
from app.insights.insight import Insight
from app.stats.concordance import LEAST_ROUNDS, Concordance, concordance

_CHANGED = {
    "p50": "the speed of the machine changed",
    "mean": "how much of the core other work took changed",
}
"""What figures that rise and fall together show: a median follows the speed of the machine, a mean
also what interrupts a few runs."""


def moving_machine(measured: Sequence[MeasuredCase]) -> Iterator[Insight]:
    """A sentence for the cases of each turn whose rounds' figures rise and fall together.

    Verdicts between such cases come from pairs of rounds and are not affected; the interval of each
    case holds for the states that the machine was in.
    """
    turns: dict[str, list[MeasuredCase]] = {}
    for one in measured:
        if one.turn and one.row.get("clock") == "wall":
            turns.setdefault(one.turn, []).append(one)
    for cases in turns.values():
        for name, changed in _CHANGED.items():
            by_case = _by_case(cases, name)
            found = _concordance(list(by_case.values()))
            if found is None or not found.is_significant:
                continue
            what = f"{len(by_case)} cases were slow in the same passes"
            brief = f"{what}: {changed}, which a longer --spread shows more of"
            sentence = (
                f"{brief} (concordance of their {name}s {found.coefficient:.2f}); comparisons "
                "within the run are not affected"
            )
            yield Insight("machine_moves", sentence, tuple(by_case), "boxes", brief)
            break


def _by_case(cases: Sequence[MeasuredCase], name: str) -> dict[str, Mapping[int, float]]:
    """By case the rounds' figures, of cases that have enough of them."""
    figures = {one.case.case_id: one.by_round(name) for one in cases}
    return {key: by_round for key, by_round in figures.items() if len(by_round) >= LEAST_ROUNDS}


def _concordance(figures: Sequence[Mapping[int, float]]) -> Concordance | None:
    """Of the rounds that all of them have."""
    passes = sorted(set.intersection(*map(set, figures))) if figures else []
    return concordance([[by_round[number] for number in passes] for by_round in figures])
