"""How long a plan measures: its preset, rounds, times and seed."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.cases.duration import parse_duration, parse_spread
from app.plan.settings.forms import Word
from app.plan.settings.setting import LENGTH, LIMITS_FOLD, PLANNED, Setting
from app.plan.settings.values import seconds_text, whole

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
Count = Annotated[int, Field(ge=1, le=10_000, strict=True)]
Seconds = Annotated[float, Field(gt=0, le=366 * 24 * 3600, strict=True)]
SpreadSeconds = Annotated[float, Field(ge=0, le=366 * 24 * 3600, strict=True)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]


class RunLength(BaseModel):
    """Without a `seed` the order of rounds is that of 0, and requests arrive at other moments in
    each run. `spread_s` is over how long the rounds of a case are spread at least."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=NAME)] = "sweep"
    seed: Annotated[
        Seed | None,
        Setting(
            flag="--seed",
            label="See&d",
            term="seed",
            metavar="N",
            help="draws the order of rounds, the data and the arrivals",
            form=Word(whole(0)),
            group=LENGTH,
            commands=(*PLANNED, "check", "study"),
            values="whole number",
            absent="none",
            notes="Draws the order of the rounds, all data, and the moments at which requests "
            "arrive. Without one, the order and the data are those of 0, and requests arrive at "
            "other moments in each run.",
        ),
    ] = None
    profile: Annotated[
        str,
        Setting(
            flag="--preset",
            label="&Length",
            term="profile",
            aliases=("--profile",),
            toml="preset",
            metavar="NAME",
            help="glance, quick (default), brief, standard or publication",
            form=Word(),
            group=LENGTH,
            commands=(*PLANNED, "study"),
            common=True,
            values="`glance`, `quick`, `brief`, `standard`, `publication`",
            notes="How long to measure: see [below](#how-long-to-measure).",
        ),
    ] = "quick"
    rounds: Annotated[
        Count | None,
        Setting(
            flag="--rounds",
            label="R&ounds",
            term="round",
            metavar="N",
            help="measuring processes per case (default: the preset's)",
            form=Word(whole(1)),
            group=LENGTH,
            commands=(*PLANNED, "study"),
            common=True,
            values="whole number",
            absent="the preset's",
            notes="Processes for each case. With `ci_width` it is the largest number (40 unless "
            "given); with `slo` the number at each rate, and with `tune` that of the final "
            "comparison (8 unless given).",
        ),
    ] = None
    time_limit_s: Annotated[
        Seconds | None,
        Setting(
            flag="--time-limit",
            metavar="TIME",
            help="maximum time per round or export, such as 90s or 2m",
            form=Word(parse_duration, seconds_text),
            group=LENGTH,
            commands=(*PLANNED, "check", "study"),
            label="Time limit",
            example="90s … (the preset's)",
            fold=LIMITS_FOLD,
            values="seconds",
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
            form=Word(parse_duration, seconds_text),
            group=LENGTH,
            commands=(*PLANNED, "resume", "study"),
            common=True,
            label="Budget",
            example="10m … (none)",
            fold=LIMITS_FOLD,
            values="seconds",
            absent="none",
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
            form=Word(parse_spread, seconds_text),
            group=LENGTH,
            label="Spread",
            example="10m … (the preset's)",
            fold=LIMITS_FOLD,
            values="seconds",
            absent="the preset's",
            notes="Over how long the rounds of a case are spread at least: see "
            "[below](#rounds-that-are-spread-over-time). 0 measures them in a row.",
        ),
    ] = None
