"""Settings of what a plan measures and for how long: preset, rounds, times, searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.cases.objectives import Goal, Target
from app.cases.setting import (
    ADDITIONS,
    FIGURES_FOLD,
    FILES_FOLD,
    LENGTH,
    LIMITS_FOLD,
    PLANNED,
    Setting,
    Switch,
    Word,
    choice_of,
    integer_from,
    seconds_text,
    share,
    share_text,
)
from app.cases.units import parse_duration, parse_spread
from exporters.types import InvalidValue

Pairing = Literal["turns", "rounds"]
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
Count = Annotated[int, Field(ge=1, le=10_000, strict=True)]
Seconds = Annotated[float, Field(gt=0, le=366 * 24 * 3600, strict=True)]
SpreadSeconds = Annotated[float, Field(ge=0, le=366 * 24 * 3600, strict=True)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]


def spelled(parse: Callable[[str], object], key: str) -> AfterValidator:
    """A text is kept as what it means is written; what means nothing is told with the key."""

    def spell(text: str) -> str:
        try:
            return str(parse(text))
        except InvalidValue as error:
            raise error.of(key) from None

    return AfterValidator(spell)


class RunLength(BaseModel, frozen=True):
    """Without a `seed` the order of rounds is that of 0, and requests arrive at other moments in
    each run. `spread_s` is over how long the rounds of a case are spread at least."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=NAME)] = "sweep"
    seed: Annotated[
        Seed | None,
        Setting(
            label="See&d",
            metavar="N",
            help="draws the order of rounds, the data and the arrivals",
            form=Word(integer_from(0), sample="7"),
            group=LENGTH,
            commands=(*PLANNED, "check", "study"),
            notes="Draws the order of the rounds, all data, and the moments at which requests "
            "arrive. Without a seed, order and data are as with seed 0, and requests arrive at "
            "other moments in each run.",
        ),
    ] = None
    profile: Annotated[
        str,
        Setting(
            flag="--preset",
            label="&Length",
            toml="preset",
            metavar="NAME",
            help="glance, quick (default), brief, standard or publication",
            form=Word(sample="standard"),
            group=LENGTH,
            commands=(*PLANNED, "study"),
            common=True,
            notes="How long to measure, from `glance` to `publication`: see "
            "[plan files](plan-file.md#how-long-to-measure).",
        ),
    ] = "quick"
    rounds: Annotated[
        Count | None,
        Setting(
            label="R&ounds",
            metavar="N",
            help="measuring processes per case (default: the preset's)",
            form=Word(integer_from(1), sample="8"),
            group=LENGTH,
            commands=(*PLANNED, "study"),
            common=True,
            absent="the preset's",
            notes="Processes for each case. With `ci_width` it is the largest number (40 unless "
            "given); with `slo` the number at each rate, and with `tune` the number in the final "
            "comparison (8 unless given).",
        ),
    ] = None
    pairing: Annotated[
        Pairing,
        Setting(
            label="Pairing",
            metavar="HOW",
            help="turns (default) or rounds: how the processes of a pass alternate",
            form=Word(choice_of(get_args(Pairing)), sample="rounds"),
            group=LENGTH,
            commands=(*PLANNED, "study"),
            fold=LIMITS_FOLD,
            notes="With `turns` the processes of a pass on this machine's processor are alive at "
            "the same time and run one for a few milliseconds after another, so that "
            "all meet the same disturbances; with `rounds` they run one after another. See "
            "[turns](trust.md#turns).",
        ),
    ] = "turns"
    time_limit_s: Annotated[
        Seconds | None,
        Setting(
            flag="--time-limit",
            metavar="TIME",
            help="maximum time per round or export, such as 90s or 2m",
            form=Word(parse_duration, seconds_text, sample="90s"),
            group=LENGTH,
            commands=(*PLANNED, "check", "study"),
            label="Time limit",
            fold=LIMITS_FOLD,
            absent="the preset's",
            notes="A round that takes longer is killed, and its row is a `timeout`. An export has "
            "at least 30 s, and 600 s where no limit is given.",
        ),
    ] = None
    budget_s: Annotated[
        Seconds | None,
        Setting(
            flag="--budget",
            metavar="TIME",
            help="maximum time of the whole run, such as 10m",
            form=Word(parse_duration, seconds_text, sample="10m"),
            group=LENGTH,
            commands=(*PLANNED, "resume", "study"),
            common=True,
            label="Budget",
            fold=LIMITS_FOLD,
            notes="Bounds the whole run: every case has its first round before any has a second. "
            "Each `resume` has the same budget anew, or its own.",
        ),
    ] = None
    spread_s: Annotated[
        SpreadSeconds | None,
        Setting(
            flag="--spread",
            metavar="TIME",
            help="spread the rounds of a case over at least this time",
            form=Word(parse_spread, seconds_text, sample="10m"),
            group=LENGTH,
            label="Spread",
            fold=LIMITS_FOLD,
            absent="the preset's",
            notes="Over how long the rounds of a case are spread at least: see "
            "[plan files](plan-file.md#rounds-that-are-spread-over-time). 0 measures them in a "
            "row. Without it `standard` takes 2 minutes, and 10 under other load.",
        ),
    ] = None


On = Annotated[bool, Field(strict=True)]
ErrorShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Measurements(RunLength, frozen=True):
    """`slo` and `tune` make each case a search, as `largest_batch` does; `check` compiles each case
    and runs none."""

    accuracy: Annotated[
        str,
        Setting(
            is_capability=True,
            metavar="PATH",
            help="test each model on labelled images: a folder of classes, or an .npz",
            form=Word(sample="digits"),
            group=ADDITIONS,
            label="Labelled data",
            fold=FILES_FOLD,
            absent="each model's own",
        ),
    ] = ""
    profile_ops: Annotated[
        On,
        Setting(
            is_capability=True,
            flag="--op-times",
            label="Operator times",
            toml="op_times",
            help="also record per-operator times, in separate processes",
            form=Switch(),
            group=ADDITIONS,
            common=True,
        ),
    ] = False
    sensitivity: Annotated[
        On,
        Setting(
            is_capability=True,
            flag="--no-sensitivity",
            label="Effect of assumptions",
            help="do not measure what twice an assumed size, length or limit costs",
            form=Switch(False),
            group=ADDITIONS,
            fold=LIMITS_FOLD,
            notes="Whether the sizes, lengths and limits that were "
            "[assumed](inputs.md#what-does-an-assumption-come-to) are doubled one by one after the "
            "rounds, four a model at most, on its fastest engine on the processor.",
        ),
    ] = True
    largest_batch: Annotated[
        On,
        Setting(
            is_capability=True,
            label="Largest batch",
            help="search for the largest batch that fits, from --batch or 1 on",
            form=Switch(),
            group=ADDITIONS,
        ),
    ] = False
    check: Annotated[
        On,
        Setting(
            help="compile each case as far as this machine can, and measure nothing",
            form=Switch(),
            group=ADDITIONS,
            commands=(*PLANNED, "check"),
            label="Compile only",
            fold=LIMITS_FOLD,
            notes="[Compiles each case and runs none](a-run.md#will-it-run-there). Cannot be used "
            "with keys that set how to measure.",
        ),
    ] = False
    slo: Annotated[
        str,
        spelled(lambda text: Target.parse(text) if text else text, "slo"),
        Setting(
            is_capability=True,
            metavar="P=TIME",
            help="search for the highest request rate that keeps a target (p99=5ms)",
            form=Word(sample="p99=5ms"),
            group=ADDITIONS,
            label="Latency target",
            fold=FIGURES_FOLD,
            notes="Each case begins a "
            "[search](load.md#how-many-requests-a-second-keep-a-latency) for the highest rate of "
            "requests whose "
            "latency keeps this.",
        ),
    ] = ""
    tune: Annotated[
        str,
        spelled(lambda text: Goal.parse(text) if text else text, "tune"),
        Setting(
            is_capability=True,
            metavar="GOAL",
            help="search runtimes and options for the best p99, mean or throughput",
            form=Word(sample="throughput"),
            group=ADDITIONS,
            label="Tuning goal",
            fold=FIGURES_FOLD,
            notes="`p99`, `mean`, `throughput`, or `throughput@p99=10ms`: each case begins a "
            "[search](tuning.md) over the lists of the one grid and the "
            "runtimes' options.",
        ),
    ] = ""
    max_error: Annotated[
        ErrorShare | None,
        Setting(
            metavar="X",
            help="allowed output error of --tune, such as 2%; also searches precisions",
            form=Word(share, share_text, sample="2%"),
            group=ADDITIONS,
            label="Largest error",
            fold=FIGURES_FOLD,
            absent="as the types allow",
        ),
    ] = None
