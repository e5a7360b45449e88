"""What a plan measures beside latencies, and the searches that its cases begin."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from app.cases.goal import Goal
from app.cases.target import Target
from app.plan.settings.forms import Switch, Word
from app.plan.settings.run_length import RunLength
from app.plan.settings.setting import ALSO, FIGURES_FOLD, FILES_FOLD, LIMITS_FOLD, PLANNED, Setting
from app.plan.settings.values import share, share_text
from exporters.invalid_value import InvalidValue

On = Annotated[bool, Field(strict=True)]
ErrorShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Measurements(RunLength):
    """`slo` and `tune` make each case a search, as `largest_batch` does; `check` compiles each case
    and runs none."""

    accuracy: Annotated[
        str,
        Setting(
            flag="--accuracy",
            metavar="PATH",
            help="test each model on labelled images: a folder of classes, or an .npz",
            form=Word(),
            group=ALSO,
            label="Labelled data",
            term="accuracy data",
            example="each model's own",
            fold=FILES_FOLD,
            values="folder or `.npz`",
            absent="each model's own",
            notes="Labelled data for a top-1 accuracy, after the rounds.",
        ),
    ] = ""
    profile_ops: Annotated[
        On,
        Setting(
            flag="--op-times",
            label="Operator times",
            aliases=("--profile-ops",),
            toml="op_times",
            help="also record per-operator times, in separate processes",
            form=Switch(),
            group=ALSO,
            common=True,
            notes="Operator times of each case, after the rounds.",
        ),
    ] = False
    largest_batch: Annotated[
        On,
        Setting(
            flag="--largest-batch",
            label="Largest batch",
            help="search for the largest batch that fits, from --batch or 1 on",
            form=Switch(),
            group=ALSO,
            notes="Each case is the first try of a search for the largest batch that fits.",
        ),
    ] = False
    check: Annotated[
        On,
        Setting(
            flag="--check",
            help="compile each case as far as this machine can, and measure nothing",
            form=Switch(),
            group=ALSO,
            commands=(*PLANNED, "check"),
            label="Compile only",
            fold=LIMITS_FOLD,
            notes="[Compiles each case and runs none](check.md). Cannot be used with keys that say "
            "how to measure.",
        ),
    ] = False
    slo: Annotated[
        str,
        Setting(
            flag="--slo",
            metavar="P=TIME",
            help="search for the highest request rate that keeps a target (p99=5ms)",
            form=Word(),
            group=ALSO,
            label="Latency target",
            example="p99=5ms … (none)",
            fold=FIGURES_FOLD,
            values="`p99=5ms`, `mean=2ms`",
            absent="none",
            notes="Each case begins a [search](capacity.md) for the highest rate of requests whose "
            "latency keeps this.",
        ),
    ] = ""
    tune: Annotated[
        str,
        Setting(
            flag="--tune",
            metavar="GOAL",
            help="search runtimes and options for the best p99, mean or throughput",
            form=Word(),
            group=ALSO,
            label="Tuning goal",
            example="throughput … (none)",
            fold=FIGURES_FOLD,
            values="`p99`, `mean`, `throughput`, `throughput@p99=10ms`",
            absent="none",
            notes="Each case begins a [search](tuning.md) over the lists of the one grid and the "
            "runtimes' options.",
        ),
    ] = ""
    max_error: Annotated[
        ErrorShare | None,
        Setting(
            flag="--max-error",
            metavar="X",
            help="allowed output error of --tune, such as 2%; also searches precisions",
            form=Word(share, share_text),
            group=ALSO,
            label="Largest error",
            example="2% … (as types allow)",
            fold=FIGURES_FOLD,
            values="share above 0",
            absent="as the default's types allow",
            notes="Of `tune`: the allowed error of the outputs, as a share of their largest value.",
        ),
    ] = None

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
