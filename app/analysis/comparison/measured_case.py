"""Measured cases: row, statistics and rounds of each, and what rows must share to be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.cases.case import Case
from app.cases.column import Row, Value, number_of
from app.cases.dimensions import MATCHING, value_label
from app.cases.objectives import JUDGED, THROUGHPUT
from app.formatting.case_labels import model_labels, unusual_options
from app.run_folder.run import Run
from app.stats.core_state import TypicalClock
from app.stats.estimates import Estimate
from app.stats.quantiles import CONFIDENCE, ratio_resolution
from app.stats.summary import Summary

COMPARED = JUDGED
"""The figures of which verdicts are given where no plan says it."""


Turns = tuple[str, tuple[float, ...]]
"""The set whose processes took turns, and the median of each turn of one of them [us]."""


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """`summary` is None where nothing was timed; `rounds` are the numbers of the timed rounds, in
    the order of the summary's figures, `cpu_mhz` is the mean clock in them where cores computed and
    it is known. Rounds of cases of one `turn` alternated on one machine (`Run.turn_of`). `rates`
    are how many runs, or queries, a second of each round held, all its lanes together, by the
    round's number; empty where a scenario has no throughput. `turns` are those of the rounds that
    were measured in turns with others, `at_clock` is the p50 at the core's typical clock."""

    case: Case
    row: Row
    summary: Summary | None
    rounds: tuple[int, ...] = ()
    cpu_mhz: float | None = None
    turn: str = ""
    rates: Mapping[int, float] = field(default_factory=dict)
    turns: Mapping[int, Turns] = field(default_factory=dict)
    at_clock: TypicalClock | None = None

    def value_us(self, name: str) -> float | None:
        """A percentile of a typical process, in microseconds; None where it is absent."""
        return None if self.summary is None else self.summary.value_us(name)

    def value(self, name: str) -> float | None:
        """The same, and the throughput in inputs a second."""
        return (
            number_of(self.row["throughput_per_s"]) if name == THROUGHPUT else self.value_us(name)
        )

    def by_round(self, name: str) -> Mapping[int, float]:
        """The rounds' own figures by the rounds' numbers; empty where there are none."""
        if name == THROUGHPUT:
            return self.rates
        figure = self.estimate(name)
        if figure is None or len(figure.by_round) != len(self.rounds):
            return {}
        return dict(zip(self.rounds, figure.by_round, strict=True))

    def estimate(self, name: str) -> Estimate | None:
        """A figure of a typical process with its rounds and its clock's tick."""
        return None if self.summary is None else self.summary.figures.get(name)

    @property
    def is_well(self) -> bool:
        """Whether its figures may be compared: partial and wrong rows are shown, never ranked."""
        return self.row["status"] == "ok" and self.row["valid"] is not False


def confidence_of(measurements: Iterable[MeasuredCase]) -> float:
    """At which these are compared: the strictest of their intervals'.

    Where rounds were added until an interval was narrow, each look at it counts, and for a
    verdict as for the interval itself.
    """
    return max(
        (measurement.summary.confidence for measurement in measurements if measurement.summary),
        default=CONFIDENCE,
    )


def clock_resolution(first: MeasuredCase, second: MeasuredCase, name: str) -> float:
    """How far the logarithm of the ratio of one figure may be off for the ticks of the clocks."""
    first_estimate, second_estimate = first.estimate(name), second.estimate(name)
    if (
        first_estimate is None
        or second_estimate is None
        or not first_estimate.value
        or not second_estimate.value
    ):
        return 0.0
    return ratio_resolution(
        first_estimate.value, first_estimate.tick, second_estimate.value, second_estimate.tick
    )


def timed_rounds(run: Run, case: Case) -> tuple[int, ...]:
    """The numbers of the rounds that gave measured samples."""
    return tuple(result.round for result in run.rounds_of(case) if result.iterations)


Key = tuple[Value, ...]


def runtime_label(row: Row) -> str:
    """The runtime with those of its options that are not the defaults."""
    options = unusual_options(row)
    return f"{row['runtime']} {options}".strip()


def names(keys: Sequence[Key], columns: Sequence[str] = MATCHING) -> dict[Key, str]:
    """The model of each key, and what sets it apart from the others; keys are of `columns`."""
    models = model_labels(str(key[0]) for key in keys)
    differing = [place for place in range(1, len(columns)) if len({key[place] for key in keys}) > 1]
    return {
        key: " · ".join(
            [models[str(key[0])], *(value_label(columns[p], key[p]) for p in differing if key[p])]
        )
        for key in keys
    }
