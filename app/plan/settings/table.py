"""All settings in one table, by key, by flag and by command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel

from app.cases.errors import PlanError
from app.plan.settings.hosts import PlanSettings
from app.plan.settings.outputs import OUTPUTS
from app.plan.settings.setting import Scope, Setting
from app.plan.settings.sweep import IDLE_SWEEP, Sweep


def _rows(model: type[BaseModel], scope: Scope) -> Iterator[Setting]:
    for key, field in model.model_fields.items():
        for row in field.metadata:
            if isinstance(row, Setting):
                yield replace(row, key=key, scope=scope)


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


def with_keys(part: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """A part of a file with the keys of the model; PlanError for a setting that is there twice."""
    keys = {row.toml: row.key for row in SETTINGS if row.toml and row.scope == scope}
    for name, key in keys.items():
        if name in part and key in part:
            raise PlanError(f"{name} and {key} are the same setting", f"remove {key}")
    return {keys.get(name, name): value for name, value in part.items()}


def default_of(setting: Setting) -> Any:
    """The value of a plan or a grid that sets nothing else."""
    model = Sweep if setting.scope == "sweep" else PlanSettings
    return model.model_fields[setting.key].get_default(call_default_factory=True)
