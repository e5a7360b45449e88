"""Whether the machine changed between passes, seen by cases that were slow together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.comparison.measured_case import MeasuredCase
from app.insights.insight import Insight
from app.stats.concordance import LEAST_ROUNDS, Concordance, concordance

_CHANGE_TEXTS = {
    "p50": "the speed of the machine changed",
    "mean": "how much of the core other work took changed",
}
"""What figures that rise and fall together show: a median follows the speed of the machine, a mean
also what interrupts a few runs."""


def moving_machine(measurements: Sequence[MeasuredCase]) -> Iterator[Insight]:
    """A sentence for the cases of each turn whose rounds' figures rise and fall together.

    Verdicts between such cases come from pairs of rounds and are not affected; the interval of each
    case holds for the states that the machine was in.
    """
    turns: dict[str, list[MeasuredCase]] = {}
    for measurement in measurements:
        if measurement.turn and measurement.row.get("clock") == "wall":
            turns.setdefault(measurement.turn, []).append(measurement)
    for cases in turns.values():
        for name, change_text in _CHANGE_TEXTS.items():
            by_case = _by_case(cases, name)
            agreement = _concordance(list(by_case.values()))
            if agreement is None or not agreement.is_significant:
                continue
            subject = f"{len(by_case)} cases were slow in the same passes"
            brief = f"{subject}: {change_text}, which a longer --spread shows more of"
            sentence = (
                f"{brief} (concordance of their {name}s {agreement.coefficient:.2f}); comparisons "
                "within the run are not affected"
            )
            yield Insight("machine_moves", sentence, tuple(by_case), "boxes", brief)
            break


def _by_case(cases: Sequence[MeasuredCase], name: str) -> dict[str, Mapping[int, float]]:
    """By case the rounds' figures, of cases that have enough of them."""
    figures = {measurement.case.case_id: measurement.by_round(name) for measurement in cases}
    return {key: by_round for key, by_round in figures.items() if len(by_round) >= LEAST_ROUNDS}


def _concordance(figures: Sequence[Mapping[int, float]]) -> Concordance | None:
    """Of the rounds that all of them have."""
    passes = sorted(set.intersection(*map(set, figures))) if figures else []
    return concordance([[by_round[number] for number in passes] for by_round in figures])
