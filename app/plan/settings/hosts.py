"""Where else a plan is measured: other interpreters, and other machines."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from app.cases.setting import (
    PLACE,
    PLACES_FOLD,
    PLANNED,
    WORK,
    Pairs,
    Setting,
    Switch,
    Word,
    always,
)
from app.plan.settings.figures import Figures
from app.plan.settings.measurements import NAME, On


class PlanSettings(Figures, frozen=True):
    """All that holds for a whole plan. `cluster` is where rounds are measured on other machines."""

    fold: ClassVar[str] = PLACES_FOLD

    environments: Annotated[
        dict[Annotated[str, Field(pattern=NAME)], str],
        Setting(
            flag="--python",
            metavar="NAME=PATH",
            help="an interpreter with its packages, measured as ort-cpu@NAME",
            form=Pairs("ort127=/envs/ort127/bin/python"),
            group=WORK,
            commands=(*PLANNED, "check", "study", "doctor"),
            runs_code=always,
            label="Environments",
            absent="the user's configuration file",
            notes="The interpreters behind the `@` of a runtime: see "
            "[releases](install.md#is-the-new-release-of-an-engine-slower).",
        ),
    ] = Field(default_factory=dict)
    cluster: Annotated[
        str,
        Setting(
            metavar="ADDRESS",
            help="measure on other machines: ssh:HOST,HOST or tls://SCHEDULER:8786",
            form=Word(sample="ssh:board1,board2"),
            group=PLACE,
            commands=(*PLANNED, "resume", "study", "doctor"),
            runs_code=always,
            label="Cluster",
            absent="this machine",
            notes="Measures on other machines, [by ssh or by a "
            "scheduler](cluster.md); `local:N` is for trying.",
        ),
    ] = ""
    per_host: Annotated[
        On,
        Setting(
            help="measure every case on every machine of --cluster",
            form=Switch(),
            group=PLACE,
            commands=(*PLANNED, "study"),
            label="Every case on every host",
        ),
    ] = False
    send_code: Annotated[
        On,
        Setting(
            help="allow file.py:factory of your own to run on --cluster",
            form=Switch(),
            group=PLACE,
            commands=(*PLANNED, "resume", "study"),
            runs_code=always,
            label="Send own code to hosts",
        ),
    ] = False
    insecure_cluster: Annotated[
        On,
        Setting(
            help="use a tcp:// scheduler without certificates",
            form=Switch(),
            group=PLACE,
            commands=(*PLANNED, "resume", "study", "doctor"),
            runs_code=always,
            label="Cluster without certificates",
        ),
    ] = False
