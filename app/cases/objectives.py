"""Names of judged figures, words of verdicts, targets of rate searches, goals of tuning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from app.cases.units import (
    DEFAULT,
    NUMBER,
    TIME,
    microseconds,
    name_of,
    percentile_text,
    refusal,
    share,
    time_text,
)
from exporters.types import InvalidValue

Word = Literal["faster", "slower", "same", "undecided"]

BAND = 0.02
"""A change within this counts as none."""


MEAN, THROUGHPUT = "mean", "throughput"
JUDGED = ("p50", "p99")
"""The default: they are what latency is described by, and each further figure makes all verdicts
stricter, since they are judged together."""
HIGHER_IS_BETTER = (THROUGHPUT,)
WITH_COLUMNS = (*JUDGED, MEAN, THROUGHPUT)
"""The judged figures whose verdicts are columns; those of other percentiles are in the tables of a
comparison."""
PERCENTILES: dict[str, str] = {name_of(p): f"p{percentile_text(p)}" for p in DEFAULT}
"""The name in columns, and as people write it."""
INTERVALS: dict[str, str] = {MEAN: MEAN, **PERCENTILES}
"""The figures that have an interval, and how people write them."""
BOUNDED = ("p90", "p99")
"""The percentiles that have a one-sided bound, and MLPerf's estimate."""
_KEY = "metrics"
"""What these figures are called in plans and commands."""


def figures_judged(names: tuple[str, ...], percentiles: tuple[float, ...]) -> tuple[str, ...]:
    """The names as columns have them, `p999` of `p99.9`; InvalidValue for one that rows don't have.

    `percentiles` are those of the rows besides the default ones.
    """
    figures = {MEAN, THROUGHPUT, *map(name_of, (*DEFAULT, *percentiles))}
    columns = tuple(name.strip().replace(".", "", 1) for name in names)
    for name, wording in zip(columns, names, strict=True):
        if name not in figures:
            raise InvalidValue(
                f"{_KEY} {wording!r} is no figure of the rows",
                "give p50, p99, mean, throughput, or another percentile that is among percentiles",
                _KEY,
            )
        if columns.count(name) > 1:
            raise InvalidValue(f"{_KEY} {wording!r} is given twice", "give it once", _KEY)
    return columns


MINIMUM_ROUNDS, MAXIMUM_ROUNDS = 3, 8
"""Fewer rounds at a rate have no interval; so many it has at most, unless a plan says."""
_FORM = re.compile(rf"(?P<what>mean|p{NUMBER})={TIME}")
_MINIMUM_PERCENTILE = 50.0
_LONGEST_US = 24 * 3600e6


@dataclass(frozen=True, slots=True)
class Target:
    """A percentile of the latency, or where that is None its mean, is at most `limit_us`."""

    percentile: float | None
    limit_us: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        match = _FORM.fullmatch(text.replace(" ", ""))
        if match is None:
            raise InvalidValue(
                f"{text!r} is no target", "write it like p99=5ms, p99.9=800us or mean=2ms"
            )
        percentile = None if match["what"] == "mean" else float(match["what"][1:])
        if percentile is not None:
            if fault := refusal(percentile):
                raise fault
            if percentile < _MINIMUM_PERCENTILE:
                raise InvalidValue(
                    f"{text!r} lets most requests be late", "give p50 or a higher one"
                )
        limit_us = microseconds(match["time"], match["unit"])
        if not limit_us:
            raise InvalidValue(f"{text!r} leaves no time", "write it like p99=5ms")
        if limit_us > _LONGEST_US:
            raise InvalidValue(f"{text!r} allows more than a day", "use at most 86400s")
        return cls(percentile, limit_us)

    @property
    def name(self) -> str:
        """`p99` or `mean`."""
        return "mean" if self.percentile is None else f"p{percentile_text(self.percentile)}"

    @property
    def allowed(self) -> float:
        """The most that may be: of a percentile the share of requests that take longer than the
        limit, of a mean its microseconds."""
        return self.limit_us if self.percentile is None else 1.0 - share(self.percentile)

    def __str__(self) -> str:
        return f"{self.name}={time_text(self.limit_us)}"


_EXAMPLES = "write it like p99, mean, throughput or throughput@p99=10ms"


@dataclass(frozen=True, slots=True)
class Goal:
    """A percentile or the mean (None) of the latency, or `rate`: inputs in a second.

    `constraint` is the latency that a search for the rate has to keep, None for any.
    """

    rate: bool
    percentile: float | None = None
    constraint: Target | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        word = text.replace(" ", "")
        figure, _, limit = word.partition("@")
        if figure == THROUGHPUT and ("@" not in word or limit):
            return cls(True, constraint=Target.parse(limit) if limit else None)
        if figure == "mean" and not limit:
            return cls(False)
        try:
            percentile = float(figure.removeprefix("p")) if figure.startswith("p") else 0.0
        except ValueError:
            percentile = 0.0
        if not percentile or "@" in word:
            raise InvalidValue(f"{text!r} is no goal", _EXAMPLES)
        if fault := refusal(percentile):
            raise fault
        return cls(False, percentile)

    @property
    def name(self) -> str:
        """`p99`, `mean` or `throughput`."""
        if self.rate:
            return THROUGHPUT
        return "mean" if self.percentile is None else f"p{percentile_text(self.percentile)}"

    @property
    def quantile(self) -> float | None:
        """0.99 of p99; None for a mean and for a rate."""
        return None if self.percentile is None else share(self.percentile)

    def __str__(self) -> str:
        return self.name if self.constraint is None else f"{self.name}@{self.constraint}"
