"""When the next run begins: a scenario as one word, such as `paced:20us` or `poisson:200/s`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self, get_args

from app.cases.digits import plain
from app.cases.microseconds import TIME, microseconds, time_text
from exporters.invalid_value import InvalidValue

ScenarioKind = Literal[
    "closed_loop", "paced", "rate", "poisson", "burst", "multistream", "offline", "ahead"
]
WaitPolicy = Literal["spin", "hybrid", "sleep"]
WAIT_POLICIES: tuple[WaitPolicy, ...] = get_args(WaitPolicy)

LEAST_RATE_HZ, MOST_RATE_HZ = 0.01, 10e6
"""Rates beyond are refused: no round is so long, no clock so fine."""
MOST_AT_ONCE = 10_000
LONGEST_PAUSE_US = 24 * 3600e6
"""No round waits so long between two runs."""

_COUNT = r"(?P<count>[0-9]{1,20})"
_RATE = r":(?P<rate>[0-9]{1,20}(?:\.[0-9]{1,6})?)/s"
"""To a millionth of a request in a second, as `str` writes it: a case is known by that text."""
_FORMS: dict[ScenarioKind, str] = {
    "closed_loop": "",
    "paced": f":{TIME}",
    "rate": _RATE,
    "poisson": _RATE,
    "burst": rf":{_COUNT}@{TIME}",
    "multistream": f":{_COUNT}",
    "offline": "",
    "ahead": f":{_COUNT}",
}
_EXAMPLES = (
    "closed_loop, paced:20us, rate:200/s, poisson:200/s, burst:8@10ms, multistream:8, offline or "
    "ahead:8"
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """When the next run begins.

    `closed_loop`: at once after the last; `paced`: `gap_us` after it. `rate`: `rate_hz` times a
    second, evenly; `poisson`: at drawn times, so often on average; `burst`: `count` at once
    every `period_us`. `multistream`: `count` at once, the next as many when all are answered.
    `offline`: all at once. `ahead`: `count` are queued on a device one after another, the next as
    many when all are complete.
    """

    kind: ScenarioKind = "closed_loop"
    gap_us: float = 0.0
    rate_hz: float = 0.0
    count: int = 0
    period_us: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        kind = text.partition(":")[0]
        match = re.fullmatch(_FORMS[kind], text[len(kind) :]) if kind in _FORMS else None
        if match is None:
            raise InvalidValue(f"{text!r} is not known", f"use {_EXAMPLES}")
        found = match.groupdict()
        time_us = microseconds(found.get("time") or "0", found.get("unit") or "us")
        rate_hz, count = float(found.get("rate") or 0), int(found.get("count") or 0)
        if "rate" in found and not LEAST_RATE_HZ <= rate_hz <= MOST_RATE_HZ:
            raise InvalidValue(
                f"{text!r} asks for a rate that can't be measured",
                f"use {LEAST_RATE_HZ:g}/s to {MOST_RATE_HZ:.0f}/s",
            )
        if "count" in found and not 1 <= count <= MOST_AT_ONCE:
            raise InvalidValue(f"{text!r} asks for {count} at once", f"use 1 to {MOST_AT_ONCE}")
        if kind == "burst" and not time_us:
            raise InvalidValue(f"{text!r} has no time between its bursts", "use burst:8@10ms")
        if time_us > LONGEST_PAUSE_US:
            raise InvalidValue(f"{text!r} pauses for more than a day", "use at most 86400s")
        paced = kind == "paced"
        return cls(kind, time_us * paced, rate_hz, count, time_us * (not paced))  # type: ignore[arg-type]

    @property
    def is_open_loop(self) -> bool:
        """Whether runs are due at times fixed beforehand: latency then counts from these."""
        return self.kind in ("rate", "poisson", "burst")

    @property
    def arrivals_hz(self) -> float:
        """How many runs are due in a second of an open loop; 0 of any other."""
        return self.rate_hz or (self.count * 1e6 / self.period_us if self.period_us else 0.0)

    @property
    def waits(self) -> bool:
        """Whether there is a pause to wait out, so that it matters how."""
        return self.is_open_loop or self.gap_us > 0

    @property
    def words(self) -> str:
        """The same as one writes it, `burst:8@10ms`; `str` keeps to microseconds."""
        if self.kind in _BARE:
            return self.kind
        return self._with(time_text(self.gap_us), time_text(self.period_us))

    def __str__(self) -> str:
        return self._with(f"{plain(self.gap_us)}us", f"{plain(self.period_us)}us")

    def _with(self, gap: str, period: str) -> str:
        rate = f"{self.rate_hz:.6f}".rstrip("0").rstrip(".")
        figures = {
            "paced": f":{gap}",
            "rate": f":{rate}/s",
            "poisson": f":{rate}/s",
            "burst": f":{self.count}@{period}",
            "multistream": f":{self.count}",
            "ahead": f":{self.count}",
        }
        return self.kind + figures.get(self.kind, "")


CLOSED_LOOP = Scenario()
_BARE = ("closed_loop", "offline")
"""The kinds without a figure: most cases of large sweeps."""
