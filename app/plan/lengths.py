"""How long a sweep measures, by name: what a plan's `profile` says, from `assets/profiles.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from app.cases.round import Limits
from exporters import own


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many rounds, and how long each.

    `time_limit_s` is when a round is killed, start-up and compilation included. `spread_s` is over
    how long the rounds of a case are spread at least.
    """

    rounds: int
    time_limit_s: float
    limits: Limits
    spread_s: float = 0.0


@cache
def named_lengths() -> dict[str, Lengths]:
    """Name -> lengths, shortest first."""
    table = tomllib.loads(own.asset("profiles.toml").read_text("utf-8"))
    return {
        name: Lengths(
            values.pop("rounds"),
            values.pop("time_limit_s"),
            spread_s=values.pop("spread_s"),
            limits=Limits(**values),
        )
        for name, values in table.items()
    }
