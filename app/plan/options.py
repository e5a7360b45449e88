"""The plan that the options of a command line amount to, and the origin of each setting."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from app.cases.errors import PlanError, suggestion
from app.cases.setting import Setting
from app.machine.installed_runtimes import all_names
from app.machine.placement import listed, usable_cores
from app.plan.command_line import explicit_settings
from app.plan.configuration import Configuration, configurations
from app.plan.exclusions import reject_without_effect
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, toml_value
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS, accepted_by, default_of
from app.plan.studies import adjust_grid, load_study, reject_fixed, shipped_plan, with_devices
from app.stats.option_search.space import threads_of
from exporters.types import PRECISIONS
from runtimes.registry import environment_of

_CHECK_KEYS = frozenset(row.key for row in accepted_by("check")) | {"name", "sweeps"}
"""The keys that a check reads, of the plan and of its grids."""


def check_values(data: dict[str, Any]) -> dict[str, Any]:
    """Of a suite's or a plan's values those that a check takes."""
    values = {key: value for key, value in data.items() if key in _CHECK_KEYS}
    grids = [{k: v for k, v in grid.items() if k in _CHECK_KEYS} for grid in data["sweeps"]]
    return {**values, "sweeps": grids}


ALL_RUNTIMES = "all"
"""Stands for every runtime of the table, here or not."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Values of a plan by their keys: those of the command line, of the plan that it names, and of
    the configuration files, the one that counts first in front."""

    grid: Mapping[str, Any]
    plan_values: Mapping[str, Any]
    base: Mapping[str, Any]
    """The data of a suite, a plan file or a study; empty without one."""
    origin: str
    """What names the plan: `--suite starter`."""
    files: Sequence[Configuration]


def plan_from_options(options: argparse.Namespace) -> Plan:
    """The plan of --suite, --plan or --study with other options laid over it, or of options alone.

    A list that an option gives replaces the plan's in each of its grids; --models keeps of a
    suite's or a plan's models those that it names. Of --study the lists in `CHANGED` of
    `app.plan.studies` are replaced unless the study fixes them. Configuration files give what none
    of these has. A command may have no --study, --suite or --plan.
    """
    layers = layers_of(options)
    plan = parse_plan(plan_data(layers, getattr(options, "study", None)), "the command line")
    reject_without_effect(plan, {*layers.grid, *layers.plan_values})
    return plan


def layers_of(options: argparse.Namespace) -> Layers:
    """What gives a plan its values; PlanError for words and files that can't be understood."""
    study, suite, file = (getattr(options, name, None) for name in ("study", "suite", "plan"))
    if suite and file:
        raise PlanError("--suite and --plan name two plans", "give one of them")
    plan_values = explicit_settings(options, "plan")
    base: dict[str, Any] = {}
    if study is not None:
        base, origin = load_study(study).model_dump(exclude_unset=True), f"--study {study}"
    elif suite:
        base, origin = shipped_plan(suite).model_dump(exclude_unset=True), f"--suite {suite}"
    elif file:
        base, origin = load_plan(Path(file)).model_dump(exclude_unset=True), f"--plan {file}"
    else:
        origin = ""
    is_check = "check" in plan_values
    if is_check and base:
        base = check_values(base)
    command = "check" if is_check else "study" if study is not None else "run"
    accepted_keys = frozenset(row.key for row in accepted_by(command))
    all_files = configurations(getattr(options, "config", None))
    files = [file.restricted_to(accepted_keys) for file in all_files]
    grid_values = with_all_runtimes(explicit_settings(options, "sweep"))
    return Layers(grid_values, plan_values, base, origin, files)


def plan_data(layers: Layers, study: str | None) -> dict[str, Any]:
    """The values of the plan, each from the layer that counts first."""
    grid_values = dict(layers.grid)
    models = grid_values.pop("models", [])
    defaults: dict[str, Any] = {}
    defaults_of_grid: dict[str, Any] = {}
    for file in reversed(layers.files):
        defaults |= file.plan
        defaults_of_grid |= file.sweep
    usual_models = defaults_of_grid.pop("models", [])
    data = dict(layers.base)
    if data:
        _reject_absent(models, data["sweeps"])
        sweeps = select_grids(data["sweeps"], models)
    else:
        sweeps = [{"models": models or usual_models}]
    if study is not None:
        reject_fixed(study, grid_values)
        default_runtimes = {k: v for k, v in defaults_of_grid.items() if k == "runtimes"}
        sweeps = [
            part
            for grid in sweeps
            for part in with_devices(adjust_grid({**default_runtimes, **grid}, grid_values))
        ]
    elif not data and not sweeps[0]["models"]:
        raise PlanError("there is nothing to measure", "name a model, a suite or a plan")
    else:
        sweeps = [{**defaults_of_grid, **grid, **grid_values} for grid in sweeps]
    if "environments" in defaults:
        defaults["environments"] = _named_environments(defaults["environments"], sweeps)
    is_free = study is not None or "tune" in layers.plan_values or "tune" not in layers.base
    data = {**defaults, **data, **layers.plan_values}
    if is_free and data.get("tune"):
        free = _freedoms(data)
        sweeps = [{**free, **grid} for grid in sweeps]
    return {**data, "sweeps": sweeps}


def _named_environments(
    environments: Mapping[str, str], sweeps: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Of a file's environments those that runtimes name: a plan has no others."""
    used_names = {environment_of(text) for grid in sweeps for text in grid.get("runtimes", ())}
    return {name: python for name, python in environments.items() if name in used_names}


def with_all_runtimes(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a grid with the runtimes that `all` stands for."""
    if "runtimes" not in values:
        return dict(values)
    name_lists = [all_names() if word == ALL_RUNTIMES else (word,) for word in values["runtimes"]]
    return {**values, "runtimes": list(dict.fromkeys(chain.from_iterable(name_lists)))}


def _freedoms(plan_values: Mapping[str, Any]) -> dict[str, Any]:
    """What a search may choose that a grid without it would have one value of."""
    free: dict[str, Any] = {"threads": threads_of(_cores(plan_values.get("cores")))}
    if "max_error" in plan_values:
        free["precisions"] = PRECISIONS
    return free


def _cores(text: str | None) -> int:
    try:
        return len(listed(text)) if text is not None else len(usable_cores())
    except ValueError:  # the plan says what is wrong with the list
        return 1


def select_grids(grids: Sequence[dict[str, Any]], models: Sequence[str]) -> list[dict[str, Any]]:
    """The grids with these of their models, or with all of them; none without any."""
    narrow_grids = (
        {**grid, "models": [name for name in grid["models"] if not models or name in models]}
        for grid in grids
    )
    return [grid for grid in narrow_grids if grid["models"]]


def _reject_absent(models: Sequence[str], grids: Sequence[dict[str, Any]]) -> None:
    plan_models = list(dict.fromkeys(model for grid in grids for model in grid["models"]))
    for model in models:
        if model not in plan_models:
            raise PlanError(f"the plan has no model {model!r}", suggestion(model, plan_models))


def config_text(plan: Plan, layers: Layers) -> str:
    """A line for each setting, as a plan file has it, with its origin as a comment."""
    return "\n".join(_lines(plan, layers)) + "\n"


def layers_of_run(plan: Plan, run: str) -> Layers:
    """The values of a run's plan that differ from the defaults: a run reads no configuration."""
    base = {r.key: value for r in PLAN_SETTINGS if (value := getattr(plan, r.key)) != default_of(r)}
    base["sweeps"] = [
        {r.key: value for r in SWEEP_SETTINGS if (value := getattr(sweep, r.key)) != default_of(r)}
        for sweep in plan.sweeps
    ]
    return Layers({}, {}, base, f"run {run}", [])


def _lines(plan: Plan, layers: Layers) -> Iterator[str]:
    data = plan.model_dump(mode="json")
    for row in PLAN_SETTINGS:
        yield _line(row, data[row.key], origin_of(row, layers))
    grids = select_grids(layers.base.get("sweeps", ()), layers.grid.get("models", ()))
    empty: dict[str, Any] = {}
    for grid, base_grid in zip_longest(data["sweeps"], grids, fillvalue=empty):
        yield "\n[[sweeps]]"
        for row in SWEEP_SETTINGS:
            yield _line(row, grid[row.key], origin_of(row, layers, base_grid))


def origin_of(row: Setting, layers: Layers, base_grid: Mapping[str, Any] | None = None) -> str:
    """Which layer gives a setting of the plan its value, or one of a grid, whose values in the plan
    that was named are `base_grid`."""
    if base_grid is None:
        sources = {"command line": layers.plan_values, layers.origin: layers.base}
        files = {file.origin: file.plan for file in layers.files}
    else:
        sources = {"command line": layers.grid, layers.origin: base_grid}
        files = {file.origin: file.sweep for file in layers.files}
    return next((n for n, v in {**sources, **files}.items() if row.key in v), "default")


def _line(row: Setting, value: Any, origin: str) -> str:
    text = "" if value is None else toml_value(value)
    return f"{row.name} = {text}  # {origin}" if text else f"# {row.name}: none  # {origin}"
