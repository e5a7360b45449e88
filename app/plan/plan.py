"""A plan: what to measure and for how long, validated, whatever it was read from.

Whatever is wrong with it is one `PlanError` with a remedy, raised before anything is
written. Names of models and runtimes are looked up in `expand`, not here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from app.cases.batcher import NO_BATCHER, Batcher, parsed
from app.cases.cold_start import PageCache
from app.cases.condition import Condition
from app.cases.digits import plain
from app.cases.errors import PlanError, suggestion
from app.cases.goal import Goal
from app.cases.judged import JUDGED, figures_judged
from app.cases.percentiles import DEFAULT, name_of, refusal, share, told
from app.cases.scenario import Scenario, WaitPolicy
from app.cases.target import MOST_ROUNDS as MOST_AT_A_RATE
from app.cases.target import Target
from app.cases.verdict import BAND
from app.machine.cores import as_list, listed
from app.machine.privileges import HIGHEST_PRIORITY
from app.plan.deadline import LONGEST_DEADLINE_US
from app.plan.invalid import in_words
from app.plan.lengths import Lengths, named_lengths
from app.plan.precise import asked_for
from app.stats.precise import MOST_ROUNDS, Precise
from exporters.invalid_value import InvalidValue
from exporters.size import parse_size
from exporters.types import Precision
from runtimes.options import OptionValue

Size = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
Seconds = Annotated[float, Field(gt=0, le=366 * 24 * 3600, strict=True)]
Threads = Annotated[int, Field(ge=0, le=4096, strict=True)]
Replicas = Annotated[int, Field(ge=1, le=64, strict=True)]


_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sweep(_Part):
    """A grid: the product of its lists is its cases.

    `models` are catalogue names, .onnx paths or globs. `runtimes` empty: every one that is
    available. Sizes not given take the model's own defaults. `options` maps
    `runtime.option` to the values to try, as a quoted key or as a table of the runtime.
    `threads` 0 leaves the number to the engine. `replicas` are numbers of sessions that share the
    work of `offline`.
    """

    models: tuple[str, ...] = Field(min_length=1)
    runtimes: tuple[str, ...] = ()
    precisions: tuple[Precision, ...] = Field(default=("fp32",), min_length=1)
    batch_size: tuple[Size, ...] = ()
    sequence_length: tuple[Size, ...] = ()
    axes: dict[str, Annotated[tuple[Size, ...], Field(min_length=1)]] = Field(default_factory=dict)
    threads: tuple[Threads, ...] = Field(default=(1,), min_length=1)
    options: dict[str, Annotated[tuple[OptionValue, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    scenarios: tuple[str, ...] = Field(default=("closed_loop",), min_length=1)
    wait_policy: WaitPolicy = "spin"
    conditions: tuple[str, ...] = Field(default=("none",), min_length=1)
    batcher: tuple[str, ...] = Field(default=(NO_BATCHER,), min_length=1)
    replicas: tuple[Replicas, ...] = ()

    @field_validator("options", mode="before")
    @classmethod
    def _flat_options(cls, given: Any) -> Any:
        """TOML reads an unquoted `ort-cpu.name = [...]` as a table in a table."""
        if not isinstance(given, dict):
            return given
        flat: dict[Any, Any] = {}
        for key, value in given.items():
            inner = value.items() if isinstance(value, dict) else ()
            flat |= {f"{key}.{name}": values for name, values in inner} if inner else {key: value}
        for key, values in flat.items():
            if isinstance(values, (list, tuple)) and not all(map(_is_bounded, values)):
                raise InvalidValue(
                    f"options {key} has a number that is infinite, no number or beyond 64 bits",
                    "give one that a computer can hold",
                    "options",
                )
        return flat

    @field_validator("scenarios")
    @classmethod
    def _known_scenarios(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(str(Scenario.parse(text)) for text in texts)
        except InvalidValue as error:
            raise error.of("scenario") from None

    @field_validator("conditions")
    @classmethod
    def _known_conditions(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(str(Condition.parse(text)) for text in texts)
        except InvalidValue as error:
            raise error.of("condition") from None

    @field_validator("batcher")
    @classmethod
    def _known_batchers(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(str(parsed(word) or NO_BATCHER) for word in words)
        except InvalidValue as error:
            raise error.of("batcher") from None


class Plan(_Part):
    """A named list of grids with a seed and a profile; `rounds` overrides the profile's. Without a
    `seed` the order of rounds is that of 0, and requests arrive at other moments in each run.

    `accuracy` is a folder of classes or an .npz of images and labels, on which every model
    that runs is tested once the rounds are over; empty leaves each to its own, if it has one.
    `time_limit_s` is when a round or an export is ended, `budget_s` when nothing more is begun.
    `spread_s` is over how long the rounds of a case are spread at least, instead of the profile's.
    `profile_ops` adds the times of the operators of every case. `largest_batch` makes each
    case the first try of a search, `check` compiles each and runs none. `memory_limit` (`8GiB`) is
    what a measuring process may hold of the host's memory, `device_memory_limit` of a
    device's own. `weights`, `inputs` and `calibration` are files of the user's own and hold for all
    models; `from_nodes` and `to_nodes` cut a part out of each graph. `inputs` may be several files,
    separated by commas: sets that are fed in turn, from run to run, with `rotate_inputs`.
    `save_inputs` keeps what was fed in the run folder. `input_range` bounds what is drawn, by
    input; `states` maps outputs of a graph to the inputs that they become.
    `custom_ops` are libraries of operators for ONNX Runtime. Not `checked`: outputs are not
    compared; `tolerance` is what they may be off by, relative to the largest, None for what
    follows from the types that a graph computes in. `baseline` is what every case is compared
    with: a runtime, a model, `@environment` or `runtime.option=value`; a change within `band`
    counts as none. `judge` are the figures that verdicts are given of, all judged together.
    `anchor` is a runtime on which every pass measures a small fixed case too, which two runs share
    and which shows how far the machine differed.
    `aa` compares every case with itself so many times, each from `rounds` fresh ones a side.
    `null` measures of each case a twin that computes next to nothing too. `cold_start` starts so
    many fresh processes of each case after the rounds, for their first answer; `page_cache` says
    where their files are to be. `percentiles` are told beside the default ones. `precise` maps
    percentiles to how far their intervals may reach, as a share: cases get rounds until theirs do
    not reach farther, at most `rounds`. `slo` makes each case a search for the highest rate that
    keeps this target, of at most `rounds` at a rate. `tune` makes it one for the options with which
    this goal is reached best, compared in `rounds` at its end; outputs may be off by `max_error`.
    `deadline_us` adds the share of runs that take longer.
    `cores` (`2,3`, `2-5`) is where a measuring process runs, `lock_memory` keeps it in
    memory, and `realtime` is its priority among real-time processes. `environments` are the
    interpreters that stand behind the `@` of runtimes, by name. `cluster` is where rounds are
    measured on other machines: `ssh:HOST,HOST`, `tls://SCHEDULER:8786`, or `local:N` for trying;
    `per_host` has each case on every one of them. `send_code` lets files of the user's own run
    there, and `insecure_cluster` a scheduler be spoken to without certificates.
    """

    name: Annotated[str, Field(pattern=_NAME)] = "sweep"
    seed: Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)] | None = None
    profile: str = "quick"
    rounds: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None
    time_limit_s: Seconds | None = None
    budget_s: Seconds | None = None
    spread_s: Annotated[float, Field(ge=0, le=366 * 24 * 3600, strict=True)] | None = None
    accuracy: str = ""
    profile_ops: Annotated[bool, Field(strict=True)] = False
    largest_batch: Annotated[bool, Field(strict=True)] = False
    check: Annotated[bool, Field(strict=True)] = False
    slo: str = ""
    tune: str = ""
    max_error: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    memory_limit: str = ""
    device_memory_limit: str = ""
    cores: str = ""
    lock_memory: Annotated[bool, Field(strict=True)] = False
    realtime: Annotated[int, Field(ge=1, le=HIGHEST_PRIORITY, strict=True)] | None = None
    weights: str = ""
    inputs: str = ""
    calibration: str = ""
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    rotate_inputs: Annotated[bool, Field(strict=True)] = False
    save_inputs: Annotated[bool, Field(strict=True)] = False
    input_range: dict[str, tuple[FiniteFloat, FiniteFloat]] = Field(default_factory=dict)
    states: dict[str, str] = Field(default_factory=dict)
    custom_ops: tuple[str, ...] = ()
    checked: Annotated[bool, Field(strict=True)] = True
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    baseline: str = ""
    band: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = BAND
    aa: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None
    anchor: str = ""
    null: Annotated[bool, Field(strict=True)] = False
    cold_start: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None
    page_cache: PageCache = "warm"
    percentiles: tuple[float, ...] = Field(default=DEFAULT, min_length=1)
    judge: Annotated[tuple[str, ...], Field(min_length=1)] = JUDGED
    precise: dict[str, float] = Field(default_factory=dict)
    deadline_us: Annotated[float, Field(gt=0, le=LONGEST_DEADLINE_US, strict=True)] | None = None
    environments: dict[Annotated[str, Field(pattern=_NAME)], str] = Field(default_factory=dict)
    cluster: str = ""
    per_host: Annotated[bool, Field(strict=True)] = False
    send_code: Annotated[bool, Field(strict=True)] = False
    insecure_cluster: Annotated[bool, Field(strict=True)] = False
    sweeps: tuple[Sweep, ...] = Field(min_length=1)

    @field_validator("profile")
    @classmethod
    def _known_profile(cls, name: str) -> str:
        if name not in named_lengths():
            raise InvalidValue("is not a profile", suggestion(name, named_lengths()))
        return name

    @field_validator("slo")
    @classmethod
    def _known_target(cls, text: str) -> str:
        try:
            return str(Target.parse(text)) if text else text
        except InvalidValue as error:
            raise error.of("slo") from None

    @field_validator("tune")
    @classmethod
    def _known_goal(cls, text: str) -> str:
        try:
            return str(Goal.parse(text)) if text else text
        except InvalidValue as error:
            raise error.of("tune") from None

    @field_validator("memory_limit", "device_memory_limit")
    @classmethod
    def _known_size(cls, text: str) -> str:
        if text:
            parse_size(text)
        return text

    @field_validator("cores")
    @classmethod
    def _known_list(cls, text: str) -> str:
        return as_list(listed(text)) if text else ""

    @field_validator("input_range")
    @classmethod
    def _rising(cls, ranges: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        for name, (low, high) in ranges.items():
            if not low <= high:
                raise InvalidValue(f"of {name} begins above its end", "give the lower end first")
            if not math.isfinite(high - low):
                raise InvalidValue(
                    f"of {name} is wider than any number", "give ends that are nearer"
                )
        return ranges

    @field_validator("percentiles")
    @classmethod
    def _tellable(cls, percentiles: tuple[float, ...]) -> tuple[float, ...]:
        for percentile in percentiles:
            why = refusal(percentile)
            if why:
                raise why.of("percentile")
            if percentiles.count(percentile) > 1:
                raise InvalidValue(
                    f"percentile {plain(percentile)} is given twice", "give it once", "percentile"
                )
        return percentiles

    @field_validator("judge")
    @classmethod
    def _known_figures(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return figures_judged(names, info.data.get("percentiles", ()))

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
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        cause, remedy = in_words(error, Plan, Sweep)
        raise PlanError(f"{origin}: {cause}", remedy) from None


def _is_bounded(value: Any) -> bool:
    """Whether a number is finite and, if it is whole, has at most 64 bits; so is what is none."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return not isinstance(value, float) or math.isfinite(value)


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
