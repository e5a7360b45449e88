"""A grid of a plan: the lists whose product is its cases."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from app.cases.scenario import (
    FORMS,
    NO_BATCHER,
    WAIT_POLICIES,
    Condition,
    Scenario,
    WaitPolicy,
    example_of,
    parse_batcher,
)
from app.cases.setting import (
    PLANNED,
    WORK,
    Pairs,
    Setting,
    Word,
    Words,
    choice_of,
    idle_sweep,
    integer_from,
    loads_library,
    option_text,
)
from app.plan.settings.measurements import spelled
from exporters.types import PRECISIONS, InvalidValue, Precision
from runtimes.options import SESSIONS, OptionValue

Size = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
AxisSize = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
"""A cache may be empty."""
Sizes = Annotated[tuple[AxisSize, ...], Field(min_length=1)]
Threads = Annotated[int, Field(ge=0, le=4096, strict=True)]
Replicas = Annotated[int, Field(ge=1, le=64, strict=True)]
_COMPILE_COMMANDS = (*PLANNED, "check")


def _is_code(model: str) -> bool:
    """Whether a model is a factory in a file, which is imported."""
    return ".py:" in model


def _names_code(values: Any) -> bool:
    return any(map(_is_code, values))


def _names_library(runtimes: Any) -> bool:
    """Whether a runtime is the execution provider of a package or of a library."""
    return any(map(loads_library, runtimes))


def _provider_option(options: Any) -> bool:
    """A provider takes any option, the path of a library too."""
    return any(loads_library(key.partition(".")[0]) for key in options)


def _batcher(word: str) -> str:
    """As it is written shortest."""
    return str(parse_batcher(word) or NO_BATCHER)


class Sweep(BaseModel):
    """A grid: the product of its lists is its cases.

    `models` are catalogue names, .onnx paths or globs. `runtimes` empty: every one that is
    available. Sizes not given take the model's own defaults. `options` maps
    `runtime.option` to the values to try, as a quoted key or as a table of the runtime.
    `threads` 0 leaves the number to the engine. `replicas` are numbers of sessions that share the
    work of `offline`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: Annotated[
        tuple[str, ...],
        Field(min_length=1),
        Setting(
            label="What",
            metavar="A,B,…",
            help="catalogue names, .onnx paths, globs, file.py:factory, hf:FOLDER",
            form=Words(sample="mlp,model.onnx"),
            group=WORK,
            commands=(*_COMPILE_COMMANDS, "study"),
            common=True,
            runs_code=_names_code,
            absent="required",
        ),
    ]
    runtimes: Annotated[
        tuple[str, ...],
        Setting(
            label="Where",
            metavar="A,B,…",
            help="default: all available runtimes; all: every known runtime",
            form=Words(sample="ort-cpu,openvino-cpu"),
            group=WORK,
            commands=(*_COMPILE_COMMANDS, "study"),
            common=True,
            runs_code=_names_library,
            absent="`available`",
            notes="`runtime[:device][@release or environment]`. `available` is every runtime that "
            "this machine has, but for those that the list names with a device; `ort-cuda:0+1` is "
            "one case [over two devices](load.md#several-devices).",
        ),
    ] = ()
    precisions: Annotated[
        tuple[Precision, ...],
        Field(min_length=1),
        Setting(
            flag="--precision",
            metavar="P,…",
            help=f"{', '.join(PRECISIONS)} (default fp32)",
            form=Words(choice_of(PRECISIONS), sample=",".join(PRECISIONS)),
            group=WORK,
            commands=(*_COMPILE_COMMANDS, "study"),
            common=True,
            label="&Precision",
            notes="[The number format](../exporters/README.md#precisions) of the graph.",
        ),
    ] = ("fp32",)
    batch_size: Annotated[
        tuple[Size, ...],
        Setting(
            flag="--batch",
            metavar="N,…",
            help="batch sizes",
            form=Words(integer_from(1), sample="1,2,4"),
            group=WORK,
            commands=(*_COMPILE_COMMANDS, "study"),
            common=True,
            label="&Batch",
            absent="the model's own",
        ),
    ] = ()
    sequence_length: Annotated[
        tuple[Size, ...],
        Setting(
            flag="--sequence",
            metavar="N,…",
            help="sequence lengths: sizes of the axis sequence",
            form=Words(integer_from(1), sample="16,64"),
            group=WORK,
            commands=_COMPILE_COMMANDS,
            label="&Sequence",
            absent="the model's own",
        ),
    ] = ()
    axes: Annotated[
        dict[str, Sizes],
        Setting(
            flag="--axis",
            metavar="NAME=N,…",
            help="sizes of any other axis",
            form=Pairs("height=224,320", integer_from(0), listed=True, name_has_equals=True),
            group=WORK,
            commands=_COMPILE_COMMANDS,
            common=True,
            label="Other axes",
            absent="the model's own",
            notes="Sizes of other open axes.",
        ),
    ] = Field(default_factory=dict)
    threads: Annotated[
        tuple[Threads, ...],
        Field(min_length=1),
        Setting(
            metavar="N,…",
            help="threads of the engine (default 1); 0 leaves the number to it",
            form=Words(integer_from(0), sample="1,4"),
            group=WORK,
            commands=(*_COMPILE_COMMANDS, "study"),
            common=True,
            label="&Threads",
        ),
    ] = (1,)
    options: Annotated[
        dict[str, Annotated[tuple[OptionValue, ...], Field(min_length=1)]],
        Setting(
            flag="--option",
            label="Runtime options",
            metavar="RUNTIME.NAME=V,…",
            help="values of a runtime's option, each a case of its own",
            form=Pairs("ort-cpu.graph_optimization=all,off", format=option_text, listed=True),
            group=WORK,
            commands=_COMPILE_COMMANDS,
            common=True,
            runs_code=_provider_option,
            absent="each option's default",
        ),
    ] = Field(default_factory=dict)
    scenarios: Annotated[
        tuple[Annotated[str, spelled(Scenario.parse, "scenario")], ...],
        Field(min_length=1),
        Setting(
            flag="--scenario",
            label="Scenario",
            metavar="S,…",
            help="closed_loop (default), poisson:200/s, …: see help scenarios",
            form=Words(
                lambda word: str(Scenario.parse(word)), sample=",".join(map(example_of, FORMS))
            ),
            group=WORK,
            common=True,
            notes="When the next run begins: [load as it arrives](load.md), [several requests at "
            "once](load.md#how-fast-are-several-requests-at-once).",
        ),
    ] = ("closed_loop",)
    wait_policy: Annotated[
        WaitPolicy,
        Setting(
            flag="--idle-policy",
            toml="idle_policy",
            metavar="POLICY",
            help="how idle time is waited out: spin (default), hybrid or sleep",
            form=Word(choice_of(WAIT_POLICIES), sample="hybrid"),
            group=WORK,
            label="&Wait policy",
        ),
    ] = "spin"
    conditions: Annotated[
        tuple[Annotated[str, spelled(Condition.parse, "condition")], ...],
        Field(min_length=1),
        Setting(
            flag="--condition",
            metavar="C,…",
            help="cold:64MB, cold-l2, sustained:30min, with:MODEL, shapes:FILE (none)",
            form=Words(
                lambda word: str(Condition.parse(word)),
                sample="none,cold:64MB,cold-l2,sustained:30min,with:mlp,shapes:mix.csv",
            ),
            group=WORK,
            runs_code=_names_code,
            label="Condition",
            notes="[Conditions](conditions.md) added to the scenario: cold caches, a long run, "
            "another model at work, several shapes in one session.",
        ),
    ] = ("none",)
    batcher: Annotated[
        tuple[Annotated[str, spelled(_batcher, "batcher")], ...],
        Field(min_length=1),
        Setting(
            metavar="max=N,wait=TIME",
            help="a dynamic batcher (max=8,wait=2ms); repeat to compare several",
            form=Words(_batcher, repeated=True, unsplit=True, sample="max=8,wait=2ms"),
            group=WORK,
            label="Batcher",
            notes="[A dynamic batcher](load.md#what-does-a-batcher-cost-and-gain) before the "
            "model, for requests that arrive independently.",
        ),
    ] = (NO_BATCHER,)
    replicas: Annotated[
        tuple[Replicas, ...],
        Setting(
            metavar="N,…",
            help="sessions that share the work of --scenario offline, such as 2,4",
            form=Words(integer_from(1), sample="2,4"),
            group=WORK,
            label="Replicas",
            absent="one",
            notes="[Sessions that share the "
            "work](load.md#what-do-several-copies-of-a-model-serve-together) of `offline`, or of "
            "other `scenarios` that are given; a single one is measured too.",
        ),
    ] = ()

    @field_validator("options", mode="before")
    @classmethod
    def _flat_options(cls, raw_options: Any) -> Any:
        """TOML reads an unquoted `ort-cpu.name = [...]` as a table in a table."""
        if not isinstance(raw_options, dict):
            return raw_options
        flat: dict[Any, Any] = {}
        for key, value in raw_options.items():
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


SHARED_WORK = "offline"
"""The scenario of replicas, unless a grid has its own."""


def with_sessions(sweep: Sweep, names: Iterable[str], counts: tuple[int, ...]) -> Sweep:
    """The grid with so many sessions of these runtimes, by name, and with work that they share."""
    has_scenarios = sweep.scenarios != Sweep.model_fields["scenarios"].default
    keys = [f"{name}.{SESSIONS.name}" for name in names]
    return sweep.model_copy(
        update={
            "options": {**sweep.options, **dict.fromkeys(keys, counts)},
            "scenarios": sweep.scenarios if has_scenarios else (SHARED_WORK,),
        }
    )


IDLE_SWEEP = Setting(
    key="idle_sweep",
    metavar="A..B",
    help="idle times from A to B in steps of 1, 2 and 5, such as 20us..1s",
    form=Word(idle_sweep),
    group=WORK,
    extends="scenarios",
)
"""Short for a list of paced scenarios, which are added to those of `--scenario`."""


def _is_bounded(value: Any) -> bool:
    """Whether a number is finite and, if it is whole, has at most 64 bits; so is what is none."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return not isinstance(value, float) or math.isfinite(value)
