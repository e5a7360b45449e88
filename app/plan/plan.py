"""A plan: what to measure and for how long, validated, whatever it was read from.

Whatever is wrong with it is one `PlanError` with a remedy, raised before anything is
written. Names of models and runtimes are looked up in `expand`, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from app.cases.batcher import Batcher, parsed
from app.cases.errors import PlanError, suggestion
from app.cases.goal import Goal
from app.cases.percentiles import name_of, share, told
from app.cases.target import MOST_ROUNDS as MOST_AT_A_RATE
from app.cases.target import Target
from app.machine.cores import listed
from app.plan.invalid import in_words
from app.plan.lengths import Lengths, named_lengths
from app.plan.precise import asked_for
from app.plan.settings.hosts import PlanSettings
from app.plan.settings.sweep import Sweep
from app.plan.settings.table import with_keys
from app.stats.precise import MOST_ROUNDS, Precise
from exporters.invalid_value import InvalidValue

__all__ = ["Plan", "Sweep", "parse_plan"]


class Plan(PlanSettings):
    """Grids, and the settings that hold for all of them: `app/plan/settings` has a row for each."""

    sweeps: tuple[Sweep, ...] = Field(min_length=1)

    @field_validator("profile")
    @classmethod
    def _known_profile(cls, name: str) -> str:
        if name not in named_lengths():
            raise InvalidValue("is not a preset", suggestion(name, named_lengths()))
        return name

    @field_validator("precise")
    @classmethod
    def _reachable(cls, precise: dict[str, float], info: ValidationInfo) -> dict[str, float]:
        return asked_for(precise, info.data)

    @property
    def quantiles(self) -> dict[str, float]:
        """What a row tells, by the names of its columns: those of every row and the chosen ones."""
        return {name_of(percentile): share(percentile) for percentile in told(self.percentiles)}

    @property
    def stopping(self) -> Precise | None:
        """When a case has had rounds enough; None where their number is fixed."""
        if not self.precise:
            return None
        asked = {name_of(float(word[1:])): within for word, within in self.precise.items()}
        return Precise(asked, self.lengths.rounds)

    @property
    def chosen_cores(self) -> tuple[int, ...]:
        """The cores to measure on; () leaves them to each case."""
        return listed(self.cores) if self.cores else ()

    @property
    def target(self) -> Target | None:
        """What `slo` asks for."""
        return Target.parse(self.slo) if self.slo else None

    @property
    def goal(self) -> Goal | None:
        """What `tune` is to make better."""
        return Goal.parse(self.tune) if self.tune else None

    @property
    def searched_batchers(self) -> tuple[Batcher | None, ...]:
        """Those with which `slo` searches each case: all grids have the same."""
        return tuple(parsed(word) for word in self.sweeps[0].batcher)

    @property
    def is_search(self) -> bool:
        """Whether each case only begins a search, of which nobody knows how long it takes."""
        return self.largest_batch or bool(self.slo or self.tune)

    @property
    def input_files(self) -> tuple[str, ...]:
        """The files that `inputs` names."""
        return tuple(word.strip() for word in self.inputs.split(",") if word.strip())

    @property
    def lengths(self) -> Lengths:
        """The profile with this plan's own rounds, the most of them where intervals decide, and its
        time limit in place.

        A comparison of a case with itself takes two sides of so many rounds.
        """
        profile = named_lengths()[self.profile]
        usual = (
            MOST_ROUNDS
            if self.precise
            else MOST_AT_A_RATE
            if self.slo or self.tune
            else profile.rounds
        )
        rounds = self.rounds or usual
        return Lengths(
            rounds * (2 * self.aa if self.aa else 1),
            self.time_limit_s or profile.time_limit_s,
            profile.limits,
            profile.spread_s if self.spread_s is None else self.spread_s,
        )


def parse_plan(data: dict[str, Any], origin: str) -> Plan:
    """A validated plan from TOML's or JSON's values; `origin` opens the error sentence."""
    key = _key_with_nul(data)
    if key is not None:
        raise PlanError(f"{origin}: {key} contains a NUL character", "remove it")
    data = with_keys(data, "plan")
    if isinstance(data.get("sweeps"), (list, tuple)):
        data["sweeps"] = [
            with_keys(grid, "sweep") if isinstance(grid, Mapping) else grid
            for grid in data["sweeps"]
        ]
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        cause, remedy = in_words(error, Plan, Sweep)
        raise PlanError(f"{origin}: {cause}", remedy) from None


def _key_with_nul(value: Any, key: str = "plan") -> str | None:
    """The innermost key whose name or text has a NUL character, which no path or name can have."""
    if isinstance(value, str):
        return key if "\0" in value else None
    if isinstance(value, Mapping):
        parts = [(str(name), part) for name, part in value.items()]
        named = next((name for name, _ in parts if "\0" in name), None)
        if named is not None:
            return repr(named)
    elif isinstance(value, (list, tuple)):
        parts = [(key, part) for part in value]
    else:
        return None
    return next((found for name, part in parts if (found := _key_with_nul(part, name))), None)
