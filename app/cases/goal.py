"""What a search over options makes better: `p99`, `mean`, `throughput`, or that with a bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from app.cases.percentiles import refusal, share, written
from app.cases.target import Target
from exporters.invalid_value import InvalidValue

THROUGHPUT = "throughput"
_EXAMPLES = "write it like p99, mean, throughput or throughput@p99=10ms"


@dataclass(frozen=True, slots=True)
class Goal:
    """A percentile or the mean (None) of the latency, or `rate`: inputs in a second.

    `kept` is the latency that a search for the rate has to keep, None for any.
    """

    rate: bool
    percentile: float | None = None
    kept: Target | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        word = text.replace(" ", "")
        what, _, bound = word.partition("@")
        if what == THROUGHPUT and ("@" not in word or bound):
            return cls(True, kept=Target.parse(bound) if bound else None)
        if what == "mean" and not bound:
            return cls(False)
        try:
            percentile = float(what.removeprefix("p")) if what.startswith("p") else 0.0
        except ValueError:
            percentile = 0.0
        if not percentile or "@" in word:
            raise InvalidValue(f"{text!r} is no goal", _EXAMPLES)
        if why := refusal(percentile):
            raise why
        return cls(False, percentile)

    @property
    def name(self) -> str:
        """`p99`, `mean` or `throughput`."""
        if self.rate:
            return THROUGHPUT
        return "mean" if self.percentile is None else f"p{written(self.percentile)}"

    @property
    def quantile(self) -> float | None:
        """0.99 of p99; None for a mean and for a rate."""
        return None if self.percentile is None else share(self.percentile)

    def __str__(self) -> str:
        return self.name if self.kept is None else f"{self.name}@{self.kept}"
