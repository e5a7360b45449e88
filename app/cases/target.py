"""What a search for the highest rate is to keep: `p99=5ms`, or `mean=2ms`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from app.cases.digits import NUMBER
from app.cases.microseconds import TIME, microseconds, time_text
from app.cases.percentiles import refusal, share, written
from exporters.invalid_value import InvalidValue

LEAST_ROUNDS, MOST_ROUNDS = 3, 8
"""Fewer rounds at a rate have no interval; so many it has at most, unless a plan says."""
_FORM = re.compile(rf"(?P<what>mean|p{NUMBER})={TIME}")
_LEAST_PERCENTILE = 50.0
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
            if why := refusal(percentile):
                raise why
            if percentile < _LEAST_PERCENTILE:
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
        return "mean" if self.percentile is None else f"p{written(self.percentile)}"

    @property
    def allowed(self) -> float:
        """The most that may be: of a percentile the share of requests that take longer than the
        limit, of a mean its microseconds."""
        return self.limit_us if self.percentile is None else 1.0 - share(self.percentile)

    def __str__(self) -> str:
        return f"{self.name}={time_text(self.limit_us)}"
