"""All settings in one table, by key, flag and command; output settings that no plan has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from inspect import get_annotations
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from app.cases.process_settings import ProcessSettings
from app.cases.setting import (
    COMPARISON,
    MEASURED,
    NEW,
    OUTPUT,
    PLACE,
    PLANNED,
    WORK,
    Scope,
    Setting,
    Switch,
    Word,
    field_value,
)
from app.plan.settings.hosts import PlanSettings
from app.plan.settings.sweep import IDLE_SWEEP, Sweep
from exporters.types import InvalidValue

_RUN = (*MEASURED, "check")
_COMPARE_COMMANDS = (*NEW, "resume", "rerun")
_NEW_RUN = (*NEW, "rerun", "check", "study", "import")
_WORD = Word()

OUTPUTS = (
    Setting(
        key="suite",
        metavar="NAME",
        help="a plan that ships, such as starter",
        group=WORK,
        commands=(*PLANNED, "check", "models"),
        common=True,
    ),
    Setting(
        key="plan",
        metavar="FILE|RUN",
        help="a plan of your own, in TOML, or a run folder to repeat",
        group=WORK,
        commands=(*PLANNED, "check"),
    ),
    Setting(
        key="config",
        metavar="FILE",
        help="a configuration file in place of the project's; none: no file",
        group=WORK,
        commands=(*NEW, "check", "study", "compare"),
    ),
    Setting(
        key="install",
        help="create missing environments of releases, as of ort-cpu@1.20",
        form=Switch(),
        group=PLACE,
        commands=_RUN,
        notes="Without it a person at a terminal is asked. They lie in the cache, see "
        "[releases](install.md#is-the-new-release-of-an-engine-slower).",
    ),
    Setting(
        key="show_config",
        help="print the value and the origin of each setting, and measure nothing",
        form=Switch(),
        group=OUTPUT,
        commands=(*NEW, "check", "rerun"),
    ),
    Setting(
        key="against",
        metavar="RUN",
        help="compare with this stored run at the end",
        group=COMPARISON,
        commands=_COMPARE_COMMANDS,
    ),
    Setting(
        key="history",
        metavar="DIR",
        help="earlier runs that show how far two differ (default: those beside)",
        group=COMPARISON,
        commands=(*_COMPARE_COMMANDS, "compare", "report"),
    ),
    Setting(
        key="fail_on",
        metavar="slower|undecided",
        help="exit with 3 if a case is slower, 1 if one can't be judged",
        group=COMPARISON,
        commands=(*_COMPARE_COMMANDS, "compare", "history"),
    ),
    Setting(
        key="trust_project",
        help="let the project's file set what can change a gate's outcome",
        form=Switch(),
        group=COMPARISON,
        commands=(*NEW, "compare"),
    ),
    Setting(
        key="allow_mixed",
        help="let a gate judge rounds of several machines or engine versions",
        form=Switch(),
        group=COMPARISON,
        commands=(*_COMPARE_COMMANDS, "compare"),
    ),
    Setting(
        key="json",
        metavar="FILE",
        help="write the verdicts or the history as JSON",
        group=OUTPUT,
        commands=(*_COMPARE_COMMANDS, "compare", "history"),
    ),
    Setting(
        key="csv",
        metavar="FILE",
        help="write the figures of each run as CSV",
        group=OUTPUT,
        commands=("history",),
    ),
    Setting(
        key="plot",
        metavar="FILE",
        help="draw the history, or latency over idle time, as SVG",
        group=OUTPUT,
        commands=(*_COMPARE_COMMANDS, "history"),
    ),
    Setting(
        key="any_host",
        help="join the runs of all machines in one series",
        form=Switch(),
        group=COMPARISON,
        commands=("history",),
    ),
    Setting(
        key="junit",
        metavar="FILE",
        help="write the verdicts as JUnit XML",
        group=OUTPUT,
        commands=(*_COMPARE_COMMANDS, "compare"),
    ),
    Setting(
        key="out",
        metavar="DIR",
        help="a new run folder (default: graphlap-results/…)",
        group=OUTPUT,
        commands=_NEW_RUN,
        common=True,
    ),
    Setting(
        key="export",
        metavar="FORMAT,…",
        help="also write csv, json, markdown, parquet, hdr or trace files",
        group=OUTPUT,
        commands=(*MEASURED, "import"),
    ),
    Setting(
        key="columns",
        metavar="NAME,…",
        help="columns of results.csv: all, names, or groups such as latency",
        group=OUTPUT,
        commands=(*_RUN, "export"),
        notes="The groups are identity, settings, latency, throughput, confidence, verdict and "
        "other.",
    ),
    Setting(
        key="sort",
        metavar="COLUMN",
        help="order of the table at the end: p99, model, batch_size, …",
        group=OUTPUT,
        commands=(*_COMPARE_COMMANDS, "show", "import"),
    ),
    Setting(
        key="strict",
        help="unavailable, unsupported and partial rows fail too",
        form=Switch(),
        group=OUTPUT,
        commands=_RUN,
    ),
    Setting(
        key="time",
        help="print what the run spent its time on instead",
        form=Switch(),
        group=OUTPUT,
        commands=("show",),
    ),
    Setting(
        key="cache_limit",
        metavar="SIZE",
        help="maximum size of the cache of exports and engines (default 16GiB)",
        group=PLACE,
        commands=(*_RUN, "open", "cache"),
    ),
)


def _rows(model: type[BaseModel], scope: Scope) -> Iterator[Setting]:
    inherited = ProcessSettings.__annotations__  # which pydantic has in front
    for key, field in sorted(model.model_fields.items(), key=lambda item: item[0] in inherited):
        owner = next(kind for kind in model.__mro__ if key in get_annotations(kind))
        for row in field.metadata:
            if isinstance(row, Setting):
                fold = row.fold or vars(owner).get("fold", "")
                yield replace(row, key=key, scope=scope, fold=fold)


SWEEP_SETTINGS = tuple(_rows(Sweep, "sweep"))
PLAN_SETTINGS = tuple(_rows(PlanSettings, "plan"))
SETTINGS = (*SWEEP_SETTINGS, replace(IDLE_SWEEP, scope="sweep"), *PLAN_SETTINGS, *OUTPUTS)


def accepted_by(command: str) -> tuple[Setting, ...]:
    """The settings of a command, in the table's order."""
    return tuple(setting for setting in SETTINGS if command in setting.commands)


def names_of(settings: Iterable[Setting]) -> frozenset[str]:
    """The names of their values in a namespace of arguments."""
    return frozenset(setting.dest for setting in settings)


@cache
def by_key() -> Mapping[str, Setting]:
    """Key -> setting."""
    return {setting.key: setting for setting in SETTINGS}


def names_of_keys(keys: Iterable[str]) -> list[str]:
    """The names by which files have these keys."""
    return [by_key()[key].name if key in by_key() else key for key in keys]


def with_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    """A file's values by the keys of the model, those of its grids too; InvalidValue for a key of
    the model that has another name in files."""
    keys = {row.toml: row.key for row in SETTINGS if row.toml}
    for name, key in keys.items():
        if key in data:
            raise InvalidValue(f"the key {key!r} is not known", f"write {name}")
    values = {keys.get(name, name): value for name, value in data.items()}
    if isinstance(grids := data.get("sweeps"), (list, tuple)):
        values["sweeps"] = [with_keys(g) if isinstance(g, Mapping) else g for g in grids]
    return values


def default_of(setting: Setting) -> Any:
    """The value of a plan or a grid that sets nothing else."""
    model = Sweep if setting.scope == "sweep" else PlanSettings
    return model.model_fields[setting.key].get_default(call_default_factory=True)


def sample_of(setting: Setting) -> Any:
    """A value that its key may have: what a switch sets, or the sample of its form."""
    if isinstance(setting.form, Switch):
        return setting.form.value
    return field_value(setting.form, setting.form.sample, setting.flag)


def kind_of(setting: Setting) -> Any:
    """The type of its value, without None and bounds."""
    if setting.extends:
        return str
    model = Sweep if setting.scope == "sweep" else PlanSettings
    return plain_kind(model.model_fields[setting.key].annotation)


def plain_kind(kind: Any) -> Any:
    """A type without None and bounds."""
    while get_origin(kind) is Annotated or NoneType in get_args(kind):
        kind = get_args(kind)[0]
    return kind
