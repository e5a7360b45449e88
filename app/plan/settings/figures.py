"""Which figures a plan shows, how precise they are, and what they are compared with."""

from __future__ import annotations

from typing import Annotated, ClassVar, get_args

from pydantic import Field, ValidationInfo, field_validator

from app.cases.jobs import PageCache
from app.cases.objectives import BAND, JUDGED, figures_judged
from app.cases.setting import (
    ADDITIONS,
    COMPARISON,
    FIGURES_FOLD,
    LENGTH,
    LONGEST_DEADLINE_US,
    PLANNED,
    Pairs,
    Setting,
    Switch,
    Word,
    Words,
    choice_of,
    deadline,
    deadline_text,
    integer_from,
    percentile,
    share,
    share_text,
)
from app.cases.units import DEFAULT, percentile_text, plain, refusal
from app.plan.settings.measurements import Count, On
from app.plan.settings.model_files import ModelFiles
from exporters.types import InvalidValue

Threshold = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
DetectableShare = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Figures_ = Annotated[tuple[str, ...], Field(min_length=1)]
DeadlineUs = Annotated[float, Field(gt=0, le=LONGEST_DEADLINE_US, strict=True)]


class Figures(ModelFiles, frozen=True):
    """`percentiles` are shown beside the default ones. `precise` maps percentiles to the widths of
    their intervals, as shares; a case gets rounds until its intervals are as narrow, up to
    `rounds`. `judge` are the figures that get verdicts, all judged together. `sequential` and
    `detect` give cases rounds until their verdicts are decided, or could find such a slowdown."""

    fold: ClassVar[str] = FIGURES_FOLD

    baseline: Annotated[
        str,
        Setting(
            metavar="X",
            help="compare with this runtime, model, @environment or option of the run",
            form=Word(sample="ort-cpu"),
            group=COMPARISON,
            common=True,
            label="Baseline",
            notes='What every case is compared with, round by round: `"ort-cpu"`.',
        ),
    ] = ""
    band: Annotated[
        Threshold,
        Setting(
            flag="--threshold",
            toml="threshold",
            metavar="P",
            help="ignore changes smaller than this (default 2%)",
            form=Word(share, share_text, sample="3%"),
            group=COMPARISON,
            commands=(*PLANNED, "compare", "history"),
            label="Threshold",
            notes="The equivalence margin: a smaller change counts as none.",
        ),
    ] = BAND
    aa: Annotated[
        Count | None,
        Setting(
            metavar="N",
            help="run N A/A comparisons per case: false positives, detectable change",
            form=Word(integer_from(1), sample="20"),
            group=COMPARISON,
            label="With itself",
            notes="Compares every case with itself this many times, from `rounds` fresh rounds a "
            "side each: the rate of false verdicts, and the smallest detectable change.",
        ),
    ] = None
    null: Annotated[
        On,
        Setting(
            flag="--overhead",
            toml="overhead",
            help="also measure a no-op copy of each model; the difference is compute",
            form=Switch(),
            group=ADDITIONS,
            commands=(*PLANNED, "study"),
            label="Null twin of each case",
            notes="Measures a [no-op copy](conditions.md) of each case too; the "
            "difference is the compute time.",
        ),
    ] = False
    cold_start: Annotated[
        Count | None,
        Setting(
            is_capability=True,
            metavar="N",
            help="also start N fresh processes per case: time to their first answer",
            form=Word(integer_from(1), sample="20"),
            group=ADDITIONS,
            label="Cold starts",
            notes="[Fresh processes](conditions.md) of each case after the rounds, for "
            "the time to their first answer.",
        ),
    ] = None
    page_cache: Annotated[
        PageCache,
        Setting(
            metavar="STATE",
            help="page cache of --cold-start: warm (default) or dropped",
            form=Word(choice_of(get_args(PageCache)), sample="dropped"),
            group=ADDITIONS,
            label="Page cache",
        ),
    ] = "warm"
    percentiles: Annotated[
        tuple[float, ...],
        Field(min_length=1),
        Setting(
            metavar="P,…",
            help="percentiles to show, such as 50,99,99.99",
            form=Words(percentile, percentile_text, sample="50,99,99.99"),
            group=LENGTH,
            label="Percentiles",
            notes="Percentiles other than the default ones get columns of their own: "
            "`[50, 99.99]`.",
        ),
    ] = DEFAULT
    judge: Annotated[
        Figures_,
        Setting(
            flag="--metrics",
            toml="metrics",
            metavar="LIST",
            help="figures that get verdicts: percentiles, mean, throughput",
            form=Words(sample="p99,mean"),
            group=COMPARISON,
            commands=(*PLANNED, "compare"),
            label="Judged figures",
            notes="Percentiles of the rows by their columns' names, `mean`, `throughput`; of a "
            "throughput more is faster.",
        ),
    ] = JUDGED
    precise: Annotated[
        dict[str, float],
        Setting(
            flag="--ci-width",
            toml="ci_width",
            metavar="P=X%,…",
            help="add rounds until the interval is within ±X%, up to --rounds",
            form=Pairs("p50=1%,p99=10%", share, share_text, commas=True),
            group=LENGTH,
            label="Precise",
            notes='Target precision: `ci_width = {p50 = 0.01, "p99.9" = 0.2}`; see '
            "[plan files](plan-file.md#as-many-rounds-as-a-figure-takes).",
        ),
    ] = Field(default_factory=dict)
    sequential: Annotated[
        On,
        Setting(
            help="add rounds until each verdict is decided, up to --rounds",
            form=Switch(),
            group=COMPARISON,
            label="Until decided",
            notes="Adds rounds to the cases whose comparison with the baseline is undecided, up to "
            "`rounds` (40 unless given); see [plan "
            "files](plan-file.md#as-many-rounds-as-a-verdict-takes).",
        ),
    ] = False
    detect: Annotated[
        DetectableShare | None,
        Setting(
            metavar="P",
            help="a gate must be able to find a slowdown of P; adds rounds for it",
            form=Word(share, share_text, sample="5%"),
            group=COMPARISON,
            commands=(*PLANNED, "compare"),
            label="Detectable slowdown",
            absent="any",
            notes="A gate fails for what is undecided and could hide a slowdown of this size. With "
            "`baseline`, cases get rounds until it could not, up to `rounds` (40 unless given).",
        ),
    ] = None
    deadline_us: Annotated[
        DeadlineUs | None,
        Setting(
            flag="--deadline",
            metavar="TIME",
            help="report the share of runs that take longer, such as 100us",
            form=Word(deadline, deadline_text, sample="100us"),
            group=LENGTH,
            label="Deadline",
            notes="Reports [the share of runs that took longer](load.md#later-than-a-deadline).",
        ),
    ] = None

    @field_validator("percentiles")
    @classmethod
    def _check_percentiles(cls, percentiles: tuple[float, ...]) -> tuple[float, ...]:
        for number in percentiles:
            fault = refusal(number)
            if fault:
                raise fault.of("percentile")
            if percentiles.count(number) > 1:
                raise InvalidValue(
                    f"percentile {plain(number)} is given twice", "give it once", "percentile"
                )
        return percentiles

    @field_validator("judge")
    @classmethod
    def _known_figures(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return figures_judged(names, info.data.get("percentiles", ()))
