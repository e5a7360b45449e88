"""A plan: what to measure and for how long, validated, and a draft of one for the editor."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator

from app.cases.errors import PlanError, suggestion
from app.cases.objectives import MAXIMUM_ROUNDS as MOST_AT_A_RATE
from app.cases.objectives import Goal, Target
from app.cases.round import Limits
from app.cases.scenario import Batcher, parse_batcher
from app.cases.units import DEFAULT, name_of, percentile_text, share, with_default_percentiles
from app.machine.placement import listed
from app.plan.settings.hosts import PlanSettings
from app.plan.settings.sweep import Sweep
from app.plan.settings.table import names_of_keys, with_keys
from app.stats.intervals import MINIMUM_ROUNDS
from app.stats.quantiles import CONFIDENCE
from app.stats.required_rounds import FIRST_LOOK, MAXIMUM_ROUNDS, SequentialRule, StoppingRule
from exporters import install_layout
from exporters.types import InvalidValue

_MAXIMUM_LENGTH = 80
"""So many characters of a value are shown."""


def in_words(
    error: ValidationError, plan: type[BaseModel], grid: type[BaseModel]
) -> tuple[str, str]:
    """The first fault as a cause and a remedy."""
    fault = error.errors(include_url=False)[0]
    place = [part for part in fault["loc"] if isinstance(part, str)]
    key = place[-1] if place else "plan"
    if fault["type"] == "extra_forbidden":
        names = names_of_keys((grid if "sweeps" in place[:-1] else plan).model_fields)
        return f"the key {key!r} is not known", suggestion(key, names)
    (name,) = names_of_keys([key])
    if fault["type"] == "missing":
        return f"{name} is missing", "add it"
    if fault["type"] == "too_short":
        return f"{name} is empty, so there is nothing to measure", "give at least one value"
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "value_error":
        own_error = fault.get("ctx", {}).get("error")
        invalid = own_error if isinstance(own_error, InvalidValue) else InvalidValue(message)
        prefix = "" if invalid.key else f"{name} {_excerpt(fault['input'])} "
        return f"{prefix}{invalid.cause}", invalid.remedy
    return f"{name} = {_excerpt(fault['input'])} is not valid", _lower(message)


def _excerpt(value: object) -> str:
    """The value, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        return "a number with too many digits"
    return text if len(text) <= _MAXIMUM_LENGTH else f"{text[:_MAXIMUM_LENGTH]}…"


def _lower(message: str) -> str:
    message = message.replace("Input should", "it should")
    return message[:1].lower() + message[1:]


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many rounds, and how long each.

    `time_limit_s` is when a round is killed, start-up and compilation included. `spread_s` is over
    how long the rounds of a case are spread at least, `contended_spread_s` the same where other
    work takes the core.
    """

    rounds: int
    time_limit_s: float
    limits: Limits
    spread_s: float = 0.0
    contended_spread_s: float = 0.0


@cache
def named_lengths() -> dict[str, Lengths]:
    """Name -> lengths, shortest first."""
    table = tomllib.loads(install_layout.asset("profiles.toml").read_text("utf-8"))
    return {
        name: Lengths(
            values.pop("rounds"),
            values.pop("time_limit_s"),
            spread_s=(spread_s := values.pop("spread_s")),
            contended_spread_s=values.pop("contended_spread_s", spread_s),
            limits=Limits(**values),
        )
        for name, values in table.items()
    }


def target_widths(precise: Mapping[str, float], plan: Mapping[str, Any]) -> dict[str, float]:
    """The percentiles as `p50`, `p99.9`; ValueError in one sentence for what no run can keep.

    `plan` has the values of the other keys that are valid themselves.
    """
    percentiles = set(map(percentile_text, (*DEFAULT, *plan.get("percentiles", ()))))
    widths: dict[str, float] = {}
    for word, half_width in precise.items():
        number = word.strip().removeprefix("p")
        if number not in percentiles:
            raise InvalidValue(
                f"precise {word} is no percentile of the rows",
                "write it like p50; add others to percentiles",
                "precise",
            )
        if not 0.0 < half_width < 1.0:
            raise InvalidValue(
                f"precise {word}={half_width:g} is no share",
                "give one between 0 and 100 %, such as 1%",
                "precise",
            )
        widths[f"p{number}"] = half_width
    return widths


__all__ = ["Plan", "Sweep", "parse_plan"]


class Plan(PlanSettings, frozen=True):
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
        return target_widths(precise, info.data)

    @property
    def quantiles(self) -> dict[str, float]:
        """What a row tells, by the names of its columns: those of every row and the chosen ones."""
        return {name_of(p): share(p) for p in with_default_percentiles(self.percentiles)}

    @property
    def stopping(self) -> StoppingRule | None:
        """When a case has had rounds enough; None where their number is fixed."""
        if not self.precise:
            return None
        widths = {name_of(float(word[1:])): half_width for word, half_width in self.precise.items()}
        return StoppingRule(widths, self.lengths.rounds)

    @property
    def is_sequential(self) -> bool:
        """Whether cases get rounds until their comparison with the baseline is settled."""
        return bool(self.baseline) and (self.sequential or self.detect is not None)

    @property
    def sequence(self) -> SequentialRule | None:
        """When verdicts are looked at; None where nothing depends on them."""
        return SequentialRule(self.lengths.rounds) if self.is_sequential else None

    @property
    def has_open_end(self) -> bool:
        """Whether what is measured decides how many rounds there will be."""
        return self.is_search or bool(self.precise) or self.is_sequential

    @property
    def least_rounds(self) -> int:
        """How many rounds a case has at the first look, or in all where their number is fixed."""
        rounds = self.lengths.rounds
        if self.precise:
            return min(FIRST_LOOK, rounds)
        return min(MINIMUM_ROUNDS, rounds) if self.is_sequential else rounds

    def confidence_at(self, rounds: int) -> float:
        """Of the intervals of a case after so many rounds: a look at them spends error."""
        if self.sequence is not None:
            return self.sequence.confidence_at(rounds)
        return CONFIDENCE if self.stopping is None else self.stopping.confidence

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
        return tuple(parse_batcher(word) for word in self.sweeps[0].batcher)

    @property
    def is_search(self) -> bool:
        """Whether each case only begins a search, of which nobody knows how long it takes."""
        return self.largest_batch or bool(self.slo or self.tune)

    @property
    def lengths(self) -> Lengths:
        """The profile with this plan's own rounds, the most of them where intervals decide, and its
        time limit in place.

        A comparison of a case with itself takes two sides of so many rounds.
        """
        profile = named_lengths()[self.profile]
        usual = MOST_AT_A_RATE if self.slo or self.tune else profile.rounds
        if self.precise or self.is_sequential:
            usual = MAXIMUM_ROUNDS
        rounds = self.rounds or usual
        return Lengths(
            rounds * (2 * self.aa if self.aa else 1),
            self.time_limit_s or profile.time_limit_s,
            profile.limits,
            profile.spread_s if self.spread_s is None else self.spread_s,
            profile.contended_spread_s if self.spread_s is None else self.spread_s,
        )


def parse_plan(data: dict[str, Any], origin: str) -> Plan:
    """A validated plan from values by the model's keys; `origin` opens the error sentence."""
    key = _key_with_nul(data)
    if key is not None:
        raise PlanError(f"{origin}: {key} contains a NUL character", "remove it")
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        cause, remedy = in_words(error, Plan, Sweep)
        raise PlanError(f"{origin}: {cause}", remedy) from None


def plan_of_file(data: dict[str, Any], origin: str) -> Plan:
    """The same of values by the names that files have for the keys, and by no others."""
    try:
        return parse_plan(with_keys(data), origin)
    except InvalidValue as error:
        raise PlanError(f"{origin}: {error.cause}", error.remedy) from None


def _key_with_nul(value: Any, key: str = "plan") -> str | None:
    """The innermost key whose name or text has a NUL character, which no path or name can have."""
    if isinstance(value, str):
        return key if "\0" in value else None
    if isinstance(value, Mapping):
        parts = [(str(name), part) for name, part in value.items()]
        nul_name = next((name for name, _ in parts if "\0" in name), None)
        if nul_name is not None:
            return repr(nul_name)
    elif isinstance(value, (list, tuple)):
        parts = [(key, part) for part in value]
    else:
        return None
    return next((found for name, part in parts if (found := _key_with_nul(part, name))), None)


EMPTY_GRID = Sweep.model_construct(models=())
EMPTY = Plan.model_construct(sweeps=(EMPTY_GRID,))


def with_grid(draft: Plan, index: int, grid: Sweep) -> Plan:
    """The draft with one grid replaced."""
    sweeps = (*draft.sweeps[:index], grid, *draft.sweeps[index + 1 :])
    return draft.model_copy(update={"sweeps": sweeps})


def checked(draft: Plan) -> Plan:
    """The validated plan; PlanError says what is missing or wrong."""
    return parse_plan(draft.model_dump(warnings=False), "plan")
